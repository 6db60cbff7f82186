import AirPlayWire
import MediaCore
import Testing

@testable import AirPlay
@testable import AirPlayTransport
@testable import VirtualSpeaker

/// Flushes, rewinds and retransmissions where counters wrap.
@Suite struct FlushBorderTests {
    private static let borders = [16, 23, 24, 31, 32]
    private static let frames = 352

    /// Ten packets, of which the sixth follows the border; each contains its number.
    private struct Sender {
        let store = PacketStore(bytes: 1 << 12, packets: 64)
        var line: RTPTimestampMapper
        var packetizer: BufferedPacketizer
        var unpacker: BufferedUnpacker

        init(border bits: Int) {
            let border: UInt64 = 1 << UInt64(bits)
            let key = SecretBytes([UInt8](repeating: 3, count: 32))
            line = RTPTimestampMapper(
                sampleRate: 44100,
                first: RTPTimestamp(rawValue: UInt32(truncatingIfNeeded: border &- UInt64(5 * frames))))
            packetizer = BufferedPacketizer(
                key: key, format: .lossless44100, firstSequence: UInt32(truncatingIfNeeded: border &- 5),
                firstNonce: border - 5)
            unpacker = BufferedUnpacker(key: key)
            store.beginNumbering(at: packetizer.nextSequence)
        }

        mutating func add(_ numbers: Range<UInt8>) {
            for number in numbers {
                let timestamp = line.map(nil, frames: frames, isContiguous: true)
                _ = [number].withUnsafeBytes { store.append($0, timestamp: timestamp) }
            }
        }

        /// Sends all waiting packets; returns them as the speaker receives them.
        mutating func send() throws -> [StoredPacket] {
            var (sound, wire): ([UInt8], [UInt8]) = ([], [])
            while let timestamp = store.removeNext(into: &sound) {
                _ = packetizer.append(sound, timestamp: timestamp, to: &wire)
            }
            return try unpacker.open(wire).map {
                StoredPacket(
                    sequence: $0.sequence, timestamp: $0.timestamp, source: $0.synchronizationSource, audio: $0.audio)
            }
        }
    }

    private func drained(_ store: BufferedStore) -> [UInt8] {
        var store = store
        var numbers: [UInt8] = []
        while let packet = store.popFirst() { numbers += packet.audio }
        return numbers
    }

    @Test(arguments: borders, [3, 5, 7]) func whatIsTakenBackAcrossABorderIsExactlyThat(_ bits: Int, _ cut: Int) throws
    {
        var sender = Sender(border: bits)
        var receiver = BufferedStore()
        sender.add(0..<10)
        for packet in try sender.send() { receiver.append(packet) }
        let time = MediaTime(value: Int64(cut * Self.frames + 1), timescale: 44100)
        let timestamp = try #require(sender.line.bound(of: time, rate: 1))
        let place = sender.store.cut(at: timestamp, frames: Self.frames)
        guard case .sent(let sent) = place else {
            Issue.record("\(place)")
            return
        }
        receiver.flush(from: sent.from.sequence, until: sent.until.sequence)
        let truncated = try #require(sender.store.drop(place))
        #expect(truncated.packet == [UInt8(cut)])
        sender.line.cut(at: truncated.timestamp)
        #expect(sender.line.end(at: 1) == MediaTime(value: Int64(cut * Self.frames), timescale: 44100))
        sender.add(100..<103)
        let fresh = try sender.send()
        #expect(fresh.first?.timestamp == truncated.timestamp, "it takes the place of what was taken back")
        for packet in fresh { receiver.append(packet) }
        #expect(drained(receiver) == (0..<UInt8(cut)) + [100, 101, 102])
    }

    @Test(arguments: borders) func aJumpAcrossABorderForgetsEverythingBeforeIt(_ bits: Int) throws {
        var sender = Sender(border: bits)
        var receiver = BufferedStore()
        sender.add(0..<4)
        for packet in try sender.send() { receiver.append(packet) }
        sender.line.jump()
        let until = sender.store.removeAll(next: sender.line.next)
        receiver.flush(until: until.sequence)
        sender.add(50..<60)
        let fresh = try sender.send()
        #expect(fresh.first?.sequence == until.sequence && fresh.first?.timestamp == until.timestamp)
        for packet in fresh { receiver.append(packet) }
        #expect(drained(receiver) == Array(50..<60))
    }

    @Test(arguments: borders) func whatIsSentAgainAcrossABorderGoesUpward(_ bits: Int) throws {
        var sender = Sender(border: bits)
        var receiver = BufferedStore()
        sender.add(0..<10)
        let before = try sender.send()
        for packet in before { receiver.append(packet) }
        let time = MediaTime(value: Int64(6 * Self.frames), timescale: 44100)
        let position = sender.store.rewind(to: try #require(sender.line.bound(of: time, rate: 1)), gap: 4410)
        let until = try #require(position)
        receiver.flush(until: until.sequence)
        let again = try sender.send()
        #expect(again.map(\.audio) == (5..<10).map { [$0] })
        #expect(try #require(before.last).timestamp.distance(to: try #require(again.first).timestamp) == 4410)
        for packet in again { receiver.append(packet) }
        #expect(drained(receiver) == Array(5..<10))
    }

    @Test(arguments: borders) func aRealtimeQueueIsEmptiedUpToAFrameBehindTheBorder(_ bits: Int) {
        var store = RealtimeStore()
        let now = HostInstant(nanoseconds: 0)
        let border: UInt64 = 1 << UInt64(bits)
        for index in 0..<UInt64(10) {
            let packet = StoredPacket(
                sequence: UInt32(UInt16(truncatingIfNeeded: border &- 5 &+ index)),
                timestamp: RTPTimestamp(
                    rawValue: UInt32(truncatingIfNeeded: border &- 5 * 352 &+ index * 352)), source: 0,
                audio: [UInt8(index)])
            #expect(store.insert(packet, at: now) == .kept)
        }
        store.flush(until: RTPTimestamp(rawValue: UInt32(truncatingIfNeeded: border &+ 352)), at: now)
        var left: [UInt8] = []
        while let next = store.popFirst() {
            left += next.packet.audio
            #expect(next.gap == 0)
        }
        #expect(left == [6, 7, 8, 9])
    }

    /// A time that is days away is still ordered correctly, regardless of its 32-bit timestamp.
    @Test func aTimeBeyondHalfTheCircleIsStillBehindWhatWasPlaced() throws {
        var sender = Sender(border: 32)
        sender.add(0..<10)
        _ = try sender.send()
        for hours in [13, 30, 1_000_000] as [Int64] {
            let time = MediaTime(value: hours * 3600, timescale: 1)
            let behind = try #require(sender.line.bound(of: time, rate: 1))
            #expect(sender.store.cut(at: behind, frames: Self.frames) == .nothing, "\(hours) h")
            let before = try #require(sender.line.bound(of: -time, rate: 1))
            guard case .sent(let sent) = sender.store.cut(at: before, frames: Self.frames) else {
                Issue.record("\(hours) h")
                continue
            }
            #expect(sent.index == 0)
        }
    }

    @Test(arguments: [1, 3, 500, 512]) func whatIsKeptForResendsIsWhatWasSentWhereNumbersGoRound(_ capacity: Int) {
        var kept = RetransmitBuffer(capacity: capacity)
        var sent: [UInt16: [UInt8]] = [:]
        for count in 0..<1400 {
            let sequence = UInt16(truncatingIfNeeded: 65_536 - 700 + count)
            let packet = [UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8)]
            sent[sequence] = packet
            kept.store(packet, sequence: sequence)
            for back in 0..<UInt16(min(capacity, count + 1))
            where kept.packet(sequence &- back) != sent[sequence &- back] {
                Issue.record("\(sequence), \(back) packets back")
                return
            }
        }
    }
}
