/// The items after the current one that a session announces to its player, each with the list as it will be then.
package struct FilmsToCome: Sendable {
    private struct Entry: Sendable {
        let item: QueueItem
        /// The list when this item becomes current.
        var queue: PlayQueue
        /// The number of later items that were tried ahead and could not be played.
        var passed = 0

        /// The list from which the following item is determined. Items are assumed to play until they fail.
        var base: PlayQueue { queue.begun(passing: passed) }
    }

    /// Enough for a speaker with minutes of buffered audio and clips of seconds.
    private static let count = 16

    private var entries: [Entry] = []
    /// The same number for the current item.
    private var passed = 0
    /// The newest items that were removed from the upcoming ones. The player may have tried them before it received the
    /// change.
    private var forgotten: [QueueItem] = []

    /// Creates an empty sequence.
    package init() {}

    /// The upcoming items in order.
    package var items: [QueueItem] { entries.map(\.item) }

    /// Clears all state after another item was opened; `fill` is called again once it has begun.
    package mutating func removeAll() {
        entries = []
        passed = 0
        forgotten = []
    }

    /// Determines upcoming items up to the maximum.
    ///
    /// - Parameters:
    ///   - queue: The list with the current item.
    ///   - beginsLater: Whether an item starts at a resume position and therefore cannot follow gaplessly.
    package mutating func fill(behind queue: PlayQueue, beginsLater: (PlayQueue.Item) -> Bool = { _ in false }) {
        while entries.count < Self.count {
            // A pass without any playable item is followed by a pause, which excludes a gapless transition.
            guard let next = (entries.last?.base ?? base(queue)).next, next.pause == .zero,
                !beginsLater(next.current)
            else { return }
            entries.append(Entry(item: QueueItem(next.current.address, title: next.current.title), queue: next))
        }
    }

    /// Records that an item has begun gaplessly; returns the list with it as the current item, nil if it is unknown.
    package mutating func began(_ item: QueueItem) -> PlayQueue? {
        guard let index = entries.firstIndex(where: { $0.item == item }) else { return nil }
        var queue = entries[index].queue
        queue.noteBegun()
        passed = entries[index].passed
        entries.removeSubrange(...index)
        return queue
    }

    /// Removes an item that cannot be played and determines its successors again; returns false if it is unknown.
    ///
    /// - Parameter queue: The list with the current item.
    package mutating func failed(_ item: QueueItem, behind queue: PlayQueue) -> Bool {
        guard let index = entries.firstIndex(where: { $0.item == item }) else { return false }
        entries.remove(at: index)
        if index == 0 { passed += 1 } else { entries[index - 1].passed += 1 }
        // The later items were determined on the assumption that this one plays.
        for later in entries.indices.dropFirst(index) {
            let before = later == 0 ? base(queue) : entries[later - 1].base
            guard let next = before.next, next.number == entries[later].queue.number, next.pause == .zero else {
                forgotten = (forgotten + entries[later...].map(\.item)).suffix(4 * Self.count)
                entries.removeSubrange(later...)
                break
            }
            entries[later].queue = next
        }
        return true
    }

    /// Adopts a changed list. Unchanged upcoming items are retained, so that items opened ahead are not reopened; the
    /// rest is removed and determined by `fill`.
    ///
    /// - Parameter queue: The list with the current item.
    package mutating func renew(behind queue: PlayQueue) {
        passed = 0
        var before = base(queue)
        var kept = 0
        while kept < entries.count, let next = before.next, next.pause == .zero,
            next.current == entries[kept].queue.current
        {
            entries[kept].queue = next
            entries[kept].passed = 0
            before = entries[kept].base
            kept += 1
        }
        forgotten = (forgotten + entries[kept...].map(\.item)).suffix(4 * Self.count)
        entries.removeSubrange(kept...)
    }

    /// Returns true if `item` was removed from the upcoming items; its events are ignored.
    package func hasForgotten(_ item: QueueItem) -> Bool { forgotten.contains(item) }

    /// Returns the list to continue from after the current item has ended or failed without a successor.
    package func rest(of queue: PlayQueue) -> PlayQueue { queue.passing(passed) }

    /// Same, while the current item plays.
    private func base(_ queue: PlayQueue) -> PlayQueue { queue.begun(passing: passed) }
}

extension PlayQueue {
    /// Returns the list after the current item has played and `count` following ones have failed.
    fileprivate func begun(passing count: Int) -> PlayQueue {
        var queue = self
        queue.noteBegun()
        return queue.passing(count)
    }

    fileprivate func passing(_ count: Int) -> PlayQueue {
        var queue = self
        for _ in 0..<count { _ = queue.advance() }
        return queue
    }
}
