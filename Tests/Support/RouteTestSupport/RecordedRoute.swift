import MediaCore
import SyncRendering

/// One route under a test of the renderers' contract: renderer, synchronizer, output, passing time and a recording of
/// what was audible. The same bodies (`RouteContract`) run on a virtual card in virtual time, on a real sound card and
/// on speakers.
protocol RecordedRoute: AnyObject {
    var name: String { get }
    var synchronizer: RenderSynchronizer { get }
    var renderer: AudioRenderer { get }
    /// Queue for the closures that are passed to renderers.
    var queue: any MediaRequestQueue { get }
    var promises: RoutePromises { get }
    /// Runs until an instant of the route's clock.
    func run(until instant: HostInstant)
    /// Adds the removed renderer to its synchronizer again.
    func addAgain()
    /// Ends the route and returns everything that was audible. Call once.
    func finish() throws -> Recording
}

/// Figures that a kind of route guarantees.
struct RoutePromises {
    /// A partial flush requested with this lead succeeds.
    var flushLead: Duration
    /// A partial flush with a longer lead is never refused.
    var maxFlushLead: Duration
    /// How far ahead of the playhead the renderer requests audio, in seconds of film.
    var depth: ClosedRange<Double>
    /// Factor for bounds that are exact in virtual time.
    var factor: Double
    /// Maximum deviation of the audible start from its instant, in milliseconds, on a quiet machine.
    var startError: Double
    /// Maximum time from a change of speed until it is audible.
    var restart: Duration = .milliseconds(600)
}

extension RecordedRoute {
    func addAgain() { synchronizer.addRenderer(renderer) }

    var now: HostInstant { synchronizer.clock.now }

    func run(for duration: Duration) { run(until: now.advanced(by: duration)) }

    /// Runs until a condition holds; returns false on timeout.
    func wait(atMost timeout: Duration, until isSo: () -> Bool) -> Bool {
        let limit = now.advanced(by: timeout)
        while !isSo() {
            guard now < limit else { return false }
            run(for: .milliseconds(5))
        }
        return true
    }

    /// Runs until a film time is audible.
    func run(untilHeard moment: MediaTime) {
        guard let instant = synchronizer.timebase.snapshot.upcoming.hostInstant(of: moment) else { return }
        run(until: instant)
    }
}
