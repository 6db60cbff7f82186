import MediaCore
import Testing

@testable import Playback

/// Runs a player's engine when its thread would: after a signal, and when work is due.
struct SteppedEngine {
    /// The maximum number of iterations without time passing; an engine that exceeds it keeps a processor busy.
    private static let maxIterations = 10_000

    /// When the thread would continue without a signal; nil before the first iteration and after a call by the test.
    private var due: HostInstant?
    /// The instant of the latest iteration, and the number of iterations at that instant.
    private var latest: (instant: HostInstant, count: Int)?
    /// Whether the limit was exceeded: signals are ignored from then on, so that the test ends.
    private var isBusy = false
    /// Called before each iteration.
    var willRun: ((PlaybackEngine) -> Void)?

    /// Makes an iteration due. A test that calls the engine skips the mailbox, whose signal a caller's command raises.
    mutating func wake() { (due, latest) = (nil, nil) }

    /// Runs an iteration if one is due; returns true if it did.
    mutating func runIfDue(_ core: PlaybackEngine, at now: HostInstant) -> Bool {
        let isSignalled = core.mailbox.signal.tryWait() && !isBusy
        if !isSignalled, let due, now < due { return false }
        core.mailbox.signal.clear()
        willRun?(core)
        _ = core.runIteration()
        due = now.advanced(by: core.restingTime)
        let count = latest?.instant == now ? latest!.count + 1 : 1
        latest = (now, count)
        if count > Self.maxIterations, !isBusy {
            isBusy = true
            Issue.record("the engine raises its own signal in each iteration at \(core.state.position)")
        }
        return true
    }
}
