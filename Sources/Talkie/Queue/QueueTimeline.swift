internal import MediaCore

/// A queue laid out on one continuous timeline: which item comes when, counted in frames of the queue's rate.
///
/// A plain value without clocks and threads. The list says what is to be played; `entries` are what has been laid out of
/// it, from the one that is heard on. Loops are entries of the same item once more. An edit changes the list, and
/// `firstMismatch` finds the first entry that the list no longer leads to.
struct QueueTimeline {
    /// One playing of one item.
    struct Entry {
        /// Tells this playing from every other.
        var serial: Int
        var item: QueueItem
        /// How many times it was played before, in this pass of the queue and in a row.
        var itemPass = 0
        var queuePass = 0
        /// Where it begins; nil until the one before has been read to its end.
        var start: Int64?
        /// The item's own frame that lies at `start`: not zero after a jump into its middle.
        var offset: Int64 = 0
        /// Frames handed to the renderer.
        var written: Int64 = 0
        /// All of it has been handed over: its end is known.
        var isComplete = false
        /// It ends early: the list changed when it could not be taken back any more.
        var isCut = false
        /// What follows it is what follows this place in the list, because it has no place there any more.
        var basis: Basis?

        var end: Int64? { start.map { $0 + written } }
    }

    /// A place in the order of play.
    struct Basis {
        var id: QueueItem.ID
        var itemPass: Int
        var queuePass: Int
    }

    private struct Slot {
        var item: QueueItem
        /// It is not in the queue any more, and stays here while an entry needs to know what followed it.
        var isRemoved = false
        /// It cannot be played, or holds nothing: no pass of a loop tries it again, unless it was played before.
        var isBarren = false
        /// It was played: where it cannot be any more, it has vanished, and may come back.
        var hasGiven = false
    }

    private var slots: [Slot] = []
    private(set) var loopItem = PlayerOptions.Loop.times(0)
    private(set) var loopQueue = PlayerOptions.Loop.times(0)
    var entries: [Entry] = []
    private var lastSerial = 0

    var items: [QueueItem] { slots.filter { !$0.isRemoved }.map(\.item) }

    private func index(of id: QueueItem.ID) -> Int? { slots.firstIndex { $0.item.id == id && !$0.isRemoved } }

    // MARK: The list

    /// False when nothing was changed.
    mutating func apply(_ edit: QueueEdit) -> Bool {
        defer { forgetRemoved() }
        switch edit {
        case .insert(let items, let after): return insert(items, behind: after.map { index(of: $0) } ?? -1)
        case .append(let items): return insert(items, behind: slots.count - 1)
        case .remove(let id):
            guard let index = index(of: id) else { return false }
            slots[index].isRemoved = true
        case .removeAll:
            guard slots.contains(where: { !$0.isRemoved }) else { return false }
            for index in slots.indices { slots[index].isRemoved = true }
        case .replace(let id, let item):
            guard let index = index(of: id), !contains(item) else { return false }
            slots[index].isRemoved = true
            slots.insert(Slot(item: item), at: index + 1)
        case .move(let id, let after):
            guard let from = index(of: id), id != after else { return false }
            var target = -1
            if let after {
                guard let found = index(of: after) else { return false }
                target = found
            }
            // What is laid out of it already knows where it was.
            let slot = slots[from]
            slots[from].isRemoved = true
            slots.insert(
                Slot(item: slot.item, isBarren: slot.isBarren, hasGiven: slot.hasGiven), at: target + 1)
        case .loop(let item, let queue): (loopItem, loopQueue) = (item, queue)
        }
        return true
    }

    private mutating func insert(_ items: [QueueItem], behind index: Int?) -> Bool {
        guard let index, !items.isEmpty, !items.contains(where: contains), Set(items).count == items.count else {
            return false
        }
        slots.insert(contentsOf: items.map { Slot(item: $0) }, at: index + 1)
        return true
    }

    private func contains(_ item: QueueItem) -> Bool { index(of: item.id) != nil }

    private mutating func forgetRemoved() {
        slots.removeAll { slot in
            slot.isRemoved && !entries.contains { $0.item.id == slot.item.id || $0.basis?.id == slot.item.id }
        }
    }

    /// An item that gave nothing is not tried again by a loop.
    mutating func noteBarren(_ id: QueueItem.ID) { if let index = index(of: id) { slots[index].isBarren = true } }

    /// Items that were played before are tried again.
    mutating func forgive() {
        for index in slots.indices where slots[index].hasGiven { slots[index].isBarren = false }
    }

    /// Whether the queue is to go on for ever, and holds something that was played.
    var mayComeBack: Bool {
        (loopItem == .forever || loopQueue == .forever) && slots.contains { $0.hasGiven && !$0.isRemoved }
    }

    // MARK: What follows

    private static func allows(_ loop: PlayerOptions.Loop, _ passes: Int) -> Bool {
        switch loop {
        case .forever: true
        case .times(let count): passes < count
        }
    }

    /// What the list says comes after an entry; nil at the end.
    func successor(of entry: Entry) -> Entry? {
        let basis = entry.basis ?? Basis(id: entry.item.id, itemPass: entry.itemPass, queuePass: entry.queuePass)
        // The place it has now; where it has none any more, the place it had.
        guard let place = index(of: basis.id) ?? slots.lastIndex(where: { $0.item.id == basis.id }) else {
            return first(queuePass: basis.queuePass)
        }
        let slot = slots[place]
        if !slot.isRemoved, !slot.isBarren, Self.allows(loopItem, basis.itemPass) {
            var again = Entry(serial: 0, item: slot.item)
            (again.itemPass, again.queuePass) = (basis.itemPass + 1, basis.queuePass)
            return again
        }
        if let next = slots[(place + 1)...].first(where: { !$0.isRemoved && !$0.isBarren }) {
            var following = Entry(serial: 0, item: next.item)
            following.queuePass = basis.queuePass
            return following
        }
        guard Self.allows(loopQueue, basis.queuePass) else { return nil }
        return first(queuePass: basis.queuePass + 1)
    }

    private func first(queuePass: Int) -> Entry? {
        guard let slot = slots.first(where: { !$0.isRemoved && !$0.isBarren }) else { return nil }
        var entry = Entry(serial: 0, item: slot.item)
        entry.queuePass = queuePass
        return entry
    }

    /// The first entry that the list does not lead to any more.
    var firstMismatch: Int? {
        if let first = entries.first, index(of: first.item.id) == nil, !first.isCut { return 0 }
        for index in entries.indices.dropFirst() {
            let before = entries[index - 1]
            let entry = entries[index]
            guard let expected = successor(of: before), expected.item.id == entry.item.id,
                expected.itemPass == entry.itemPass, expected.queuePass == entry.queuePass
            else {
                // One that ends early has been dealt with.
                if entry.isCut { continue }
                return index
            }
        }
        return nil
    }

    // MARK: Laying out

    /// Begins anew with an item, at one of its own frames, which lies at the same frame of the timeline.
    mutating func begin(with id: QueueItem.ID?, at offset: Int64) -> Bool {
        let slot = id.map { id in index(of: id).map { slots[$0] } } ?? slots.first { !$0.isRemoved && !$0.isBarren }
        guard let slot else { return false }
        var entry = newEntry(slot.item)
        (entry.start, entry.offset) = (offset, offset)
        entries = [entry]
        forgetRemoved()
        return true
    }

    private mutating func newEntry(_ item: QueueItem) -> Entry {
        lastSerial += 1
        return Entry(serial: lastSerial, item: item)
    }

    /// Lays out one more entry behind the last, when there is one to come. Its start follows when the last is complete.
    mutating func extend() -> Bool {
        guard let last = entries.last, var next = successor(of: last) else { return false }
        next.serial = newEntry(next.item).serial
        if last.isComplete { next.start = last.end }
        entries.append(next)
        return true
    }

    /// An entry has been handed over whole: the next one begins there.
    mutating func complete(_ index: Int) {
        entries[index].isComplete = true
        if entries[index].written > 0 {
            if let place = self.index(of: entries[index].item.id) { slots[place].hasGiven = true }
            forgive()
        } else if entries[index].offset == 0 {
            noteBarren(entries[index].item.id)
        }
        if index + 1 < entries.count { entries[index + 1].start = entries[index].end }
    }

    /// The entries from one on are not played.
    mutating func drop(from index: Int) {
        entries.removeSubrange(index...)
        forgetRemoved()
    }

    /// An entry that has no place in the list any more ends at a frame, and what follows is what the list says after the
    /// one before it.
    mutating func cut(_ index: Int, at frame: Int64) {
        guard entries.indices.contains(index), let start = entries[index].start else { return }
        tolerate(index)
        entries[index].written = max(0, frame - start)
        entries[index].isComplete = true
        drop(from: index + 1)
    }

    /// An entry is heard although it has no place in the list any more.
    mutating func tolerate(_ index: Int) {
        entries[index].isCut = true
        if index > 0 {
            let before = entries[index - 1]
            entries[index].basis =
                before.basis ?? Basis(id: before.item.id, itemPass: before.itemPass, queuePass: before.queuePass)
        }
    }

    /// Entries that end before a frame are over; the one that follows is being heard.
    mutating func forget(before frame: Int64) {
        while entries.count > 1, let next = entries[1].start, next <= frame { entries.removeFirst() }
        forgetRemoved()
    }
}
