public import MediaCore
internal import Synchronization

/// Controls the timebase and thereby every renderer: one media time, one rate, one start for all.
///
/// All methods are callable from any thread, also from a time observer; commands are serialized. The timeline is
/// stopped until the first `setRate`.
public final class RenderSynchronizer: Sendable {
    /// An object that is notified of changes of the timeline.
    public protocol Follower: AnyObject, Sendable {
        /// Applies a changed timeline. Called on the commanding thread, in the order of the changes; must not block.
        ///
        /// Commands wait until all followers have returned. From here the synchronizer must be commanded on another
        /// thread, and followers, this one too, added and removed there.
        func timebaseDidChange(_ snapshot: TimebaseSnapshot)
        /// How far ahead a start must be announced for this follower to meet it.
        var startLead: Duration { get }
        /// How far ahead a stop must be announced so that delivered media is not cut.
        var stopLead: Duration { get }
    }

    /// The timeline that this object controls.
    public let timebase: Timebase
    /// The clock of the timeline.
    public let clock: any HostClock
    let events: EventLog?
    /// The log for the events of this timeline's outputs; an unread one if none was given.
    package var recorder: EventLog { events ?? EventLog(clock: clock, minimumCapacity: 2) }
    // Copied before each round of calls: a lead may be asked for while a follower is added.
    private let followers = Lock<[any Follower]>([])
    /// Serializes commands. Taken before `roster`.
    let command = Lock(CriticalSection())
    /// The renderers added by `addRenderer`, and the pending start.
    let roster = Lock(Roster())
    /// Whether a start is pending or announced; feeders read it before they lock the roster. Stored with release under
    /// the command lock.
    let isStartOpen = Atomic<Bool>(false)
    /// When the next service is due, in nanoseconds of the clock. Stored by any thread.
    let dueUpkeep = Atomic<Int64>(0)
    let observation: TimeObservation
    /// The external clock that leads the timeline, if any.
    let leader = Lock(Leader())

    /// Creates a synchronizer whose timeline is stopped at zero.
    public init(clock: any HostClock = MonotonicClock(), events: EventLog? = nil) {
        self.clock = clock
        self.events = events
        timebase = Timebase(clock: clock)
        observation = TimeObservation(timebase: timebase)
        roster.withLock { $0.suspensions = SuspensionWatch(clock) }
    }

    deinit {
        observation.stop()
        let (entries, isRunning) = roster.withLock { ($0.entries, $0.rate > 0) }
        // They may be added to another synchronizer.
        for entry in entries { entry.renderer.detach { entry.removal?.completion?(true) } }
        guard !entries.isEmpty, isRunning, events == nil else { return }
        Complaint.write("RenderSynchronizer: it was released while its renderers play; keep a reference to it")
    }

    /// Whether the clock advances in real time, so that observers, removals and feeders have threads.
    var isRealTime: Bool { clock.isRealTime }

    /// Performs due work with a manual clock (observers, removals); returns when to call again.
    @discardableResult
    package func performDueWork() -> HostInstant? {
        reconsiderStart()
        return observation.step()
    }

    /// Adds a follower and notifies it of the current timeline. Any thread.
    public func add(_ follower: any Follower) {
        command.withLock { _ in
            followers.withLock { $0.append(follower) }
            follower.timebaseDidChange(timebase.snapshot)
        }
    }

    /// Removes a follower; it receives no further notification. Any thread.
    public func remove(_ follower: any Follower) {
        command.withLock { _ in followers.withLock { $0.removeAll { $0 === follower } } }
    }

    /// The lead that a start requires for the slowest follower. Any thread.
    public var startLead: Duration { followers.withLock { $0 }.reduce(.zero) { max($0, $1.startLead) } }

    /// The lead that a stop requires so that audio and video end together. Any thread.
    public var stopLead: Duration { followers.withLock { $0 }.reduce(.zero) { max($0, $1.stopLead) } }

    /// Returns the current media time. Any thread.
    public func currentTime() -> MediaTime { timebase.currentTime }

    /// The requested rate, also while its start is pending or scheduled. Setting it calls `setRate(_:)`. Any thread.
    public var rate: Float {
        get { roster.withLock { $0.rate } }
        set { setRate(newValue) }
    }

    /// The requested rate once it is in effect: 0 until a start occurs. `timebase.rate` differs only by steering. Any
    /// thread.
    public var effectiveRate: Double { timebase.snapshot.segment(at: clock.now).speed }

    /// Sets rate and media time: from `hostInstant` on, `time` is presented and media time advances at `rate`. Any
    /// thread.
    ///
    /// Without a host instant, a synchronizer with renderers waits until all of them can follow. A start waits for
    /// sufficient media (`delaysRateChangeUntilHasSufficientMediaData`) and for the slowest output's lead. A change of
    /// speed and a pause wait only for the lead, and a seek while stopped for nothing. With followers only, the command
    /// takes effect at once.
    ///
    /// - Parameters:
    ///   - rate: 0 stops; `AudioRenderer.speedRange` for films. With renderers it is clamped to that range.
    ///   - time: Nil: the media time of the current timeline at that instant.
    ///   - hostInstant: Applied exactly; a past instant counts from there. Before a future instant the current timeline
    ///     remains in effect. A later command replaces a scheduled one and a pending start.
    /// - Returns: The published timeline, without the start if that is pending.
    @discardableResult
    public func setRate(_ rate: Float, time: MediaTime? = nil, atHostTime hostInstant: HostInstant? = nil)
        -> TimebaseSnapshot
    {
        command.withLock { _ in change(to: rate, time, at: hostInstant) }
    }

    /// Starts by appointment: `time` is presented at `appointment`, and media time advances at `rate` from there. Any
    /// thread.
    ///
    /// Waits like a start without a host instant. If the renderers become ready too late, playback starts as soon as
    /// possible at the media time that the appointed timeline has reached.
    @discardableResult
    package func setRate(_ rate: Float, time: MediaTime, byAppointment appointment: HostInstant) -> TimebaseSnapshot {
        command.withLock { _ in
            let (isCrowded, delays, rate) = ask(for: rate)
            forgetStart()
            guard isCrowded, rate > 0 else { return publish(Double(rate), time, at: appointment) }
            let still = publish(0, time, at: nil)
            return beginOrWait(PendingStart(rate: rate, time: time, appointment: appointment), delays: delays) ?? still
        }
    }

    /// Publishes a pending start if its wait is over. The renderers of this library call it after each change; those of
    /// an application's own kind must call it when their `startWait` or `earliestStart` has changed. Costs one atomic
    /// load if no start is pending. Any thread, except in `timebaseDidChange`.
    public func reconsiderStart() {
        guard isStartOpen.load(ordering: .acquiring) else { return }
        command.withLock { _ in checkStart() }
    }

    // MARK: Under the command lock

    /// Stores a requested rate. The first one that is not supported is reported to the developer.
    private func ask(for wanted: Float) -> (isCrowded: Bool, delays: Bool, rate: Float) {
        let asked = roster.withLock { $0.ask(for: wanted) }
        if asked.isReported {
            Complaint.write("RenderSynchronizer: the rate \(wanted) is not supported; \(asked.rate) is used")
        }
        return (asked.isCrowded, asked.delays, asked.rate)
    }

    /// Performs `setRate`.
    @discardableResult
    func change(to rate: Float, _ time: MediaTime?, at hostInstant: HostInstant?) -> TimebaseSnapshot {
        let (isCrowded, delays, rate) = ask(for: rate)
        forgetStart()
        guard hostInstant == nil, isCrowded else { return publish(Double(rate), time, at: hostInstant) }
        return rate > 0 ? begin(rate, time, delays: delays) : halt(at: time)
    }

    private func begin(_ rate: Float, _ time: MediaTime?, delays: Bool) -> TimebaseSnapshot {
        let stands = timebase.snapshot.upcoming.rate == 0
        // A running timeline that only changes its speed already has its media.
        guard stands || time != nil else { return publish(Double(rate), time, at: earliestStart) }
        let still = time.map { publish(0, $0, at: nil) }
        return beginOrWait(PendingStart(rate: rate, time: time), delays: delays) ?? still ?? timebase.snapshot
    }

    private func halt(at time: MediaTime?) -> TimebaseSnapshot {
        if time != nil || timebase.rate == 0 { return publish(0, time, at: nil) }
        return publish(0, nil, at: clock.now.advanced(by: stopLead))
    }

    /// Publishes a timeline segment and notifies observers and followers; nil keeps the current media time or starts
    /// now.
    @discardableResult
    func publish(_ rate: Double, _ time: MediaTime?, at hostInstant: HostInstant?) -> TimebaseSnapshot {
        let now = clock.now
        let old = timebase.snapshot
        let anchor = hostInstant ?? now
        // The current segment continues until the new one starts; a scheduled one that has not started is dropped.
        var next = TimebaseSnapshot(
            current: old.segment(at: now), scheduled: nil, generation: old.generation &+ 1)
        let mediaTime = time ?? next.current.mediaTime(at: anchor)
        let segment = TimebaseSegment(mediaAnchor: mediaTime, hostAnchor: anchor, rate: rate)
        if anchor > now { next.scheduled = segment } else { next.current = segment }
        timebase.publish(next)
        observation.timelineChanged(to: next, at: now)
        events?.append(
            .anchor(media: mediaTime, host: anchor, rate: segment.rate, generation: next.generation), at: now)
        for follower in followers.withLock({ $0 }) { follower.timebaseDidChange(next) }
        return next
    }
}
