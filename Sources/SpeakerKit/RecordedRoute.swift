public import MediaCore
public import SyncRendering

/// One route under a test of the renderers' contract: renderer, synchronizer, output, passing time and a recording of
/// what was audible. The same bodies (`RouteContract`) run on a virtual card in virtual time, on a real sound card and
/// on speakers. Used by one thread.
public protocol RecordedRoute: AnyObject {
    /// The name in messages.
    var name: String { get }
    /// The synchronizer, on the route's clock.
    var synchronizer: RenderSynchronizer { get }
    /// The renderer, added to the synchronizer and with the output under test.
    var renderer: AudioRenderer { get }
    /// Queue for the closures that are passed to renderers.
    var queue: any MediaRequestQueue { get }
    /// What the route guarantees.
    var promises: RoutePromises { get }
    /// Runs until an instant of the route's clock.
    func run(until instant: HostInstant)
    /// Adds the removed renderer to its synchronizer again.
    func addAgain()
    /// Ends the route and returns everything that was audible. Call once.
    func finish() throws -> OutputCapture
}

/// A kind of route, of which each body of the contract opens one.
public protocol OpenableRoute {
    /// Opens the route.
    ///
    /// - Parameters:
    ///   - seconds: The length of media that the body plays; limits a recording.
    ///   - isExact: Whether each frame is measured: a receiver that corrects its clock by dropping and repeating
    ///     frames does not.
    func open(seconds: Double, isExact: Bool) throws -> any RecordedRoute
}

/// Figures that a kind of route guarantees.
public struct RoutePromises: Sendable {
    /// A partial flush requested with this lead succeeds.
    public var flushLead: Duration
    /// A partial flush with a longer lead is never refused.
    public var maxFlushLead: Duration
    /// A partial flush with this lead is refused.
    public var refusedFlushLead: Duration
    /// How far ahead of the playhead the renderer requests audio, in seconds of media.
    public var depth: ClosedRange<Double>
    /// Factor for bounds that are exact in virtual time; 3 is usual with real devices.
    public var factor: Double
    /// Maximum deviation of the audible start from its instant, in milliseconds, on a quiet machine.
    public var startError: Double
    /// Maximum time from a change of speed until it is audible.
    public var restart: Duration

    /// Creates promises. The defaults are those of a sound card.
    public init(
        flushLead: Duration = .milliseconds(350), maxFlushLead: Duration? = nil,
        refusedFlushLead: Duration = .milliseconds(60), depth: ClosedRange<Double> = 0.3...3, factor: Double = 1,
        startError: Double = 2, restart: Duration = .milliseconds(600)
    ) {
        self.flushLead = flushLead
        self.maxFlushLead = maxFlushLead ?? flushLead
        self.refusedFlushLead = refusedFlushLead
        self.depth = depth
        self.factor = factor
        self.startError = startError
        self.restart = restart
    }
}

extension RecordedRoute {
    /// Adds the renderer to the synchronizer.
    public func addAgain() { synchronizer.addRenderer(renderer) }

    /// The current instant of the route's clock.
    public var now: HostInstant { synchronizer.clock.now }

    /// Runs for a duration.
    public func run(for duration: Duration) { run(until: now.advanced(by: duration)) }

    /// Runs until a condition holds; returns false on timeout.
    public func wait(atMost timeout: Duration, until isSo: () -> Bool) -> Bool {
        let limit = now.advanced(by: timeout)
        while !isSo() {
            guard now < limit else { return false }
            run(for: .milliseconds(5))
        }
        return true
    }

    /// Runs until a media time is audible.
    public func run(untilHeard moment: MediaTime) {
        guard let instant = synchronizer.timebase.snapshot.upcoming.hostInstant(of: moment) else { return }
        run(until: instant)
    }
}
