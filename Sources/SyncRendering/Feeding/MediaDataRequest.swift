internal import MediaCore
internal import Synchronization

/// A closure that is asked for media data on a queue, one call at a time, until it is cancelled.
///
/// `@unchecked Sendable`: `body` was sent here with everything it captured and is called by `step` alone, which `phase`
/// lets through one at a time; each call happens after the one before through the lock around `phase`.
final class MediaDataRequest: @unchecked Sendable {
    private enum Phase: Equatable {
        /// Asked for nothing; the consumer will say when it is ready.
        case idle
        case scheduled
        case running
        /// Running, and the consumer became ready meanwhile.
        case runningAskedAgain
        /// Gave nothing although asked; it is asked again after a pause.
        case resting
        case cancelled
        /// Stopped while it runs; the demand is told when it returns.
        case returning
    }

    /// How long a closure that gave nothing is left alone: short against every route's depth, long against a processor's
    /// patience with a closure that has nothing for minutes.
    static let pause: Duration = .milliseconds(20)

    private let queue: any MediaRequestQueue
    private let body: () -> Void
    private weak let consumer: (any MediaDataConsumer)?
    private let phase = Lock(Phase.idle)
    /// By what number the demand knows it.
    let supplier = Atomic<UInt64>(0)

    init(
        on queue: any MediaRequestQueue, for consumer: any MediaDataConsumer, body: sending @escaping () -> Void
    ) {
        self.queue = queue
        self.consumer = consumer
        self.body = body
    }

    /// The consumer is ready: the closure is called soon, unless it is about to be called anyway.
    ///
    /// - Parameter isUrgent: also when the closure had nothing to give a moment ago.
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

    /// The closure is not called again. A call under way goes on to its end.
    func cancel() { phase.withLock { if $0 != .returning { $0 = .cancelled } } }

    /// As `cancel`, by whoever supplies.
    ///
    /// - Returns: true when a call is under way; the demand is told when it is over.
    func stop() -> Bool {
        phase.withLock { phase in
            let isRunning = phase == .running || phase == .runningAskedAgain
            phase = isRunning ? .returning : .cancelled
            return isRunning
        }
    }

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

    private func wake() {
        guard let consumer, phase.withLock({ $0 == .resting }) else { return }
        if consumer.isReadyForMoreMediaData {
            ask(isUrgent: true)
        } else {
            _ = move(from: .resting, to: .idle)
            // Ready again between the look and the move: nobody else would ask.
            if consumer.isReadyForMoreMediaData { ask() }
        }
    }

    private func move(from old: Phase, to new: Phase) -> Bool {
        phase.withLock { phase in
            guard phase == old else { return false }
            phase = new
            return true
        }
    }
}
