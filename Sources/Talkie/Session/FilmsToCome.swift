/// What follows the film of a session that plays, as its player is told: each film with the list as it will stand then.
struct FilmsToCome {
    private struct Entry {
        let item: QueueItem
        /// The list when this film has its turn.
        let queue: PlayQueue
        /// The list behind films after this one that were tried ahead and could not be played.
        var passed: PlayQueue?

        /// The list that what follows is read from. A film is taken to play well until it turns out otherwise.
        var base: PlayQueue {
            var begun = queue
            begun.noteBegun()
            return passed ?? begun
        }
    }

    /// Enough for a speaker that holds minutes of sound, and clips of seconds.
    private static let count = 16

    private var entries: [Entry] = []
    /// The same for the film that plays.
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
            guard let next = (entries.last?.base ?? base(queue)).next else { return }
            entries.append(Entry(item: QueueItem(next.current.address, title: next.current.title), queue: next))
        }
    }

    /// A film has begun behind the one before; the list with it as the current one, nil when it is not known.
    mutating func began(_ item: QueueItem) -> PlayQueue? {
        guard let index = entries.firstIndex(where: { $0.item == item }) else { return nil }
        var queue = entries[index].queue
        queue.noteBegun()
        passed = entries[index].passed
        entries.removeSubrange(...index)
        return queue
    }

    /// A film cannot be played: what follows is what follows it. False when it was none of these.
    mutating func failed(_ item: QueueItem) -> Bool {
        guard let index = entries.firstIndex(where: { $0.item == item }) else { return false }
        let queue = entries.remove(at: index).queue
        if index == 0 { passed = queue } else { entries[index - 1].passed = queue }
        return true
    }

    /// The list from which to go on when the film that plays has ended and nothing has followed it.
    func base(_ queue: PlayQueue) -> PlayQueue { passed ?? queue }
}
