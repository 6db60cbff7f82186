/// Events on their way to one thread. Posting never blocks for long. Any thread posts, one takes.
package final class Mailbox<Event: Sendable>: Sendable {
    private let waiting = Lock<[Event]>([])
    private let signal = Signal()
    private let capacity: Int
    private let mayDrop: @Sendable (Event) -> Bool

    /// - Parameters:
    ///   - capacity: how many wait before those that may be dropped are.
    ///   - mayDrop: what a key that is held down sends.
    package init(capacity: Int = 1024, mayDrop: @escaping @Sendable (Event) -> Bool = { _ in false }) {
        self.capacity = capacity
        self.mayDrop = mayDrop
    }

    package func post(_ event: Event) {
        waiting.withLock { waiting in
            if waiting.count >= capacity, mayDrop(event) { return }
            waiting.append(event)
        }
        signal.raise()
    }

    /// Everything that came, waiting for it until the deadline if need be.
    package func take(until deadline: HostInstant) -> [Event] {
        let events = takeAll()
        if !events.isEmpty { return events }
        signal.wait(until: deadline)
        signal.clear()
        return takeAll()
    }

    private func takeAll() -> [Event] {
        waiting.withLock { waiting in
            defer { if !waiting.isEmpty { waiting.removeAll(keepingCapacity: true) } }
            return waiting
        }
    }
}
