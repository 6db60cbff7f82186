public import MediaCore

/// Commands the timebase, and through it every renderer: one film position, one rate, one start for all.
///
/// All methods may be called from any thread; commands are serialised. Time never runs before a first `setRate`.
public final class RenderSynchronizer: Sendable {
    /// Something that follows the timeline and must know when it changes.
    public protocol Follower: AnyObject, Sendable {
        /// The timeline changed. Called on the commanding thread; must return at once.
        func timebaseDidChange(_ snapshot: TimebaseSnapshot)
        /// How far in the future a start must lie so that this follower can keep it.
        var startLead: Duration { get }
        /// How far in the future a stop must lie so that what was handed over is not cut.
        var stopLead: Duration { get }
    }

    public let timebase: Timebase
    public let clock: any HostClock
    let events: EventLog?
    // Copied before each round of calls, so that a follower may add or remove one.
    private let followers = Lock<[any Follower]>([])
    let command = Lock<Void>(())

    public init(clock: any HostClock = MonotonicClock(), events: EventLog? = nil) {
        self.clock = clock
        self.events = events
        timebase = Timebase(clock: clock)
    }

    /// Adds a follower and tells it the present timeline.
    public func add(_ follower: any Follower) {
        command.withLock { _ in
            followers.withLock { $0.append(follower) }
            follower.timebaseDidChange(timebase.snapshot)
        }
    }

    /// Removes a follower; it hears of no further change.
    public func remove(_ follower: any Follower) {
        command.withLock { _ in followers.withLock { $0.removeAll { $0 === follower } } }
    }

    /// The lead that a start needs so that the slowest follower can keep it.
    public var startLead: Duration { followers.withLock { $0.reduce(.zero) { max($0, $1.startLead) } } }

    /// The lead that a stop needs so that sound and picture end at one moment.
    public var stopLead: Duration { followers.withLock { $0.reduce(.zero) { max($0, $1.stopLead) } } }

    /// The film moment perceived now.
    public var currentTime: MediaTime { timebase.currentTime }

    /// The rate in force now, as it was commanded.
    public var rate: Double { timebase.snapshot.segment(at: clock.now).speed }

    /// Sets rate and film time together: from `hostInstant` on, `time` is perceived there and film passes at `rate`.
    ///
    /// - Parameters:
    ///   - rate: 0 stands still; 0.5…2 for films.
    ///   - time: nil keeps the film moment that the present line gives for that instant.
    ///   - hostInstant: nil or a past moment takes effect at once. Until a future moment the present line stays in
    ///     force, and a later command replaces a scheduled one.
    @discardableResult
    public func setRate(_ rate: Double, time: MediaTime? = nil, atHostTime hostInstant: HostInstant? = nil)
        -> TimebaseSnapshot
    {
        command.withLock { _ in
            let now = clock.now
            let old = timebase.snapshot
            let anchor = hostInstant ?? now
            // What is in force now continues until the new stretch begins; a scheduled one that never began is gone.
            var next = TimebaseSnapshot(
                current: old.segment(at: now), scheduled: nil, generation: old.generation &+ 1)
            let moment = time ?? next.current.mediaTime(at: anchor)
            let segment = TimebaseSegment(mediaAnchor: moment, hostAnchor: anchor, rate: rate)
            if anchor > now { next.scheduled = segment } else { next.current = segment }
            timebase.publish(next)
            events?.note(.anchor(media: moment, host: anchor, rate: segment.rate, generation: next.generation), at: now)
            for follower in followers.withLock({ $0 }) { follower.timebaseDidChange(next) }
            return next
        }
    }
}
