import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

@Suite struct RendererStateTests {
    private let clock = ManualClock()
    private let synchronizer: RenderSynchronizer

    init() { synchronizer = RenderSynchronizer(clock: clock) }

    private func buffer(_ start: Int64) -> SampleBuffer {
        let aac = AudioFormat(parameters: CodecParameters(codec: "aac"), sampleRate: 48_000, layout: .stereo)
        return SampleBuffer(
            payload: .encodedAudio(aac, PacketBatch()), presentationTime: second(start), duration: second(1))
    }

    @Test func commandsAreReturnedOnceAndAnEndedUseLeavesThemToTheNext() {
        var state = RendererState(synchronizer.timebase)
        let outputs = OutputGroup(members: [RecordingOutput()], codecs: SyntheticCodecs())
        state.setOutputs(outputs, id: OutputID(3), depth: .seconds(1))
        let (first, second) = (state.consumeCommand(for: 0), state.consumeCommand(for: 0))
        #expect(first.isOutputChange && first.isFlush && first.outputs === outputs && first.outputID == OutputID(3))
        #expect(!second.isOutputChange && !second.isFlush)
        state.detach {}
        state.setOutputs(nil, id: OutputID(0), depth: .seconds(1))
        let (ended, next) = (state.consumeCommand(for: 0), state.consumeCommand(for: 1))
        #expect(ended.isFlush && !ended.isOutputChange)
        #expect(next.isFlush && next.isOutputChange && next.outputs == nil)
        #expect(state.consumeRetired().count == 1 && state.consumeRetired().isEmpty)
    }

    @Test func noAudioIsTakenWhileACommandIsPending() {
        let store = AudioStore()
        for start in 0..<2 as Range<Int64> {
            _ = store.append(buffer(start), timebase: synchronizer.timebase, master: synchronizer.timebase)
        }
        var state = FeedState(Timebase(gating: synchronizer.timebase), reading: store, Lock(AudioSettings()))
        let joining = state.dequeue()
        state.beginReading()
        let first = state.dequeue()
        state.restartAtPlayhead()
        let interrupted = state.dequeue()
        _ = state.consumeCommand()
        let again = state.dequeue()
        #expect(joining == nil && interrupted == nil)
        #expect(first?.presentationTime == .zero && again?.presentationTime == .zero)
    }

    @Test func spaceIsReportedOnceAfterTheQueueWasFull() {
        var state = RendererState(synchronizer.timebase)
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now)
        let isFirst = state.requestReadiness()
        state.append(buffer(0))
        state.append(buffer(1))
        let (isFull, isEarly) = (!state.requestReadiness(), state.consumeReadiness(.seconds(1)))
        clock.advance(by: .milliseconds(1500))
        let (isReported, isRepeated) = (state.consumeReadiness(.seconds(1)), state.consumeReadiness(.seconds(1)))
        #expect(isFirst && isFull && !isEarly && isReported && !isRepeated)
    }

    @Test func aPartialFlushBeyondTheQueueEndsWhereThatEnds() {
        var state = RendererState(synchronizer.timebase)
        state.append(buffer(0))
        let results = Lock<[PartialFlushResult]>([])
        let request = PartialFlushRequest(time: second(5)) { result in results.withLock { $0.append(result) } }
        state.partialFlushes.append(request)
        #expect(state.beginPartialFlush() === request)
        #expect(state.endPartialFlush(.flushed(from: second(5))) == .flushed(from: second(1)))
        state.partialFlushes.append(request)
        state.flush()
        #expect(state.beginPartialFlush() == nil, "the flush supersedes it")
        state.partialFlushes.reportOvertaken()
        #expect(results.withLock { $0 } == [.overtaken])
        _ = state.invalidate()
        state.partialFlushes.append(request)
        #expect(results.withLock { $0 } == [.overtaken, .overtaken])
    }

    @Test func aGroupMemberThatReturnsAtTheEndLeavesTheRendererUndrained() {
        var state = RendererState(synchronizer.timebase)
        state.append(buffer(0))
        state.recordReading(until: nil)
        state.store.finish()
        state.drain(acceptedUntil: second(1))
        state.accept(until: second(1))
        #expect(state.progress.isDrained)
        state.accept(until: nil)
        #expect(!state.progress.isDrained && state.isAtEnd(for: 0))
    }

    @Test func aFlushForgetsAFailure() {
        var state = RendererState(synchronizer.timebase)
        _ = state.record(.outputFailed(OutputError(.unavailable, "away")), isFailed: true)
        #expect(state.failure is OutputError && state.progress.hasFailed)
        state.flush()
        #expect(state.failure == nil && !state.progress.hasFailed)
    }
}
