internal import MediaCore
internal import Synchronization

/// Monitors the timeline for observers and for actions at media times. Any thread.
///
/// The timeline is traversed without gaps or overlaps: each step covers the range from the last one to now, under the
/// segments in effect there. Calls are made by `step` only, never by the thread that changes the timeline.
final class TimeObservation: Sendable {
    /// An action that is performed once when the timeline has reached a media time, by playback or by a seek.
    private struct Alarm: Sendable {
        var time: Int64
        var fire: @Sendable () -> Void
    }

    private struct Watcher: Sendable {
        weak var observer: TimeObserver?
    }

    /// Guarded by the lock `state`.
    private struct State {
        var snapshot: TimebaseSnapshot
        /// The host instant up to which the timeline was traversed.
        var cursor: HostInstant
        /// Whether the timeline starts at the media time of the cursor, so that an observer of exactly that time is
        /// called.
        var includesCursor = true
        var watchers: [Watcher] = []
        var alarms: [Alarm] = []
        /// The observers that commands have accessed; released by the next step.
        var accessed: [TimeObserver] = []
        var isStopping = false
    }

    /// A smaller step is no discontinuity: media times are rounded where segments meet. In nanoseconds.
    private static let smallestJump: Int64 = 1_000_000
    /// The minimum interval of steps, however short an observer's interval is.
    private static let shortestStep: Duration = .milliseconds(5)

    private let timebase: Timebase
    private let state: Lock<State>
    private let signal = Signal()
    private let thread = Lock<WorkerThread?>(nil)
    /// Whether no thread was available, so that the timeline's service calls `step`.
    private let isOrphaned = Atomic<Bool>(false)
    /// Serializes the steps of the service.
    private let execution = Lock(CriticalSection())

    init(timebase: Timebase) {
        self.timebase = timebase
        state = Lock(State(snapshot: timebase.snapshot, cursor: timebase.clock.now))
    }

    /// Accesses the state. Observers are released outside of the lock only: an observer's end releases objects of the
    /// application, which may use this one.
    private func withState<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, observers) = state.withLock { state in
            let observers = state.watchers.map(\.observer)
            return (body(&state), observers)
        }
        withExtendedLifetime(observers) {}
        return result
    }

    // MARK: Members

    func add(_ observer: TimeObserver, startsThread: Bool) {
        withState { state in
            // The range before does not concern a new observer.
            account(&state, upTo: timebase.clock.now)
            state.watchers.append(Watcher(observer: observer))
        }
        wake(startsThread: startsThread)
    }

    func remove(_ observer: TimeObserver) {
        observer.cancel()
        withState { state in
            state.watchers.removeAll { $0.observer == nil || $0.observer === observer }
        }
    }

    /// Adds an action at a media time.
    ///
    /// - Parameter fire: Called on the thread that calls `step`.
    func addAlarm(at time: MediaTime, startsThread: Bool, fire: @escaping @Sendable () -> Void) {
        state.withLock { $0.alarms.append(Alarm(time: time.nanoseconds, fire: fire)) }
        wake(startsThread: startsThread)
    }

    /// Covers the range up to a change of the timeline. Called by the commanding thread after the publication.
    ///
    /// It releases no observer: the end of one may run code of the application, which may issue the next command.
    func timelineChanged(to next: TimebaseSnapshot, at now: HostInstant) {
        let isWatched = state.withLock { state -> Bool in
            for case let observer? in state.watchers.map(\.observer)
            where !state.accessed.contains(where: { $0 === observer }) { state.accessed.append(observer) }
            account(&state, upTo: now)
            change(&state, from: state.snapshot.segment(at: now), to: next.segment(at: now), at: now)
            state.snapshot = next
            return !state.watchers.isEmpty || !state.alarms.isEmpty
        }
        if isWatched { signal.raise() }
    }

    /// Ends the thread, if any, without waiting for it.
    func stop() {
        state.withLock { $0.isStopping = true }
        signal.raise()
    }

    private func wake(startsThread: Bool) {
        if startsThread {
            thread.withLock { thread in
                guard thread == nil else { return }
                // ignored: without a thread the feeders call the observers (`isOrphaned`).
                thread = try? WorkerThread.start(name: "time observers") { self.run() }
                isOrphaned.store(thread == nil, ordering: .relaxed)
            }
        }
        signal.raise()
    }

    private func run() {
        while !state.withLock({ $0.isStopping }) {
            if let next = step() { signal.wait(until: next) } else { signal.wait() }
            signal.clear()
        }
    }

    // MARK: Steps

    /// Calls `step` if there is no thread: observers are then called late instead of never.
    func stepIfOrphaned() {
        guard isOrphaned.load(ordering: .relaxed) else { return }
        _ = execution.withLockIfAvailable { _ in step() }
    }

    /// Performs due calls; returns when the next step is due unless the timeline changes, nil if never.
    func step() -> HostInstant? {
        let now = timebase.clock.now
        // Released here, outside of the lock: an observer whose last reference this was is not called.
        _ = state.withLock { state in
            defer { state.accessed = [] }
            return state.accessed
        }
        let (observers, alarms) = withState { state in
            account(&state, upTo: now)
            state.watchers.removeAll { $0.observer == nil }
            let time = state.snapshot.mediaTime(at: now).nanoseconds
            let due = state.alarms.filter { $0.time <= time }
            if !due.isEmpty { state.alarms.removeAll { $0.time <= time } }
            return (state.watchers.compactMap(\.observer), due)
        }
        for alarm in alarms { alarm.fire() }
        for observer in observers { observer.deliver(timebase) }
        if observers.contains(where: \.isDue) { return now }
        return withState { nextInstant($0) }
    }

    private func nextInstant(_ state: State) -> HostInstant? {
        if state.watchers.isEmpty, state.alarms.isEmpty { return nil }
        let segment = state.snapshot.segment(at: state.cursor)
        var next = state.snapshot.scheduled.flatMap { $0.hostAnchor > state.cursor ? $0.hostAnchor : nil }
        guard segment.rate > 0 else { return next }
        let time = segment.mediaTime(at: state.cursor).nanoseconds
        var nearest = state.alarms.map(\.time).min()
        for watcher in state.watchers {
            if let other = watcher.observer?.next(after: time) { nearest = min(nearest ?? other, other) }
        }
        guard let nearest, let instant = segment.hostInstant(of: MediaTime(nanoseconds: nearest)) else { return next }
        // A rounded instant may precede its media time by a nanosecond; a step there would find nothing and repeat.
        let safe = max(instant.advanced(by: .microseconds(1)), state.cursor.advanced(by: Self.shortestStep))
        next = next.map { min($0, safe) } ?? safe
        return next
    }

    /// Traverses the timeline from the cursor to an instant, across a scheduled segment.
    private func account(_ state: inout State, upTo now: HostInstant) {
        guard now > state.cursor else { return }
        if let next = state.snapshot.scheduled, next.hostAnchor > state.cursor, next.hostAnchor <= now {
            pass(&state, state.snapshot.current, upTo: next.hostAnchor)
            change(&state, from: state.snapshot.current, to: next, at: next.hostAnchor)
            state.snapshot.current = next
            state.snapshot.scheduled = nil
        }
        pass(&state, state.snapshot.segment(at: now), upTo: now)
    }

    /// Notifies observers of a traversed range within a segment.
    private func pass(_ state: inout State, _ segment: TimebaseSegment, upTo instant: HostInstant) {
        defer { state.cursor = instant }
        guard segment.rate > 0, instant > state.cursor else { return }
        let start = segment.mediaTime(at: state.cursor).nanoseconds
        let end = segment.mediaTime(at: instant).nanoseconds
        let includesStart = state.includesCursor
        for watcher in state.watchers { watcher.observer?.traverse(from: start, to: end, includesStart: includesStart) }
        state.includesCursor = false
    }

    /// Notifies observers of a discontinuity, a start or a stop.
    private func change(
        _ state: inout State, from old: TimebaseSegment, to new: TimebaseSegment, at instant: HostInstant
    ) {
        let distance = (new.mediaTime(at: instant) - old.mediaTime(at: instant)).nanoseconds
        let isJump = distance.magnitude > UInt64(Self.smallestJump)
        if isJump { state.includesCursor = true }
        guard isJump || (old.rate == 0) != (new.rate == 0) else { return }
        for watcher in state.watchers { watcher.observer?.recordChange() }
    }
}
