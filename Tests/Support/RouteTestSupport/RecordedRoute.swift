import MediaCore
import SyncRendering

/// One route as a test of the renderers' contract sees it: a renderer at a synchronizer, an output behind it, time that
/// passes, and a recording of what was heard. The same bodies (`RouteContract`) run on a card of numbers in virtual time,
/// on a real sound card and on speakers.
protocol RecordedRoute: AnyObject {
    var name: String { get }
    var synchronizer: RenderSynchronizer { get }
    var renderer: AudioRenderer { get }
    /// For closures that renderers are given.
    var queue: any MediaRequestQueue { get }
    var promises: RoutePromises { get }
    /// Lets time pass until then.
    func run(until instant: HostInstant)
    /// Puts the renderer back behind the synchronizer that it was removed from.
    func addAgain()
    /// Ends the route; everything that was heard. Once.
    func finish() throws -> Recording
}

/// What a kind of route owes a film.
struct RoutePromises {
    /// A flush from a film time on succeeds when asked for so long ahead.
    var flushLead: Duration
    /// … and is never refused for a lead above this.
    var mostFlushLead: Duration
    /// How far ahead of the playhead the renderer asks for sound, in seconds of film, as far as there is any.
    var depth: ClosedRange<Double>
    /// By what bounds that are exact in virtual time are multiplied.
    var factor: Double
    /// What the start of the sound may be away from its instant, in milliseconds, on a quiet machine.
    var startError: Double
}

extension RecordedRoute {
    func addAgain() { synchronizer.addRenderer(renderer) }

    var now: HostInstant { synchronizer.clock.now }

    func run(for duration: Duration) { run(until: now.advanced(by: duration)) }

    /// Lets time pass until something is so; false when the patience was over before.
    func wait(atMost patience: Duration, until isSo: () -> Bool) -> Bool {
        let limit = now.advanced(by: patience)
        while !isSo() {
            guard now < limit else { return false }
            run(for: .milliseconds(5))
        }
        return true
    }

    /// Lets time pass until a film moment is heard.
    func run(untilHeard moment: MediaTime) {
        guard let instant = synchronizer.timebase.snapshot.upcoming.hostInstant(of: moment) else { return }
        run(until: instant)
    }
}
