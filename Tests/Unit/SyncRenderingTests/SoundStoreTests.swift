import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

private let format = AudioFormat(parameters: CodecParameters(codec: "x"), sampleRate: 48_000, layout: .stereo)

/// The stored audio and the positions of its readers.
@Suite struct SoundStoreTests {
    private let clock = ManualClock()
    private let synchronizer: RenderSynchronizer
    private let store = AudioStore()
    private var timebase: Timebase { synchronizer.timebase }

    init() { synchronizer = RenderSynchronizer(clock: clock) }

    /// Appends packets of 20 ms each; times in milliseconds.
    @discardableResult
    private func add(_ start: Int64?, packets count: Int64 = 50, _ flags: SampleBuffer.Flags = [])
        -> AudioStore.Appended
    {
        let batch = PacketBatch()
        for packet in 0..<count {
            [UInt8(packet)].withUnsafeBytes {
                batch.append(
                    $0,
                    as: .init(
                        presentationTime: start.map { millisecond($0 + packet * 20) }, duration: millisecond(20)))
            }
        }
        return store.append(
            SampleBuffer(
                payload: .encodedAudio(format, batch), presentationTime: start.map { millisecond($0) },
                duration: millisecond(count * 20), flags: flags), timebase: timebase, master: timebase)
    }

    /// Returns the start times of everything that a reader receives, in milliseconds.
    private func read(_ cursor: inout AudioCursor) -> [Int64] {
        var starts: [Int64] = []
        while let buffer = store.next(&cursor) { starts.append(buffer.presentationTime?.rescaled(to: 1000) ?? -1) }
        return starts
    }

    private func packets(_ buffer: SampleBuffer) -> [MediaTime?] {
        if case .encodedAudio(_, let batch) = buffer.payload { batch.packets.map(\.presentationTime) } else { [] }
    }

    // MARK: Enqueueing

    @Test func buffersWithoutATimeFollowOn() {
        add(3000)
        add(nil)
        #expect(store.level.firstEnqueued == second(3) && store.level.enqueuedUntil == second(5))
        store.finish()
        #expect(store.level.isFinished)
        add(nil)
        #expect(!store.level.isFinished && store.level.count == 3 && store.level.enqueueCount == 3)
    }

    @Test func lateBuffersAreDroppedWhileStoppedAndTheNextOneIsDiscontinuous() {
        synchronizer.setRate(0, time: second(10), atHostTime: clock.now)
        #expect(add(2000) == .init(isLate: true, isDropped: true))
        #expect(add(3000, .decodeOnly) == .init(), "it primes the decoder")
        var reader = store.start
        #expect(store.next(&reader)?.flags.contains(.discontinuity) == true)
        synchronizer.setRate(1, time: second(10), atHostTime: clock.now)
        #expect(add(4000) == .init(isLate: true, isDropped: false))
    }

    @Test func theBytesOfAllBuffersAreCountedAndWhatIsPastIsRemoved() {
        var reader = store.start
        for start in stride(from: Int64(0), to: 100_000, by: 100) { add(start, packets: 5) }
        #expect(store.level.byteCount == 5000)
        synchronizer.setRate(1, time: second(92), atHostTime: clock.now)
        store.trim(at: timebase)
        #expect(store.level.byteCount == 505)
        #expect(store.next(&reader).map { $0.flags.contains(.discontinuity) && $0.end == second(90) } == true)
        #expect(store.cut(at: second(95)))
        #expect(store.level.byteCount == 255 && store.level.enqueuedUntil == second(95))
        store.flush()
        #expect(store.level.byteCount == 0 && store.boundary(from: millisecond(7)) == millisecond(7))
    }

    @Test func whileStoppedOnlyWhatWasReadIsRemoved() {
        for start in 0..<4 as Range<Int64> { add(start * 1000) }
        synchronizer.setRate(0, time: second(60), atHostTime: clock.now)
        var reader = store.start
        _ = store.next(&reader)
        store.setRead(until: reader)
        store.trim(at: timebase)
        #expect(read(&reader) == [1000, 2000, 3000])
        synchronizer.setRate(1, time: second(60), atHostTime: clock.now)
        store.trim(at: timebase)
        #expect(store.level.count == 0)
    }

    /// Suppliers reuse a batch that is no longer referenced; each one retained for long is an additional allocation.
    @Test func audioThatWasRemovedIsReleasedAtOnce() {
        final class Watch { weak var batch: PacketBatch? }
        var all: [Watch] = []
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now)
        for start in stride(from: Int64(0), to: 50_000, by: 100) {
            let (batch, watch) = (PacketBatch(), Watch())
            watch.batch = batch
            all.append(watch)
            _ = store.append(
                SampleBuffer(
                    payload: .encodedAudio(format, batch), presentationTime: millisecond(start),
                    duration: millisecond(100)), timebase: timebase, master: timebase)
            clock.advance(by: .milliseconds(100))
            store.trim(at: timebase)
        }
        #expect(all.count { $0.batch != nil } == 21)
    }

    // MARK: Readers

    @Test func eachReaderReceivesEverythingInOrder() {
        var (quick, slow) = (store.start, store.start)
        for start in 0..<200 as Range<Int64> {
            add(start * 1000, packets: 1)
            if start % 3 == 0 { _ = store.next(&quick) }
        }
        #expect(!store.isRead(by: quick) && AudioStore.slower(quick, slow)?.number == slow.number)
        store.setRead(until: quick)
        #expect(!store.level.isAllRead)
        store.setRead(until: store.end)
        #expect(store.level.isAllRead)
        #expect(read(&slow) == (0..<200).map { $0 * 1000 })
        #expect(read(&quick) == (67..<200).map { $0 * 1000 })
        #expect(store.isRead(by: quick) && store.isRead(by: store.end) && AudioStore.slower(nil, nil) == nil)
    }

    @Test func aReaderMovesToATimeWithPrerollForTheCodecs() {
        for start in 0..<6 as Range<Int64> { add(start * 1000) }
        var reader = store.start
        _ = read(&reader)
        #expect(store.move(&reader, to: second(4)))
        let first = store.next(&reader)
        #expect(first?.presentationTime == second(3) && first?.flags.contains(.discontinuity) == true)
        #expect(store.move(&reader, to: second(5), isDiscontinuous: false))
        let next = store.next(&reader)
        #expect(next?.presentationTime == second(4) && next?.flags.contains(.discontinuity) == false)
        #expect(!store.move(&reader, to: second(9)))
        #expect(store.isRead(by: reader))
    }

    @Test func afterAFlushAReaderReceivesNothingUntilItMoves() {
        add(0)
        var reader = store.start
        store.flush()
        add(5000)
        #expect(read(&reader).isEmpty)
        reader = store.start
        #expect(read(&reader) == [5000])
    }

    @Test func aCutTrimsTheBufferThatSpansItAndReadersContinueWithWhatFollows() {
        for start in 0..<4 as Range<Int64> { add(start * 1000) }
        var (reader, ahead) = (store.start, store.start)
        _ = store.next(&reader)
        _ = read(&ahead)
        #expect(!store.cut(at: second(9)), "it ends before")
        #expect(store.hasUnread(reader, before: millisecond(1001)) && !store.hasUnread(reader, before: second(1)))
        #expect(store.cut(at: millisecond(2500)))
        #expect(store.level.enqueuedUntil == millisecond(2500) && store.level.count == 3)
        #expect(store.isRead(by: ahead))
        add(2500)
        #expect(read(&ahead) == [2500])
        _ = store.next(&reader)
        #expect(store.next(&reader)?.heardUntil == millisecond(2500))
        #expect(store.cut(at: millisecond(500)))
        var again = store.start
        #expect(store.next(&again)?.heardUntil == millisecond(500), "what was read is trimmed too")
        #expect(read(&again).isEmpty)
    }

    @Test func aCutTrimsThePartOfABufferThatAReaderHasBegun() {
        for start in 0..<2 as Range<Int64> { add(start * 1000) }
        var reader = store.cursor(startingAt: millisecond(520))
        var other = reader
        let runIn = store.next(&reader)
        _ = store.next(&other)
        #expect(runIn?.end == millisecond(520))
        #expect(store.cut(at: millisecond(800)))
        reader.cut(at: millisecond(800))
        #expect(store.next(&reader)?.heardUntil == millisecond(800))
        #expect(read(&reader).isEmpty)
        #expect(store.cut(at: millisecond(400)))
        other.cut(at: millisecond(400))
        #expect(read(&other).isEmpty)
    }

    // MARK: Joining outputs

    @Test func whatJoinsBeginsAtAPacketAndWhatGoesBeforeIsForDecodersOnly() throws {
        for start in 0..<3 as Range<Int64> { add(start * 1000) }
        let boundary = store.boundary(from: millisecond(1505))
        #expect(boundary == millisecond(1520))
        var reader = store.cursor(startingAt: boundary)
        let first = try #require(store.next(&reader))
        #expect(first.flags.contains([.decodeOnly, .discontinuity]))
        #expect(first.presentationTime == second(1) && first.end == boundary)
        #expect(store.hasUnread(reader, before: millisecond(1521)) && !store.isRead(by: reader))
        let next = try #require(store.next(&reader))
        #expect(next.presentationTime == boundary && next.end == second(2))
        #expect(!next.flags.contains(.decodeOnly) && !next.flags.contains(.discontinuity))
        #expect(packets(next).first == boundary && packets(next).count == 24)
        #expect(read(&reader) == [2000])
        // The moved packets have the same bytes.
        guard case .encodedAudio(_, let batch) = next.payload else {
            Issue.record("\(next.payload)")
            return
        }
        #expect(batch.withBytes(of: batch.packets[0]) { $0[0] } == 26)
    }

    @Test func aBufferThatBeginsAtTheMomentIsReceivedWhole() {
        for start in stride(from: Int64(0), to: 1000, by: 100) { add(start, packets: 5) }
        var reader = store.cursor(startingAt: millisecond(500))
        var preroll = 0
        var starts: [MediaTime?] = []
        while let buffer = store.next(&reader) {
            starts.append(buffer.presentationTime)
            if buffer.flags.contains(.decodeOnly) { preroll += 1 }
        }
        #expect(starts == [300, 400, 500, 600, 700, 800, 900].map { millisecond($0) })
        #expect(preroll == 2)
    }

    @Test func anOutputThatJoinsBeforeItsAudioIsEnqueuedBeginsAtTheMoment() {
        var reader = store.cursor(startingAt: millisecond(500))
        for start in stride(from: Int64(0), to: 1000, by: 100) { add(start, packets: 5) }
        #expect(read(&reader) == [300, 400, 500, 600, 700, 800, 900])
    }

    @Test func decodedSoundIsCutAtTheFrame() throws {
        let format = PCMFormat(sampleRate: 1000, layout: .stereo)
        let block = PCMBlock(format: format, capacity: 1000)
        block.frames = 1000
        for index in 0..<2000 { block.samples[index] = Float(index / 2) }
        _ = store.append(
            SampleBuffer(payload: .pcm(block), presentationTime: .zero, duration: second(1)), timebase: timebase,
            master: timebase)
        var reader = store.cursor(startingAt: millisecond(250))
        guard case .pcm(let rest) = try #require(store.next(&reader)).payload else {
            Issue.record("not decoded")
            return
        }
        #expect(rest.frames == 750 && rest.samples[0] == 250 && rest.start == millisecond(250))
        #expect(store.isRead(by: reader))
    }
}
