internal import MediaCore
internal import Synchronization

/// Watches the timeline on behalf of observers and of what is to happen at film moments.
///
/// The film is gone through without gaps or overlaps: each step accounts for everything between the last one and now,
/// under the lines that were in force there. Calls are made by `step` alone, never by the thread that changed the line.
final class TimeObservation: Sendable {
    /// Something that happens once when the film has reached a moment, however it got there.
    private struct Alarm: Sendable {
        var moment: Int64
        var fire: @Sendable () -> Void
    }

    private struct Watcher: Sendable {
        weak var observer: TimeObserver?
    }

    private struct State {
        var line: TimebaseSnapshot
        /// Everything up to here has been accounted for.
        var cursor: HostInstant
        /// Film begins to run at the moment under the cursor: an observer of that very moment is told.
        var includesCursor = true
        var watchers: [Watcher] = []
        var alarms: [Alarm] = []
        var isStopping = false
    }

    /// A step back or forth by less is no jump: where lines meet, moments are rounded.
    private static let smallestJump: Int64 = 1_000_000
    /// Steps are not nearer to each other than this, however short an interval is.
    private static let shortestStep: Duration = .milliseconds(5)

    private let timebase: Timebase
    private let state: Lock<State>
    private let signal = Signal()
    private let thread = Lock<WorkerThread?>(nil)
    /// The system gave no thread: whoever attends to the line steps, one at a time.
    private let isOrphaned = Atomic<Bool>(false)
    private let turn = Lock(Turn())

    init(timebase: Timebase) {
        self.timebase = timebase
        state = Lock(State(line: timebase.snapshot, cursor: timebase.clock.now))
    }

    // MARK: Members

    func add(_ observer: TimeObserver, startsThread: Bool) {
        state.withLock { state in
            // What was before is nothing to a newcomer.
            account(&state, upTo: timebase.clock.now)
            state.watchers.append(Watcher(observer: observer))
        }
        wake(startsThread: startsThread)
    }

    func remove(_ observer: TimeObserver) {
        observer.cancel()
        state.withLock { state in
            state.watchers.removeAll { $0.observer == nil || $0.observer === observer }
        }
    }

    /// - Parameter fire: called on the thread that steps.
    func addAlarm(at moment: MediaTime, startsThread: Bool, fire: @escaping @Sendable () -> Void) {
        state.withLock { $0.alarms.append(Alarm(moment: moment.nanoseconds, fire: fire)) }
        wake(startsThread: startsThread)
    }

    /// The line has changed. Called by the thread that commands, with the line already published.
    func lineChanged(to next: TimebaseSnapshot, at now: HostInstant) {
        let isWatched = state.withLock { state -> Bool in
            account(&state, upTo: now)
            change(&state, from: state.line.segment(at: now), to: next.segment(at: now), at: now)
            state.line = next
            return !state.watchers.isEmpty || !state.alarms.isEmpty
        }
        if isWatched { signal.raise() }
    }

    /// Ends the thread, if there is one, without waiting for it.
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

    /// Called at upkeep: observers are told somewhat late where there is no thread for them, rather than never.
    func stepIfOrphaned() {
        guard isOrphaned.load(ordering: .relaxed) else { return }
        _ = turn.withLockIfAvailable { _ in step() }
    }

    /// Does what is due and says when something is due next, unless the line changes.
    func step() -> HostInstant? {
        let now = timebase.clock.now
        let (observers, alarms) = state.withLock { state in
            account(&state, upTo: now)
            state.watchers.removeAll { $0.observer == nil }
            let moment = state.line.mediaTime(at: now).nanoseconds
            let due = state.alarms.filter { $0.moment <= moment }
            if !due.isEmpty { state.alarms.removeAll { $0.moment <= moment } }
            return (state.watchers.compactMap(\.observer), due)
        }
        for alarm in alarms { alarm.fire() }
        for observer in observers { observer.deliver(timebase) }
        if observers.contains(where: \.isDue) { return now }
        return state.withLock { nextInstant($0) }
    }

    private func nextInstant(_ state: State) -> HostInstant? {
        if state.watchers.isEmpty, state.alarms.isEmpty { return nil }
        let segment = state.line.segment(at: state.cursor)
        var next = state.line.scheduled.flatMap { $0.hostAnchor > state.cursor ? $0.hostAnchor : nil }
        guard segment.rate > 0 else { return next }
        let moment = segment.mediaTime(at: state.cursor).nanoseconds
        var nearest = state.alarms.map(\.moment).min()
        for watcher in state.watchers {
            if let other = watcher.observer?.next(after: moment) { nearest = min(nearest ?? other, other) }
        }
        guard let nearest, let instant = segment.hostInstant(of: MediaTime(nanoseconds: nearest)) else { return next }
        // A rounded instant may lie a nanosecond before its moment; a step there would find nothing and come again.
        let safe = max(instant.advanced(by: .microseconds(1)), state.cursor.advanced(by: Self.shortestStep))
        next = next.map { min($0, safe) } ?? safe
        return next
    }

    private func account(_ state: inout State, upTo now: HostInstant) {
        guard now > state.cursor else { return }
        if let next = state.line.scheduled, next.hostAnchor > state.cursor, next.hostAnchor <= now {
            pass(&state, state.line.current, upTo: next.hostAnchor)
            change(&state, from: state.line.current, to: next, at: next.hostAnchor)
            state.line.current = next
            state.line.scheduled = nil
        }
        pass(&state, state.line.segment(at: now), upTo: now)
    }

    private func pass(_ state: inout State, _ segment: TimebaseSegment, upTo instant: HostInstant) {
        defer { state.cursor = instant }
        guard segment.rate > 0, instant > state.cursor else { return }
        let start = segment.mediaTime(at: state.cursor).nanoseconds
        let end = segment.mediaTime(at: instant).nanoseconds
        let includesStart = state.includesCursor
        for watcher in state.watchers { watcher.observer?.traverse(from: start, to: end, includesStart: includesStart) }
        state.includesCursor = false
    }

    private func change(
        _ state: inout State, from old: TimebaseSegment, to new: TimebaseSegment, at instant: HostInstant
    ) {
        let distance = (new.mediaTime(at: instant) - old.mediaTime(at: instant)).nanoseconds
        let isJump = distance.magnitude > UInt64(Self.smallestJump)
        if isJump { state.includesCursor = true }
        guard isJump || (old.rate == 0) != (new.rate == 0) else { return }
        for watcher in state.watchers { watcher.observer?.noteChange() }
    }
}
