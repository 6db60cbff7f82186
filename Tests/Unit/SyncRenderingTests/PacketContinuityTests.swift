import MediaCore
import Testing

@testable import SyncRendering

/// Continuity of passed-through packets, and which packets are dropped at a gapless boundary.
@Suite struct PacketContinuityTests {
    private func line(framesPerPacket: Int32) -> PacketContinuity {
        var line = PacketContinuity()
        line.setFormat(
            AudioFormat(
                parameters: CodecParameters(codec: "aac", framesPerPacket: framesPerPacket), sampleRate: 48_000,
                layout: .stereo))
        return line
    }

    private func tail(at start: MediaTime, until end: MediaTime, length: MediaTime) -> PacketTail {
        let batch = PacketBatch()
        [1, 2, 3].withUnsafeBytes { batch.append($0, as: .init(presentationTime: start, duration: length)) }
        return PacketTail(batch: batch, start: start, heardUntil: end)
    }

    @Test func packetsFollowOnAcrossTimesThatAreRoundedToMilliseconds() {
        var line = line(framesPerPacket: 1024)
        for number in 0..<100 {
            let start = MediaTime(
                value: MediaTime(value: Int64(number) * 1024, timescale: 48_000).rescaled(to: 1000), timescale: 1000)
            #expect(!line.overlaps(start))
            line.append(.init(presentationTime: start, duration: millisecond(21)))
        }
        #expect(line.end == MediaTime(value: 102_400, timescale: 48_000))
        #expect(line.overlaps(second(2)) && !line.overlaps(millisecond(2131)))
        line.append(.init(presentationTime: second(10), duration: .zero))
        #expect(line.end == second(10) + MediaTime(value: 1024, timescale: 48_000))
    }

    @Test func aTailOfWhichLittleIsHeardGivesWayToTheNextPiecesFirstPacket() {
        let line = line(framesPerPacket: 1024)
        let little = tail(at: second(1), until: millisecond(1002), length: .zero)
        #expect(line.isBetterWithout(little, before: millisecond(1002), heardFrom: millisecond(1002)))
        let much = tail(at: second(1), until: millisecond(1019), length: .zero)
        #expect(!line.isBetterWithout(much, before: millisecond(1019), heardFrom: millisecond(1019)))
        // A piece that can start at any frame loses what the packet covers of it.
        #expect(line.isBetterWithout(little, before: nil, heardFrom: millisecond(1002)))
    }

    @Test(arguments: [1 << 62, Int64.max])
    func timesAtTheFarEndsAreDecidedToo(_ far: Int64) {
        let line = line(framesPerPacket: 0)
        let (first, last) = (MediaTime(value: -far, timescale: 1), MediaTime(value: far, timescale: 1))
        let tail = tail(at: last, until: last, length: MediaTime(nanoseconds: 1))
        // Either decision loses all of both.
        #expect(!line.isBetterWithout(tail, before: first, heardFrom: first))
        #expect(
            !line.isBetterWithout(self.tail(at: first, until: first, length: second(1)), before: last, heardFrom: last))
        #expect(!PacketContinuity(end: first).overlaps(last) && PacketContinuity(end: last).overlaps(first))
    }
}
