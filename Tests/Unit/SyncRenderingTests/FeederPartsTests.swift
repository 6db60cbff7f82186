import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

private let rate: Int32 = 48_000
private func frames(_ count: Int64) -> MediaTime { MediaTime(value: count, timescale: rate) }
private let stereo = PCMFormat(sampleRate: Int(rate), layout: .stereo)
private let aac = AudioFormat(
    parameters: CodecParameters(codec: "aac", framesPerPacket: 1024), sampleRate: Int(rate), layout: .stereo)

private func block(at start: Int64, _ count: Int) -> PCMBlock {
    let block = PCMBlock(format: stereo, capacity: count)
    (block.frames, block.start) = (count, frames(start))
    return block
}

/// Contiguous packets of 1024 frames.
private func packets(_ count: Int, at start: Int64 = 0, trimEnd: Int = 0) -> PacketBatch {
    let batch = PacketBatch()
    for index in 0..<Int64(count) {
        [UInt8(index)].withUnsafeBytes {
            batch.append(
                $0,
                as: PacketBatch.Packet(
                    presentationTime: frames(start + index * 1024), duration: frames(1024),
                    trimEnd: index == count - 1 ? trimEnd : 0))
        }
    }
    return batch
}

private func buffer(_ batch: PacketBatch, at start: MediaTime?, _ duration: MediaTime, _ flags: SampleBuffer.Flags = [])
    -> SampleBuffer
{
    SampleBuffer(payload: .encodedAudio(aac, batch), presentationTime: start, duration: duration, flags: flags)
}

@Suite struct PartialFlushQueueTests {
    @Test func requestsRunInOrderAndOneThatIsSupersededIsReportedOnce() {
        let queue = PartialFlushQueue()
        let overtaken = Lock<[MediaTime]>([])
        let requests = (0..<4).map { number in
            let time = second(Int64(number))
            return PartialFlushRequest(time: time) { result in
                if result == .overtaken { overtaken.withLock { $0.append(time) } }
            }
        }
        #expect(queue.isIdle && queue.begin() == nil)
        queue.append(requests[0])
        queue.append(requests[1])
        queue.append(requests[2], isFirst: true)
        #expect(queue.begin() === requests[2] && !queue.isIdle)
        queue.end()
        #expect(queue.begin() === requests[0])
        queue.overtake()
        #expect(!queue.isIdle, "one is being processed")
        queue.end()
        #expect(queue.isIdle)
        for _ in 0..<2 { queue.reportOvertaken() }
        #expect(overtaken.withLock { $0 } == [second(1)])
        queue.overtake(isEnd: true)
        queue.append(requests[3])
        #expect(queue.isIdle && overtaken.withLock { $0 } == [second(1), second(3)])
    }
}

@Suite struct ProcessingChangeStateTests {
    private let now = HostInstant(nanoseconds: 1_000_000_000)
    private let loud: AudioProcessing = {
        var processing = AudioProcessing.none
        processing.gain = 2
        return processing
    }()
    private let request = PartialFlushRequest(time: second(1), feedsAgain: true) { _ in }

    private func startedChange() -> ProcessingChange {
        var change = ProcessingChange()
        change.set(loud)
        change.begin(request)
        return change
    }

    @Test func aChangeIsBegunOnceAndOnlyIfItIsOne() {
        var change = ProcessingChange()
        change.set(.none)
        #expect(!change.isDue(at: now))
        change.set(loud)
        #expect(change.isDue(at: now) && change.processing == loud)
        change.begin(request)
        #expect(!change.isDue(at: now) && change.nextDue == nil)
    }

    /// A due instant in the past would keep the feeder from sleeping.
    @Test func afterAChangeNothingIsDueUntilTheNextOne() {
        var change = startedChange()
        #expect(change.handle(.flushed(from: second(1)), of: request, lead: .seconds(3), now: now) == .nothing)
        #expect(change.nextDue == nil && !change.isDue(at: now.advanced(by: .seconds(9))))
        change.set(.none)
        #expect(change.nextDue == now.advanced(by: .seconds(1)), "outputs record few flush positions")
        #expect(!change.isDue(at: now) && change.isDue(at: now.advanced(by: .seconds(1))))
    }

    @Test func whileStoppedTheNextChangeNeedNotWait() {
        var change = startedChange()
        _ = change.handle(.flushed(from: second(1)), of: request, lead: .seconds(3), now: nil)
        change.set(.none)
        #expect(change.isDue(at: now) && change.nextDue == nil)
    }

    @Test func aChangeThatComesTooLateIsTriedAgainFurtherAheadAndThenRestartsTheOutput() {
        var change = startedChange()
        func place() -> MediaTime? {
            change.restartTime(until: second(60), playhead: second(10), rate: 1, lead: .milliseconds(100))
        }
        #expect(place() == millisecond(10_160))
        for attempt in 1...5 {
            let consequence = change.handle(
                .refused(leadNeeded: .seconds(1)), of: request, lead: .zero, now: now)
            #expect(consequence == .tryAgain && change.isDue(at: now))
            #expect(place() == millisecond(10_160 + 60 * Int64(attempt)))
            change.begin(request)
        }
        #expect(change.handle(.refused(leadNeeded: .seconds(1)), of: request, lead: .zero, now: now) == .restart)
        #expect(!change.isDue(at: now) && change.processing == loud)
    }

    @Test func anOutputThatCannotFlushIsRestartedAndOneThatIsOvertakenIsNot() {
        var change = startedChange()
        let another = PartialFlushRequest(time: second(1)) { _ in }
        #expect(change.handle(.overtaken, of: another, lead: .zero, now: now) == .nothing)
        #expect(change.handle(.refused(leadNeeded: nil), of: request, lead: .zero, now: now) == .restart)
        change = startedChange()
        #expect(change.handle(.overtaken, of: request, lead: .zero, now: now) == .nothing)
        #expect(!change.isDue(at: now))
    }

    @Test func withoutFlushesAChangeWaitsForTwoSecondsOfBufferAtMost() {
        let change = ProcessingChange()
        #expect(change.restartTime(until: second(12), playhead: second(10), rate: 1, lead: nil) == second(12))
        #expect(change.restartTime(until: second(13), playhead: second(10), rate: 1, lead: nil) == nil)
        #expect(change.restartTime(until: second(60), playhead: second(10), rate: 0, lead: .seconds(1)) == second(10))
        #expect(
            change.restartTime(until: millisecond(10_500), playhead: second(10), rate: 1, lead: .seconds(1))
                == millisecond(10_500))
    }
}

@Suite struct EncoderRunTests {
    /// Packets of 1024 frames; the last one of a run is short.
    private final class Encoder: PCMEncoder {
        let framesPerPacket = 1024
        private var start: MediaTime?
        private var held = 0
        private var ready: [(start: MediaTime, frames: Int)] = []
        private(set) var resets = 0

        func send(_ block: PCMBlock) throws(MediaError) {
            if start == nil { start = block.start }
            held += block.frames
            while held >= framesPerPacket { put(framesPerPacket) }
        }

        private func put(_ count: Int) {
            guard let begin = start else { return }
            ready.append((begin, count))
            start = begin + frames(Int64(count))
            held -= count
        }

        /// The end of all frames in media time, if they are contiguous.
        var end: MediaTime? { start.map { $0 + frames(Int64(held)) } }

        func finish() { if held > 0 { put(held) } }

        func receive(into batch: PacketBatch) throws(MediaError) -> Bool {
            for packet in ready {
                [UInt8(0)].withUnsafeBytes {
                    batch.append(
                        $0,
                        as: PacketBatch.Packet(presentationTime: packet.start, duration: frames(Int64(packet.frames))))
                }
            }
            defer { ready.removeAll() }
            return !ready.isEmpty
        }

        func reset() {
            (start, held, ready) = (nil, 0, [])
            resets += 1
        }
    }

    private let encoder = Encoder()
    private let batch = PacketBatch()

    private func run() -> EncoderRun {
        var run = EncoderRun()
        run.use(encoder)
        return run
    }

    private func received(_ run: EncoderRun) throws -> [MediaTime?] {
        batch.removeAll()
        _ = try run.receive(into: batch)
        return batch.packets.map(\.presentationTime)
    }

    @Test func aGapFinishesThePacketsBeforeItAndTheBlockAfterItWaits() throws {
        var run = run()
        try run.send(block(at: 0, 1500))
        let after = block(at: 48_000, 1024)
        try run.send(after)
        #expect(try received(run) == [frames(0), frames(1024)])
        let isSent = try run.sendHeld(after)
        #expect(isSent && run.end == frames(49_024))
        #expect(try received(run) == [frames(48_000)])
        let isSentAgain = try run.sendHeld(after)
        #expect(!isSentAgain)
    }

    @Test func audioThatOverlapsIsDroppedAndRoundingIsNot() throws {
        var run = run()
        try run.send(block(at: 0, 1024))
        try run.send(block(at: 0, 1024 - 961))
        #expect(run.end == frames(1024))
        try run.send(block(at: 1000, 1024))
        #expect(run.end == frames(2024))
    }

    /// A list whose films are each a little longer, or shorter, than their length says.
    @Test(arguments: [-9, 9, -47, 47]) func roundingErrorsDoNotAddUp(frames error: Int) throws {
        var run = run()
        for index in 0..<500 {
            try run.send(block(at: Int64(index * (1024 + error)), 1024))
            let late = try #require(encoder.end) - #require(run.end)
            #expect(abs(late.seconds) < 0.00102, "block \(index)")
        }
        #expect(encoder.resets == 0)
        #expect(run.end == frames(Int64(499 * (1024 + error) + 1024)))
    }

    @Test func theEndIsSignalledOnceAndLaterAudioRestarts() throws {
        var run = run()
        try run.send(block(at: 0, 100))
        let isFinished = [run.finish(), run.finish()]
        #expect(isFinished == [true, false])
        run.continueAfterFinish()
        #expect(encoder.resets == 1 && run.end == nil)
        run.continueAfterFinish()
        #expect(encoder.resets == 1)
        let isFinishedAgain = run.finish()
        #expect(isFinishedAgain)
    }

    @Test func aCutKeepsWholePacketsBeforeItAndSeversTheOneThatSpansIt() throws {
        var run = run()
        try run.send(block(at: 0, 4096))
        let cutOrNil = run.cut(at: frames(2500), waiting: nil, held: nil)
        let cut = try #require(cutOrNil)
        #expect(cut.kept.packets.map(\.presentationTime) == [frames(0), frames(1024)])
        #expect(cut.truncated.packets.map(\.presentationTime) == [frames(2048)])
        #expect(cut.passesCut && run.end == nil)
        try run.send(block(at: 0, 500))
        let shortOrNil = run.cut(at: frames(1000), waiting: (packets(3), 2), held: nil)
        let short = try #require(shortOrNil)
        #expect(short.kept.packets.isEmpty && short.truncated.packets.isEmpty, "the waiting one begins after the cut")
    }

    @Test func silenceFillsLessThanAPacketOnly() {
        var run = run()
        run.fill(1024, from: .zero, stereo)
        #expect(run.end == nil)
        run.fill(100, from: .zero, stereo)
        #expect(run.end == frames(100))
    }

    @Test func withoutAnEncoderNothingHappens() throws {
        var run = EncoderRun()
        let isFinished = run.finish()
        #expect(!run.isPresent && run.framesPerPacket == nil && !isFinished)
        #expect(try received(run).isEmpty)
        run.reset()
        #expect(run.end == nil)
    }
}

@Suite struct PassThroughRunTests {
    @Test func aPacketOfWhichOnlyAPartIsAudibleWaitsForTheNextBuffer() throws {
        var run = PassThroughRun()
        let begunOrNil = run.begin(packets(3, trimEnd: 500), from: 1, at: .zero, of: aac, limit: nil)
        let begun = try #require(begunOrNil)
        #expect(begun.packets.packets.map(\.presentationTime) == [frames(1024)] && begun.offset == 0)
        #expect(run.hasTail)
        #expect(run.removeTail()?.packets.first?.presentationTime == frames(2048))
        #expect(!run.hasTail && run.removeTail() == nil)
    }

    @Test func packetsThatAreAudibleInFullAreDeliveredFromTheirOffset() throws {
        var run = PassThroughRun()
        let batch = packets(3)
        let begunOrNil = run.begin(batch, from: 1, at: .zero, of: aac, limit: nil)
        let begun = try #require(begunOrNil)
        #expect(begun.packets === batch && begun.offset == 1 && !run.hasTail)
        #expect(run.begin(batch, from: 3, at: .zero, of: aac, limit: nil) == nil)
        run.recordDelivered(batch.packets[1...])
        #expect(run.end == frames(3072))
        run.endTimeline()
        #expect(run.end == nil)
    }

    @Test func afterABoundaryPacketsThatOverlapAreSkipped() throws {
        var run = PassThroughRun()
        run.resume(after: frames(1500))
        #expect(run.isAtGaplessBoundary)
        let begunOrNil = run.begin(packets(4), from: 0, at: .zero, of: aac, limit: nil)
        let begun = try #require(begunOrNil)
        #expect(begun.offset == 2 && !run.isAtGaplessBoundary)
    }

    @Test func theTailIsKeptForPrerollAndGivesWayToAnItemThatItWouldDelay() throws {
        var run = PassThroughRun()
        _ = run.begin(packets(1, trimEnd: 1000), from: 0, at: .zero, of: aac, limit: nil)
        let next = buffer(packets(1, at: 24), at: frames(24), frames(1024), .gaplessBoundary)
        var preroll = next
        preroll.flags.insert(.decodeOnly)
        #expect(run.decideTail(before: preroll, passesThrough: true) == .kept && run.hasTail)
        #expect(run.decideTail(before: next, passesThrough: true) == .dropped && !run.hasTail)
        _ = run.begin(packets(1, trimEnd: 24 * 8), from: 0, at: .zero, of: aac, limit: nil)
        let later = buffer(packets(1, at: 1000), at: frames(1000), frames(1024), .gaplessBoundary)
        #expect(run.decideTail(before: later, passesThrough: true) == .delivered && run.hasTail)
    }

    @Test func aCutShortensTheTailAndTheNextBufferFollowsABoundary() {
        var run = PassThroughRun()
        _ = run.begin(packets(2, trimEnd: 10), from: 0, at: .zero, of: aac, limit: frames(1500))
        #expect(run.hasTail)
        run.cut(at: frames(1200), isPassing: true)
        #expect(run.hasTail && run.isAtGaplessBoundary)
        run.cut(at: frames(1024), isPassing: false)
        #expect(!run.hasTail && !run.isAtGaplessBoundary)
    }
}

@Suite struct PendingSoundTests {
    @Test func whatAnOutputDoesNotAcceptRemains() {
        let output = RecordingOutput(capacity: 100)
        let abilities = OutputAbilities(output)
        var pending = PendingAudio.block(block(at: 0, 150), 20)
        #expect(pending.offer(to: abilities).taken == 100 && !pending.isEmpty)
        output.play(frames: 100)
        #expect(pending.offer(to: abilities).taken == 30 && pending.isEmpty)
        #expect(pending.offer(to: abilities).taken == 0)
    }

    @Test func aCutDropsWhatFollowsIt() {
        var pending = PendingAudio.block(block(at: 0, 1000), 200)
        pending.cut(at: frames(500))
        #expect(!pending.isEmpty)
        pending.cut(at: frames(150))
        #expect(pending.isEmpty)
        pending = .packets(packets(4), 1)
        pending.cut(at: frames(2048))
        guard case .packets(let rest, 0) = pending else {
            Issue.record("nothing remains")
            return
        }
        #expect(rest.packets.map(\.presentationTime) == [frames(1024)])
        pending.cut(at: frames(1000))
        #expect(pending.isEmpty)
    }

    @Test func deliveryResumesAtItsTimeOnce() {
        var resume = ResumePoint(frames(1500))
        let skipped = [resume.frames(before: block(at: 0, 1000)), resume.frames(before: block(at: 1000, 1000))]
        #expect(skipped == [1000, 500])
        let later = resume.frames(before: block(at: 0, 1000))
        #expect(later == 0, "it has resumed")
        resume.raise(to: frames(3000))
        let unwanted = [
            resume.packets(before: packets(2)), resume.packets(before: packets(4)), resume.packets(before: packets(4)),
        ]
        #expect(unwanted == [1, 1, 0], "the packet before the time is preroll")
    }
}
