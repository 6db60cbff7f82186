import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A track whose thread cannot be created at first.
@Suite struct ExhaustedPipelineTests {
    private final class NoStage: TrackStage {
        func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime? { time }
        func cut(after serial: Int) {}
        func step() throws(MediaError) -> TrackStep { .ended }
        func cancel() {}
        func askForRoom(raising signal: Signal) {}
    }

    @Test func aTrackWithoutAThreadEndsEarlyAndTheNextJumpTriesAgain() throws {
        let isRefused = Lock(true)
        let started = Lock(0)
        let run: Prefetcher.Run = { (_, _) throws(ExhaustionError) in
            if isRefused.withLock({ $0 }) { throw ExhaustionError(.threads, "the system does not allow more threads") }
            started.withLock { $0 += 1 }
            return nil
        }
        let pipeline = TrackPipeline(stage: NoStage(), run: run, onEvent: {})
        pipeline.start(name: "audio reader")
        #expect(pipeline.refusal?.code == .exhausted)
        pipeline.seek(to: .zero, aim: .exact, serial: 3)
        #expect(pipeline.status.seekSerial == 3 && pipeline.status.hasEnded, "nobody waits for the jump")
        isRefused.withLock { $0 = false }
        pipeline.seek(to: .zero, aim: .exact, serial: 4)
        #expect(started.withLock { $0 } == 1)
        #expect(pipeline.refusal == nil)
    }

    @Test func aMissingOpeningThreadIsReported() {
        let parts = Player.Components(
            open: { (_, _) throws(MediaError) in throw MediaError(.cannotOpen, "never asked") },
            codecs: SyntheticCodecs(), makeDecoder: { (_) throws(MediaError) in throw MediaError(.unsupported, "") },
            audioOutput: nil)
        let prefetcher = Prefetcher(parts) { (_, _) throws(ExhaustionError) in
            throw ExhaustionError(.threads, "the system does not allow more threads")
        }
        let item = PrefetchedItem(QueueItem("film.mp4"))
        let done = Lock(false)
        prefetcher.open(item) { done.withLock { $0 = true } }
        guard case .failure(let error)? = item.outcome else {
            Issue.record("it has no outcome")
            return
        }
        #expect(error.code == .exhausted && error.playbackCode == .failed)
        #expect(error.message.contains("film.mp4") && error.message.contains("more threads"))
        #expect(done.withLock { $0 })
    }
}
