import MediaCore

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A whole player whose threads and time are controlled by a test.
protocol VirtualPlayer: AnyObject {
    var clock: ManualClock { get }
    var core: PlaybackEngine { get }
    var engine: SteppedEngine { get set }
    var feeder: AudioFeeder? { get set }
    var pipelines: Lock<[TrackPipeline]> { get }
    /// Advances virtual time.
    func run(for duration: Duration)
    /// Returns true if a pipeline may run an iteration.
    func mayRun(_ pipeline: TrackPipeline) -> Bool
    /// Threads for pipelines whose sources block; nil runs pipelines on the test's thread.
    var runners: PipelineRunners? { get }
    /// Runs the feeders of added sounds; returns true if one progressed.
    func runAddedUntilIdle() -> Bool
}

extension VirtualPlayer {
    var phase: PlayerState.Phase { core.state.phase }
    func mayRun(_ pipeline: TrackPipeline) -> Bool { true }
    var runners: PipelineRunners? { nil }
    func runAddedUntilIdle() -> Bool { false }

    /// Runs everything that can progress without time passing, the engine at least once.
    func runUntilIdle() {
        engine.wake()
        runWhatIsDue()
    }

    /// Runs everything that is due without time passing.
    func runWhatIsDue() {
        var moved = true
        while moved {
            moved = engine.runIfDue(core, at: clock.now)
            for pipeline in pipelines.withLock({ $0 }) where mayRun(pipeline) {
                if let runners {
                    while case .again? = runners.runIteration(pipeline) { moved = true }
                    continue
                }
                // A waiting thread continues only after its signal was raised.
                while pipeline.signal.tryWait() {
                    while case .again = pipeline.runIteration() { moved = true }
                }
            }
            let before = core.renderer?.progress.acceptedUntil
            feeder?.performDueWork()
            if core.renderer?.progress.acceptedUntil != before { moved = true }
            if runAddedUntilIdle() { moved = true }
        }
    }

    func run(untilPhase phase: PlayerState.Phase, atMost limit: Duration) -> Bool {
        let end = clock.now.advanced(by: limit)
        while self.phase != phase {
            if clock.now >= end { return false }
            run(for: .milliseconds(50))
        }
        return true
    }
}
