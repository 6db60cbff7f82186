internal import MediaCore

/// Notifies observers of properties and events on its own thread, which exists from the first observation on. Any
/// thread.
final class ControlObserver: Sendable {
    private struct State {
        var observations = ControlObservations()
        var thread: WorkerThread?
        var isClosed = false
    }

    private let publisher: PlayerStatePublisher
    private let state = Lock(State())

    init(_ board: PlayerStatePublisher) { self.publisher = board }

    /// Adds an observation, and starts the thread if it is the first.
    ///
    /// - Throws: `unavailable` if there is no thread.
    func add(_ add: (inout ControlObservations) -> Int) throws(ControlError) -> Int {
        let number = try state.withLock { (state) throws(ControlError) -> Int in
            guard !state.isClosed else { throw PlayerControl.ended }
            if state.thread == nil {
                do throws(ExhaustionError) {
                    state.thread = try WorkerThread.start(name: "control") { [self] in run() }
                } catch { throw ControlError(.unavailable, error.message) }
            }
            publisher.changes.setObserved(true)
            return add(&state.observations)
        }
        publisher.changes.raise()
        return number
    }

    /// Removes an observation; a call of its handler may be in progress.
    func remove(_ number: Int) {
        state.withLock { state in
            state.observations.remove(number)
            if state.observations.isEmpty { publisher.changes.setObserved(false) }
        }
    }

    /// Ends the thread. Must not be called by a handler.
    func close() {
        let thread = state.withLock { state in
            (state.isClosed, state.observations) = (true, ControlObservations())
            return state.thread.take()
        }
        publisher.changes.setObserved(false)
        publisher.changes.signal.raise()
        thread?.join()
    }

    private func run() {
        let signal = publisher.changes.signal
        var tick: HostInstant?
        while true {
            let isTick = tick.map { !signal.wait(until: $0) } ?? false
            if tick == nil { signal.wait() }
            // Changes from here on raise it again. A tick clears nothing: a change since its deadline must be compared
            // completely.
            if !isTick { signal.clear() }
            if state.withLock({ $0.isClosed }) { return }
            tick = notify(isTick: isTick) ? .now.advanced(by: ControlObservations.interval) : nil
            if !isTick { HostInstant.now.advanced(by: ControlObservations.minInterval).sleep() }
        }
    }

    /// Calls the handlers of what has changed. Returns whether a tick is required.
    func notify(isTick: Bool) -> Bool {
        let now = publisher.state
        let events = publisher.changes.consumeEvents()
        // Compared without the lock: a playlist can have thousands of items. This thread alone changes the values.
        var observations = state.withLock { $0.observations }
        let changes = observations.changes(in: now, isTick: isTick)
        state.withLock { $0.observations.adoptValues(of: observations) }
        for event in events { for handler in observations.eventHandlers { handler(event) } }
        for (handler, value) in changes { handler(value) }
        return observations.needsTicks(in: now)
    }
}

/// Signals changes of the player to an observer, if there is one. Any thread.
final class ControlChanges: Sendable {
    /// The maximum number of events that wait for the observer; the oldest is dropped first.
    private static let maxEvents = 256

    private let events = Lock<(isObserved: Bool, waiting: [PlayerEvent])>((false, []))
    /// Waited for by the observer.
    let signal = Signal()

    func setObserved(_ isObserved: Bool) { events.withLock { $0 = (isObserved, isObserved ? $0.waiting : []) } }

    /// Signals that properties may have changed.
    func raise() { if events.withLock({ $0.isObserved }) { signal.raise() } }

    /// Passes an event to the observer.
    func report(_ event: PlayerEvent) {
        let isObserved = events.withLock { events in
            guard events.isObserved else { return false }
            if events.waiting.count == Self.maxEvents { events.waiting.removeFirst() }
            events.waiting.append(event)
            return true
        }
        if isObserved { signal.raise() }
    }

    func consumeEvents() -> [PlayerEvent] {
        events.withLock { events in
            defer { events.waiting = [] }
            return events.waiting
        }
    }
}
