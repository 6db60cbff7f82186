import MediaCore
import Testing

@testable import AirPlay
@testable import AirPlayTransport

/// Truncating a stream: sent packets are identified by their numbers on the wire, unsent ones are dropped.
@Suite struct StreamCuttingTests {
    private let store = PacketStore(bytes: 1000, packets: 20)

    private func add(_ range: Range<Int>) {
        for index in range {
            let isAdded = [UInt8(index), 7].withUnsafeBytes {
                store.append($0, timestamp: RTPTimestamp(rawValue: UInt32(index) * 352))
            }
            #expect(isAdded)
        }
    }

    private func send(_ count: Int) {
        var out: [UInt8] = []
        for _ in 0..<count { _ = store.removeNext(into: &out) }
    }

    private func at(_ frame: UInt32) -> RTPTimestamp { RTPTimestamp(rawValue: frame) }

    @Test func whatWasSentIsNamedByItsNumbersAndWhatFollowsTakesItsPlace() {
        store.beginNumbering(at: (1 << 23) - 3)
        add(0..<10)
        send(8)
        store.setHeld(true)
        #expect(store.nextTimestamp == nil)
        // Frame 1800 is in packet 5.
        let cut = store.cut(at: at(1800), frames: 352)
        guard case .sent(let sent) = cut else {
            Issue.record("\(cut)")
            return
        }
        #expect(sent.from == .init(sequence: 2, timestamp: at(1760)))
        #expect(sent.until == .init(sequence: 5, timestamp: at(1760)))
        #expect(store.drop(cut) == .init(timestamp: at(1760), packet: [5, 7]))
        store.setHeld(false)
        #expect(store.waiting == 0)
        add(5..<6)
        var out: [UInt8] = []
        #expect(store.removeNext(into: &out) == at(1760))
        #expect(store.nextSequence == 6)
    }

    @Test func whatWasNotSentIsDroppedWithoutAWord() {
        add(0..<10)
        send(3)
        #expect(store.dropUnsent(from: at(2 * 352 + 351), frames: 352) == nil)
        #expect(store.waiting == 7)
        #expect(store.dropUnsent(from: at(5 * 352), frames: 352) == .init(timestamp: at(1760), packet: [5, 7]))
        #expect(store.waiting == 2)
        #expect(store.cut(at: at(5 * 352), frames: 352) == .nothing)
    }

    @Test func afterARewindTheNewNumbersCount() {
        add(0..<10)
        send(10)
        _ = store.rewind(to: at(4 * 352 + 1), gap: 100)
        send(5)
        guard case .sent(let sent) = store.cut(at: at(6 * 352), frames: 352) else {
            Issue.record("it was sent")
            return
        }
        // Packets 3, 4, 5 were sent as 10, 11, 12.
        #expect(sent.from.sequence == 13)
        #expect(sent.from.timestamp == store.onWire(at(6 * 352)))
        #expect(sent.until.sequence == 15)
    }

    @Test func aTruncatedStreamContinuesAtTheCut() {
        var line = RTPTimestampMapper(sampleRate: 48000, first: at(1000))
        for _ in 0..<10 { _ = line.map(MediaTime(value: 0, timescale: 1), frames: 352, isContiguous: true) }
        line.cut(at: at(1000 + 3 * 352))
        #expect(line.next == at(1000 + 3 * 352))
        #expect(line.frames == 3 * 352)
        #expect(line.media(of: at(1000 + 48000)) == MediaTime(value: 1, timescale: 1))
        // Truncation after the end changes nothing.
        line.cut(at: at(9000))
        #expect(line.next == at(1000 + 3 * 352))
    }
}
