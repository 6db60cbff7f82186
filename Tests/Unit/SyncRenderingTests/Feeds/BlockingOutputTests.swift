import Glibc
import MediaCore
import Synchronization
import TalkieTestKit
import Testing

@testable import SyncRendering

/// Outputs that take seconds to open or to close: neither the timeline, nor a seek, nor another output waits for them.
@Suite(.timeLimit(.minutes(10))) struct BlockingOutputTests {
    private let rate = Int64(GroupRig.rate)

    /// Two sounds on one synchronizer.
    private func run(_ rigs: [GroupRig], for duration: Duration) {
        let end = rigs[0].clock.now.advanced(by: duration)
        while rigs[0].clock.now < end {
            for rig in rigs.dropFirst() {
                rig.fill()
                rig.runUntilIdle()
            }
            rigs[0].run(for: .milliseconds(20))
        }
    }

    @Test func anOutputThatOpensForFiveSecondsDelaysNothing() {
        let (slow, quick) = (TapeOutput.rig("slow"), TapeOutput.rig("quick"))
        let rig = GroupRig(slow)
        let other = GroupRig(quick, beside: rig)
        rig.holdOpenings()
        other.fill()
        other.runUntilIdle()
        rig.play()
        #expect(rig.renderer.startWait == OutputWait(.opening, of: "slow", id: OutputID(0)))
        #expect(!rig.renderer.progress.isReadyToStart && rig.renderer.progress.acceptedUntil == nil)
        let serviced = rig.synchronizer.dueUpkeep.load(ordering: .relaxed)
        run([rig, other], for: .seconds(2))
        #expect(rig.synchronizer.dueUpkeep.load(ordering: .relaxed) - serviced > 1_500_000_000)
        #expect(quick.deviation(from: (1, 0..<other.next), until: rig.playhead) == nil)
        for rig in [rig, other] { rig.renderer.flush() }
        (rig.next, other.next) = (40 * rate, 40 * rate)
        rig.synchronizer.setRate(1, time: rig.time(40 * rate), atHostTime: rig.clock.now)
        run([rig, other], for: .seconds(3))
        #expect(quick.deviation(from: (1, 40 * rate..<other.next), until: rig.playhead) == nil)
        rig.releaseOpenings()
        let opened = rig.playhead
        run([rig, other], for: .seconds(1))
        #expect(rig.renderer.startWait == nil && slow.openings == 1)
        #expect(slow.deviation(from: (1, opened..<rig.next), until: rig.playhead) == nil)
    }

    @Test func aStartWaitsFiveSecondsForAnOutputThatDoesNotAnswerBesideAnOpenOne() {
        let (open, silent) = (TapeOutput.rig("open"), TapeOutput.rig("silent"))
        let rig = GroupRig(open, silent)
        // The second one's attempt is held back.
        let opens = Lock(0)
        open.onCall = {
            if opens.withLock({
                $0 += 1; return $0 == 1
            }) {
                rig.holdOpenings()
            }
        }
        rig.synchronizer.setRate(0, time: .zero)
        rig.fill()
        rig.synchronizer.setRate(1)
        rig.run(for: .milliseconds(4900))
        #expect(rig.synchronizer.pendingStart?.waits == [OutputWait(.opening, of: "silent", id: OutputID(0))])
        rig.run(for: .milliseconds(200))
        #expect(rig.synchronizer.pendingStart == nil && rig.synchronizer.timebase.snapshot.upcoming.rate == 1)
        rig.run(for: .seconds(1))
        #expect(open.deviation(from: (1, 0..<rig.next), until: rig.playhead) == nil)
        open.onCall = {}
    }

    @Test(arguments: [1, 2]) func anOutputThatClosesForFiveSecondsDelaysNothing(outputs count: Int) {
        let (old, second, next) = (TapeOutput.rig("old"), TapeOutput.rig("second"), TapeOutput.rig("next"))
        let rig = count == 1 ? GroupRig(old) : GroupRig(old, second)
        rig.play()
        rig.run(for: .seconds(2))
        rig.holdClosings()
        let moment = rig.playhead
        rig.renderer.setOutput(OutputGroup(members: [next], codecs: rig.codecs, work: rig.work))
        rig.runUntilIdle()
        rig.run(for: .seconds(2))
        #expect(next.openings == 1 && old.closings == 0)
        #expect(next.deviation(from: (1, moment..<rig.next), until: rig.playhead) == nil)
        rig.seek(to: 40 * rate)
        rig.run(for: .seconds(3))
        #expect(next.deviation(from: (1, 40 * rate..<rig.next), until: rig.playhead) == nil)
        let flushes = old.flushes
        rig.releaseClosings()
        #expect(old.closings == 1 && old.flushes == flushes, "nothing else is called meanwhile")
        #expect(second.closings == count - 1)
    }

    @Test(arguments: [false, true]) func anOutputThatIsStillClosingIsOpenedAgainOnceItIsClosed(isLost: Bool) {
        let output = TapeOutput.rig()
        let rig = GroupRig(output)
        rig.play()
        rig.run(for: .seconds(1))
        rig.holdClosings()
        rig.holdOpenings()
        if isLost { output.ownLoss = OutputError(.lost, "no network") }
        rig.renderer.setOutput(OutputGroup(members: [output], codecs: rig.codecs, work: rig.work))
        rig.run(for: .seconds(1))
        #expect(output.openings == 1 && output.closings == 0)
        #expect(rig.renderer.startWait?.cause == .opening)
        rig.releaseClosings()
        // One that plays stays open.
        #expect(output.openings == 1 && output.closings == (isLost ? 1 : 0))
        output.ownLoss = nil
        rig.releaseOpenings()
        let opened = rig.playhead
        rig.run(for: .seconds(1))
        #expect(output.openings == (isLost ? 2 : 1) && output.closings == (isLost ? 1 : 0))
        #expect(output.deviation(from: (1, opened..<rig.next), until: rig.playhead) == nil)
    }

    /// As a room that changes its language.
    @Test func anOutputThatMovesToAnotherRendererIsNeitherClosedNorOpenedAgain() throws {
        let (moving, staying, other) = (TapeOutput.rig("moving"), TapeOutput.rig("staying"), TapeOutput.rig("other"))
        let rig = GroupRig(moving, staying)
        let second = GroupRig(other, beside: rig)
        second.sound = 2
        second.fill()
        second.runUntilIdle()
        rig.play()
        run([rig, second], for: .seconds(1))
        // It waits for the output.
        second.holdOpenings()
        second.change(to: other, moving)
        second.runUntilIdle()
        rig.change(to: staying)
        run([rig, second], for: .seconds(1))
        let left = try #require(rig.changedAt)
        #expect(second.outcomes.withLock { $0.isEmpty })
        let heard = try #require(moving.takes.last)
        #expect(heard.first == 0 && heard.last.map { $0 + 1 >= left } ?? false)
        #expect(heard.firstMismatch(with: [(1, 0..<rig.next)]) == nil)
        second.releaseOpenings()
        run([rig, second], for: .seconds(2))
        let joined = try #require(second.changedAt)
        #expect(moving.openings == 1 && moving.closings == 0)
        #expect(moving.deviation(from: (2, joined..<second.next), until: second.playhead) == nil)
        #expect(staying.deviation(from: (1, 0..<rig.next), until: rig.playhead) == nil)
        #expect(other.deviation(from: (2, 0..<second.next), until: second.playhead) == nil)
        // A feed that ends before its turn leaves the output to the one that plays.
        rig.holdOpenings()
        rig.change(to: staying, moving)
        rig.runUntilIdle()
        rig.change(to: staying)
        rig.runUntilIdle()
        second.change(to: other)
        run([rig, second], for: .seconds(1))
        #expect(moving.openings == 1 && moving.closings == 1)
    }

    @Test func aRemovedRendererIsReportedOnceItsOutputIsClosed() {
        let (output, other) = (TapeOutput.rig(), TapeOutput.rig())
        let rig = GroupRig(output)
        let second = GroupRig(other, beside: rig)
        second.fill()
        second.runUntilIdle()
        rig.play()
        run([rig, second], for: .seconds(1))
        rig.holdClosings()
        let isRemoved = Lock(false)
        rig.synchronizer.removeRenderer(rig.renderer) { done in isRemoved.withLock { $0 = done } }
        rig.runRenderer()
        run([second], for: .seconds(1))
        #expect(!isRemoved.withLock { $0 } && output.closings == 0)
        #expect(other.deviation(from: (1, 0..<second.next), until: second.playhead) == nil)
        rig.releaseClosings()
        #expect(isRemoved.withLock { $0 } && output.closings == 1)
    }

    @Test func aRemovalIsReportedOnceAnOutputThatWasReplacedBeforeItIsClosed() {
        let (old, next) = (TapeOutput.rig("old"), TapeOutput.rig("next"))
        let rig = GroupRig(old)
        rig.play()
        rig.run(for: .seconds(1))
        rig.holdClosings()
        rig.renderer.setOutput(OutputGroup(members: [next], codecs: rig.codecs, work: rig.work))
        rig.runUntilIdle()
        rig.renderer.setOutput(nil)
        rig.runUntilIdle()
        let isRemoved = Lock(false)
        rig.synchronizer.removeRenderer(rig.renderer) { done in isRemoved.withLock { $0 = done } }
        rig.runRenderer()
        #expect(!isRemoved.withLock { $0 } && old.closings == 0 && next.closings == 0)
        rig.releaseClosings()
        #expect(isRemoved.withLock { $0 } && old.closings == 1 && next.closings == 1)
    }

    @Test func anOutputThatWasOpenedAheadIsClosedBeforeAnotherGroupOpensIt() {
        let (output, other) = (TapeOutput.rig("output"), TapeOutput.rig("other"))
        let rig = GroupRig(output)
        rig.runUntilIdle()
        rig.holdClosings()
        rig.renderer.setOutput(OutputGroup(members: [output, other], codecs: rig.codecs, work: rig.work))
        rig.holdOpenings()
        rig.fill()
        rig.runUntilIdle()
        #expect(output.openings == 0 && rig.renderer.startWait?.cause == .opening)
        rig.releaseClosings()
        rig.releaseOpenings()
        rig.runUntilIdle()
        #expect(output.openings == 1 && output.closings == 0 && other.openings == 1)
    }

    /// An output whose `prepare` waits for the test.
    private final class SlowOutput: AudioOutput {
        let name = "slow"
        let kind = AudioRouteKind.virtual
        let latency = OutputLatency(startLead: .zero)
        let desiredDepth = Duration.seconds(1)
        let calls = Lock<[String]>([])
        let (begun, proceed) = (Signal(), Signal())
        var acceptedUntil: MediaTime? { nil }
        func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
            .pcm(PCMFormat(sampleRate: 48_000, layout: .stereo))
        }
        func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) {
            calls.withLock { $0.append("prepare") }
            begun.raise()
            proceed.wait()
            calls.withLock { $0.append("prepared") }
        }
        func finish() {}
        func flush() {}
        func timebaseDidChange(_ snapshot: TimebaseSnapshot) {}
        func setGain(_ gain: Float) {}
        func close() { calls.withLock { $0.append("close") } }
    }

    /// On threads: the change of members and the renderer both end the joining output.
    @Test func anOutputThatJoinsWhileItsRendererEndsIsClosedOnceItIsOpen() async throws {
        let (first, slow) = (RecordingOutput(capacity: 10_000_000), SlowOutput())
        let codecs = SyntheticCodecs()
        let group = OutputGroup(members: [first], codecs: codecs)
        let (renderer, synchronizer) = (AudioRenderer(codecs: codecs), RenderSynchronizer())
        renderer.setOutput(group)
        synchronizer.addRenderer(renderer)
        let film = SyntheticFilm(duration: MediaTime(value: 5, timescale: 1))
        renderer.enqueue(try #require(try film.source(for: film.summary.tracks[1]).read()))
        while !group.feeds.contains(where: \.isOpen) { sched_yield() }
        let change = Task { await group.change(to: [slow]) }
        slow.begun.wait()
        let ended = Signal()
        let ending = try WorkerThread.start(name: "ending") {
            renderer.invalidate()
            ended.raise()
        }
        while !group.feeds.isEmpty { sched_yield() }
        #expect(!ended.tryWait() && slow.calls.withLock { $0 } == ["prepare"])
        slow.proceed.raise()
        ended.wait()
        ending.join()
        _ = await change.value
        #expect(slow.calls.withLock { $0 } == ["prepare", "prepared", "close"])
    }

    /// As when packets that passed through a speaker have to be decoded.
    @Test func anOutputThatIsPreparedAgainForFiveSecondsDelaysNothing() throws {
        let output = RecordingOutput(
            capacity: 1_000_000, desiredDepth: .seconds(1), sampleRate: Int(GroupRig.rate),
            passThroughCodec: FloatCodecs.format(sampleRate: Int(GroupRig.rate)).parameters.codec)
        let rig = GroupRig(output)
        rig.play()
        rig.run(for: .seconds(1))
        #expect(output.state.withLock { $0.deliveries } == [.passThrough(rig.format)])
        rig.renderer.allowsPassThrough = false
        rig.seek(to: 20 * rate)
        rig.holdOpenings()
        rig.run(for: .seconds(2))
        let flushes = output.state.withLock { $0.flushes }
        rig.seek(to: 40 * rate)
        rig.run(for: .seconds(3))
        let state = output.state.withLock { $0 }
        #expect(state.samples.isEmpty && state.flushes == flushes, "no call while it is prepared")
        let serviced = rig.synchronizer.dueUpkeep.load(ordering: .relaxed)
        #expect(serviced > rig.clock.now.nanoseconds)
        rig.releaseOpenings()
        rig.run(for: .seconds(1))
        let samples = output.state.withLock { $0.samples }
        #expect(output.state.withLock { $0.flushes } == flushes + 1)
        let first = try #require(samples.first.flatMap { FloatCodecs.meaning(of: $0) })
        #expect(first.frame >= 40 * rate && first.frame <= 43 * rate)
        #expect(samples.enumerated().allSatisfy { $1 == FloatCodecs.value(1, first.frame + Int64($0)) })
    }
}
