internal import MediaCore
internal import Synchronization

/// A closure that is called for media data on a queue, one call at a time, until it is cancelled.
///
/// `@unchecked Sendable`: `body` was sent here with its captures and is called by `step` only. `phase` admits one call
/// of `step` at a time, and its lock orders each call after the preceding one.
final class MediaDataRequest: @unchecked Sendable {
    private enum Phase: Equatable {
        /// No call is pending; the consumer will report space.
        case idle
        /// A call is scheduled on the queue.
        case scheduled
        /// The closure is running.
        case running
        /// The closure is running, and the consumer reported space meanwhile.
        case runningAskedAgain
        /// The closure supplied nothing; it is called again after a pause.
        case resting
        /// The closure is not called again.
        case cancelled
        /// Stopped while the closure runs; the demand is notified on its return.
        case returning
    }

    /// The pause after a closure supplied nothing. It is short compared to every route's depth. It is long enough to
    /// limit the load of a closure without data for minutes.
    static let pause: Duration = .milliseconds(20)

    private let queue: any MediaRequestQueue
    private let body: () -> Void
    private weak let consumer: (any MediaDataConsumer)?
    /// The state of the calls, guarded by its own lock.
    private let phase = Lock(Phase.idle)
    /// The number of this supplier in the demand. Stored with release by the demand.
    let supplier = Atomic<UInt64>(0)

    /// Creates an idle request.
    init(
        on queue: any MediaRequestQueue, for consumer: any MediaDataConsumer, body: sending @escaping () -> Void
    ) {
        self.queue = queue
        self.consumer = consumer
        self.body = body
    }

    /// Schedules a call of the closure, unless one is already pending.
    ///
    /// - Parameter isUrgent: Whether to call also during the pause of a closure that supplied nothing.
    func ask(isUrgent: Bool = false) {
        let mustSchedule = phase.withLock { phase -> Bool in
            switch phase {
            case .idle: break
            case .resting where isUrgent: break
            case .running:
                phase = .runningAskedAgain
                return false
            default: return false
            }
            phase = .scheduled
            return true
        }
        if mustSchedule { queue.run(step) }
    }

    /// Prevents further calls. A running call continues to its end.
    func cancel() { phase.withLock { if $0 != .returning { $0 = .cancelled } } }

    /// Same as `cancel`, for requests stopped by the supplier.
    ///
    /// - Returns: Whether a call is running; the demand is notified when it returns.
    func stop() -> Bool {
        phase.withLock { phase in
            let isRunning = phase == .running || phase == .runningAskedAgain
            phase = isRunning ? .returning : .cancelled
            return isRunning
        }
    }

    /// Calls the closure once and schedules the next call.
    @Sendable private func step() {
        guard move(from: .scheduled, to: .running) else { return }
        guard let before = consumer?.enqueueCount else { return }
        body()
        guard let consumer else { return }
        let isReady = consumer.isReadyForMoreMediaData
        let gave = consumer.enqueueCount != before
        let next = phase.withLock { phase -> Phase in
            if phase == .cancelled { return phase }
            if phase == .returning {
                phase = .cancelled
                return .returning
            }
            phase = isReady || phase == .runningAskedAgain ? (gave ? .scheduled : .resting) : .idle
            return phase
        }
        if next == .returning { consumer.demand.closureReturned(supplier.load(ordering: .acquiring)) }
        if next == .scheduled { queue.run(step) }
        if next == .resting { queue.run(after: Self.pause) { self.wake() } }
    }

    /// Ends the pause of a closure that supplied nothing.
    private func wake() {
        guard let consumer, phase.withLock({ $0 == .resting }) else { return }
        if consumer.isReadyForMoreMediaData {
            ask(isUrgent: true)
        } else {
            _ = move(from: .resting, to: .idle)
            // Space became available between the check and the transition, and nothing else would schedule a call.
            if consumer.isReadyForMoreMediaData { ask() }
        }
    }

    /// Changes the phase if it is `old`; returns whether it was.
    private func move(from old: Phase, to new: Phase) -> Bool {
        phase.withLock { phase in
            guard phase == old else { return false }
            phase = new
            return true
        }
    }
}
