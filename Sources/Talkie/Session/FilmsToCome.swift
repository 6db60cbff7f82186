/// What follows the film of a session that plays, as its player is told: each film with the list as it will stand then.
struct FilmsToCome {
    private struct Entry {
        let item: QueueItem
        /// The list when this film has its turn.
        let queue: PlayQueue
    }

    /// Enough for a speaker that holds minutes of sound, and clips of seconds.
    private static let count = 16

    private var entries: [Entry] = []
    /// The list behind films that were tried ahead and could not be played.
    private var passed: PlayQueue?

    var items: [QueueItem] { entries.map(\.item) }

    /// Another film was opened: everything is thought out anew when it has begun.
    mutating func removeAll() {
        entries = []
        passed = nil
    }

    /// Thinks out what follows, as far as it is not known.
    ///
    /// - Parameter queue: the list with the film that plays.
    mutating func fill(behind queue: PlayQueue) {
        while entries.count < Self.count {
            var last = passed ?? queue
            if let entry = entries.last {
                last = entry.queue
                // It is taken to play well until it turns out otherwise.
                last.noteBegun()
            }
            guard let next = last.next else { return }
            entries.append(Entry(item: QueueItem(next.current.address, title: next.current.title), queue: next))
        }
    }

    /// A film has begun behind the one before; the list with it as the current one, nil when it is not known.
    mutating func began(_ item: QueueItem) -> PlayQueue? {
        guard let index = entries.firstIndex(where: { $0.item == item }) else { return nil }
        var queue = entries[index].queue
        queue.noteBegun()
        entries.removeSubrange(...index)
        passed = nil
        return queue
    }

    /// A film cannot be played: what follows is what follows it. False when it was none of these.
    mutating func failed(_ item: QueueItem) -> Bool {
        guard let index = entries.firstIndex(where: { $0.item == item }) else { return false }
        if index == 0 {
            passed = entries[0].queue
            entries.removeFirst()
        } else {
            entries.remove(at: index)
        }
        return true
    }

    /// The list from which to go on when the film that plays has ended and nothing has followed it.
    func base(_ queue: PlayQueue) -> PlayQueue { passed ?? queue }
}
