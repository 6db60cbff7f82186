internal import MediaCore
internal import SyncRendering

/// A queue for callbacks of renderers and observers that runs only when the test says so, on its manual clock.
package final class ManualQueue: MediaRequestQueue {
    private struct Item: Sendable {
        var due: HostInstant
        var work: @Sendable () -> Void
    }

    private let clock: ManualClock
    private let items = Lock<[Item]>([])

    package init(clock: ManualClock) { self.clock = clock }

    package func run(_ work: @escaping @Sendable () -> Void) { run(after: .zero, work) }

    package func run(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        items.withLock { $0.append(Item(due: clock.now.advanced(by: delay), work: work)) }
    }

    /// The number of pending items, due or not.
    package var count: Int { items.withLock { $0.count } }

    /// Runs all due items, including those that they add, at most `limit`. Returns their number.
    @discardableResult
    package func runIteration(atMost limit: Int = 100_000) -> Int {
        var done = 0
        while done < limit, let item = removeDue() {
            item.work()
            done += 1
        }
        return done
    }

    private func removeDue() -> Item? {
        items.withLock { items in
            guard let index = items.firstIndex(where: { $0.due <= clock.now }) else { return nil }
            return items.remove(at: index)
        }
    }
}
