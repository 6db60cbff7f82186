import MediaCore
import Testing

@testable import VirtualSpeaker

private func packet(_ sequence: UInt32) -> StoredPacket {
    StoredPacket(
        sequence: sequence, timestamp: RTPTimestamp(rawValue: sequence &* 352), source: 0, audio: [UInt8](1...10))
}

@Suite struct BufferedStoreTests {
    private func filled(_ numbers: some Sequence<UInt32>) -> BufferedStore {
        var store = BufferedStore()
        for number in numbers { store.append(packet(number)) }
        return store
    }

    private func drained(_ store: BufferedStore) -> [UInt32] {
        var store = store
        var numbers: [UInt32] = []
        while let next = store.popFirst() { numbers.append(next.sequence) }
        return numbers
    }

    @Test func anImmediateFlushForgetsWhatCameAndWhatStillComesBeforeItsEnd() {
        var store = filled(0..<4)
        store.flush(until: 6)
        #expect(store.bytes == 0)
        for number in 4..<UInt32(8) { store.append(packet(number)) }
        #expect(drained(store) == [6, 7])
    }

    @Test func aDeferredFlushLeavesOutExactlyItsStretch() {
        var store = filled(0..<10)
        store.flush(from: 3, until: 7)
        #expect(drained(store) == [0, 1, 2, 7, 8, 9])
    }

    @Test func aDeferredFlushOfAPacketThatHasGoneByDoesNothing() {
        var store = filled(0..<6)
        _ = store.popFirst()
        _ = store.popFirst()
        store.flush(from: 1, until: 4)
        #expect(drained(store) == [2, 3, 4, 5])
    }

    @Test func numbersWrapAt23Bits() {
        let top: UInt32 = 0x7F_FFFE
        var store = filled([top, top + 1, 0, 1, 2])
        store.flush(until: 1)
        #expect(drained(store) == [1, 2])
    }

    @Test func anImmediateFlushCancelsWhatWasDeferred() {
        var store = filled(0..<10)
        store.flush(from: 7, until: 9)
        store.flush(until: 5)
        #expect(drained(store) == [5, 6, 7, 8, 9])
    }
}

@Suite struct RealtimeStoreTests {
    private let now = HostInstant(nanoseconds: 0)

    @Test func whatIsMissingIsAskedForInRunsAndNotAgainAtOnce() {
        var store = RealtimeStore()
        for number: UInt32 in [65534, 65535, 2, 3, 6] { _ = store.insert(packet(number), at: now) }
        let runs = store.requests(at: now)
        #expect(runs.map(\.first) == [0, 4])
        #expect(runs.map(\.count) == [2, 2])
        #expect(store.requests(at: now).isEmpty)
        #expect(store.requests(at: now.advanced(by: RealtimeStore.askInterval)).count == 2)
    }

    @Test func aPacketThatComesAgainFillsItsPlace() {
        var store = RealtimeStore()
        for number: UInt32 in [10, 12, 11] { #expect(store.insert(packet(number), at: now) == .kept) }
        #expect(!store.hasMissing)
        let order = (0..<3).compactMap { _ in store.popFirst() }
        #expect(order.map(\.packet.sequence) == [10, 11, 12])
        #expect(order.allSatisfy { $0.gap == 0 })
    }

    @Test func aPacketAfterItsTurnIsLateAndAGapIsCounted() {
        var store = RealtimeStore()
        for number: UInt32 in [1, 4] { _ = store.insert(packet(number), at: now) }
        _ = store.popFirst()
        #expect(store.popFirst()?.gap == 2)
        #expect(store.insert(packet(2), at: now) == .late)
    }

    @Test func aStreamThatJumpsRestarts() {
        var store = RealtimeStore()
        _ = store.insert(packet(1), at: now)
        _ = store.insert(packet(30_000), at: now)
        #expect(store.popFirst()?.packet.sequence == 30_000)
        #expect(store.popFirst() == nil)
    }
}

@Suite struct SpeakerRecordTests {
    private func span(_ position: UInt32, at nanoseconds: Int64, frames: Int = 441) -> HeardSpan {
        HeardSpan(
            position: RTPTimestamp(rawValue: position), frames: frames, instant: HostInstant(nanoseconds: nanoseconds),
            sampleRate: 44100)
    }

    @Test func theRecordStatesWhenAFrameWasAudible() {
        let record = SpeakerRecord()
        record.add(span(1000, at: 5_000_000_000))
        record.add(span(1441, at: 5_010_000_000))
        #expect(record.spans.count == 1)
        #expect(record.instant(of: RTPTimestamp(rawValue: 1441)) == HostInstant(nanoseconds: 5_010_000_000))
        #expect(record.instant(of: RTPTimestamp(rawValue: 999)) == nil)
        #expect(record.instant(of: RTPTimestamp(rawValue: 1882)) == nil)
    }

    @Test func soundThatWasCutWasNotHeard() {
        let record = SpeakerRecord()
        record.add(span(0, at: 0, frames: 44100))
        record.cut(at: HostInstant(nanoseconds: 500_000_000))
        #expect(record.spans.first?.frames == 22050)
        record.cut(at: HostInstant(nanoseconds: -1))
        #expect(record.spans.isEmpty)
    }
}
