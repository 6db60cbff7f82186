public import MediaCore
internal import Synchronization

/// Commands the timebase, and through it every renderer: one film position, one rate, one start for all.
///
/// All methods may be called from any thread, also from inside a time observer; commands are serialised. Time never
/// runs before a first `setRate`.
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
    /// Where outputs of this timeline note what happens; one that nobody reads when none was given.
    package var recorder: EventLog { events ?? EventLog(clock: clock, minimumCapacity: 2) }
    // Copied before each round of calls, so that a follower may add or remove one.
    private let followers = Lock<[any Follower]>([])
    let command = Lock(Turn())
    /// Who was added by `addRenderer`, and what waits for them.
    let roster = Lock(Roster())
    /// A start waits, or was announced and is not perceived yet: read by feeders before they ask for the roster.
    let isStartOpen = Atomic<Bool>(false)
    /// When the line is looked after next, in nanoseconds of the clock.
    let dueUpkeep = Atomic<Int64>(0)
    let observation: TimeObservation
    /// Which clock leads the line beside those of the outputs.
    let leader = Lock(Leader())

    public init(clock: any HostClock = MonotonicClock(), events: EventLog? = nil) {
        self.clock = clock
        self.events = events
        timebase = Timebase(clock: clock)
        observation = TimeObservation(timebase: timebase)
        roster.withLock { $0.suspensions = SuspensionWatch(clock) }
    }

    deinit { observation.stop() }

    /// Time passes without anybody turning it: observers, removals and feeders have threads of their own.
    var runsByItself: Bool { clock.runsByItself }

    /// For time that is turned by hand: does what is due now (observers, removals) and says when to come back.
    @discardableResult
    package func settle() -> HostInstant? {
        reconsiderStart()
        return observation.step()
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
    public func currentTime() -> MediaTime { timebase.currentTime }

    /// The rate that was asked for, also while that start waits or lies ahead. Setting it is `setRate(_:)`.
    public var rate: Float {
        get { roster.withLock { $0.rate } }
        set { setRate(newValue) }
    }

    /// The rate at which film passes now, as it was asked for: 0 until a start is perceived. `timebase.rate` is the same but
    /// for the bend towards a clock that is followed.
    public var effectiveRate: Double { timebase.snapshot.segment(at: clock.now).speed }

    /// Sets rate and film time together: from `hostInstant` on, `time` is perceived there and film passes at `rate`.
    ///
    /// Without a host instant, a synchronizer with renderers acts as soon as all of them can keep up with it: a start
    /// waits for sufficient material (`delaysRateChangeUntilHasSufficientMediaData`) and for the slowest output's lead,
    /// a change of speed and a pause only for the lead, and a jump to a standstill for nothing. Where there are only
    /// followers it takes effect at once.
    ///
    /// - Parameters:
    ///   - rate: 0 stands still; `AudioRenderer.speedRange` for films, and where there are renderers held to that.
    ///   - time: nil keeps the film moment that the present line gives for that instant.
    ///   - hostInstant: obeyed as it is; a past moment counts from there. Until a future moment the present line stays in
    ///     force, and a later command replaces a scheduled one, and one that waits for material.
    /// - Returns: the timeline as it was published; without the start, where that waits.
    @discardableResult
    public func setRate(_ rate: Float, time: MediaTime? = nil, atHostTime hostInstant: HostInstant? = nil)
        -> TimebaseSnapshot
    {
        command.withLock { _ in
            let (isCrowded, delays, rate) = roster.withLock { $0.ask(for: rate) }
            forgetStart()
            guard hostInstant == nil, isCrowded else { return publish(Double(rate), time, at: hostInstant) }
            return rate > 0 ? begin(rate, time, delays: delays) : halt(at: time)
        }
    }

    /// Starts by appointment: `time` is to be perceived at `appointment`, and film passes at `rate` from there.
    ///
    /// Waits as a start without a host instant does. Is everybody ready only when the instant can no longer be kept, film begins where
    /// that line has come to by then, as soon as it can.
    @discardableResult
    package func setRate(_ rate: Float, time: MediaTime, byAppointment appointment: HostInstant) -> TimebaseSnapshot {
        command.withLock { _ in
            let (isCrowded, delays, rate) = roster.withLock { $0.ask(for: rate) }
            forgetStart()
            guard isCrowded, rate > 0 else { return publish(Double(rate), time, at: appointment) }
            let still = publish(0, time, at: nil)
            return beginOrWait(PendingStart(rate: rate, time: time, appointment: appointment), delays: delays) ?? still
        }
    }

    /// Starts a wait that has an end now. Feeders call this whenever something moved; it costs one atomic load.
    func reconsiderStart() {
        guard isStartOpen.load(ordering: .acquiring) else { return }
        command.withLock { _ in lookAfterStart() }
    }

    // MARK: Under the command lock

    private func begin(_ rate: Float, _ time: MediaTime?, delays: Bool) -> TimebaseSnapshot {
        let stands = timebase.snapshot.upcoming.rate == 0
        // A running film that only changes its speed has what it needs.
        guard stands || time != nil else { return publish(Double(rate), time, at: earliestStart) }
        let still = time.map { publish(0, $0, at: nil) }
        return beginOrWait(PendingStart(rate: rate, time: time), delays: delays) ?? still ?? timebase.snapshot
    }

    private func halt(at time: MediaTime?) -> TimebaseSnapshot {
        if time != nil || timebase.rate == 0 { return publish(0, time, at: nil) }
        return publish(0, nil, at: clock.now.advanced(by: stopLead))
    }

    @discardableResult
    func publish(_ rate: Double, _ time: MediaTime?, at hostInstant: HostInstant?) -> TimebaseSnapshot {
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
        observation.lineChanged(to: next, at: now)
        events?.note(.anchor(media: moment, host: anchor, rate: segment.rate, generation: next.generation), at: now)
        for follower in followers.withLock({ $0 }) { follower.timebaseDidChange(next) }
        return next
    }
}
