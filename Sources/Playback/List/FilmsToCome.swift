/// What follows the film of a session that plays, as its player is told: each film with the list as it will stand then.
package struct FilmsToCome: Sendable {
    private struct Entry: Sendable {
        let item: QueueItem
        /// The list when this film has its turn.
        var queue: PlayQueue
        /// Films after this one that were tried ahead and could not be played.
        var passed = 0

        /// The list that what follows is read from. A film is taken to play well until it turns out otherwise.
        var base: PlayQueue { queue.begun(passing: passed) }
    }

    /// Enough for a speaker that holds minutes of sound, and clips of seconds.
    private static let count = 16

    private var entries: [Entry] = []
    /// The same for the film that plays.
    private var passed = 0
    /// The newest films that are not to come any more. The player may have tried them before it heard so.
    private var forgotten: [QueueItem] = []

    package init() {}

    package var items: [QueueItem] { entries.map(\.item) }

    /// Another film was opened: everything is thought out anew when it has begun.
    package mutating func removeAll() {
        entries = []
        passed = 0
        forgotten = []
    }

    /// Thinks out what follows, as far as it is not known.
    ///
    /// - Parameters:
    ///   - queue: the list with the film that plays.
    ///   - beginsLater: whether a film begins in its middle, and therefore by itself.
    package mutating func fill(behind queue: PlayQueue, beginsLater: (PlayQueue.Item) -> Bool = { _ in false }) {
        while entries.count < Self.count {
            // Behind a pass of which nothing could be played there is a pause, and no film follows another without a seam.
            guard let next = (entries.last?.base ?? base(queue)).next, next.pause == .zero,
                !beginsLater(next.current)
            else { return }
            entries.append(Entry(item: QueueItem(next.current.address, title: next.current.title), queue: next))
        }
    }

    /// A film has begun behind the one before; the list with it as the current one, nil when it is not known.
    package mutating func began(_ item: QueueItem) -> PlayQueue? {
        guard let index = entries.firstIndex(where: { $0.item == item }) else { return nil }
        var queue = entries[index].queue
        queue.noteBegun()
        passed = entries[index].passed
        entries.removeSubrange(...index)
        return queue
    }

    /// A film cannot be played: what follows is what follows it. False when it was none of these.
    ///
    /// - Parameter queue: the list with the film that plays.
    package mutating func failed(_ item: QueueItem, behind queue: PlayQueue) -> Bool {
        guard let index = entries.firstIndex(where: { $0.item == item }) else { return false }
        entries.remove(at: index)
        if index == 0 { passed += 1 } else { entries[index - 1].passed += 1 }
        // Those behind it were thought to follow a film that plays.
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

    /// The list is another one: what comes as it would have come stays, so that a film that was opened ahead is not opened anew, and
    /// the rest is not to come any more. `fill` thinks out what comes instead.
    ///
    /// - Parameter queue: the list with the film that plays.
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

    /// Whether a film was to come and is not any more: what becomes of it is no news.
    package func hasForgotten(_ item: QueueItem) -> Bool { forgotten.contains(item) }

    /// The list from which to go on when the current film has ended, or could not be played, and nothing has followed it.
    package func rest(of queue: PlayQueue) -> PlayQueue { queue.passing(passed) }

    /// The same, while the current film plays.
    private func base(_ queue: PlayQueue) -> PlayQueue { queue.begun(passing: passed) }
}

extension PlayQueue {
    /// The list when the current film has played and so many behind it could not.
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
