/// A queue of events to one consumer thread. Any thread posts; posting does not block.
package final class Mailbox<Event: Sendable>: Sendable {
    private let waiting = Lock<[Event]>([])
    private let signal = Signal()
    private let capacity: Int
    private let mayDrop: @Sendable (Event) -> Bool

    /// - Parameters:
    ///   - capacity: queue length from which events are dropped that may be.
    ///   - mayDrop: returns true for events that may be dropped, such as key repeats.
    package init(capacity: Int = 1024, mayDrop: @escaping @Sendable (Event) -> Bool = { _ in false }) {
        self.capacity = capacity
        self.mayDrop = mayDrop
    }

    /// Appends an event and wakes the consumer. Any thread.
    package func post(_ event: Event) {
        waiting.withLock { waiting in
            if waiting.count >= capacity, mayDrop(event) { return }
            waiting.append(event)
        }
        signal.raise()
    }

    /// Returns all queued events in order; if there are none, waits for one until the deadline. Consumer thread only.
    package func receive(until deadline: HostInstant) -> [Event] {
        let events = drain()
        if !events.isEmpty { return events }
        signal.wait(until: deadline)
        signal.clear()
        return drain()
    }

    private func drain() -> [Event] {
        waiting.withLock { waiting in
            defer { if !waiting.isEmpty { waiting.removeAll(keepingCapacity: true) } }
            return waiting
        }
    }
}
