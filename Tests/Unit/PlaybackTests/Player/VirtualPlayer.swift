import MediaCore

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A whole player whose threads and time a test turns by hand.
protocol VirtualPlayer: AnyObject {
    var clock: ManualClock { get }
    var core: PlaybackEngine { get }
    var feeder: AudioFeeder? { get set }
    var pipelines: Lock<[TrackPipeline]> { get }
    /// Lets virtual time pass.
    func run(for duration: Duration)
    /// Whether a pipeline's thread gets on.
    func mayTurn(_ pipeline: TrackPipeline) -> Bool
    /// Threads for pipelines whose sources block; nil turns pipelines on the test's own.
    var runners: PipelineRunners? { get }
    /// Turns the feeders of further sounds; whether something moved.
    func settleAdded() -> Bool
}

extension VirtualPlayer {
    var phase: PlayerState.Phase { core.state.phase }
    func mayTurn(_ pipeline: TrackPipeline) -> Bool { true }
    var runners: PipelineRunners? { nil }
    func settleAdded() -> Bool { false }

    /// Everything that can move without time passing, moves.
    func settle() {
        var moved = true
        while moved {
            moved = false
            _ = core.turn()
            for pipeline in pipelines.withLock({ $0 }) where mayTurn(pipeline) {
                if let runners {
                    while case .again? = runners.turn(pipeline) { moved = true }
                    continue
                }
                // A thread that rests goes on when its signal was raised, and not before.
                while pipeline.signal.wait(until: HostInstant(nanoseconds: 0)) {
                    while case .again = pipeline.turn() { moved = true }
                }
            }
            let before = core.renderer?.progress.acceptedUntil
            feeder?.settle()
            if core.renderer?.progress.acceptedUntil != before { moved = true }
            if settleAdded() { moved = true }
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
