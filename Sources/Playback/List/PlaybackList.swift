package import MediaCore

/// What a player plays: the list that people change, and what has been laid out of it on one timeline.
///
/// A plain value without clocks and threads. `items` is the list, from the item that is perceived on. `entries` are the playings
/// that have been laid out, from the one that is perceived on, each with its place on the timeline and the ends of its tracks; a
/// loop is an entry of the same item once more. An edit changes the list, and `firstMismatch` finds the first entry to which the
/// list does not lead any more.
package struct PlaybackList: Sendable {
    /// A place in the order of play.
    package struct Turn: Sendable {
        package var item: QueueItem
        /// How many times the item was played before, in this pass of the list and in a row.
        var itemPass = 0
        var listPass = 0
        /// Film times between which it plays where it is a part of an item that goes on from another part of it; a part without an
        /// end plays to the item's own.
        var from: MediaTime?
        var until: MediaTime?
        /// What plays in the item's place for a while.
        package var aside: Aside?

        func isSame(as other: Turn) -> Bool {
            item == other.item && itemPass == other.itemPass && listPass == other.listPass && from == other.from
                && until == other.until && aside == other.aside
        }
    }

    struct Slot: Sendable {
        var item: QueueItem
        /// It is not in the list any more, and stays here while an entry needs to know what followed it.
        var isRemoved = false
        /// It cannot be played, or holds nothing: it is not tried again, unless it was played before.
        var isBarren = false
        /// It was played: where it cannot be any more, it has vanished, and may come back.
        var hasGiven = false
    }

    var slots: [Slot] = []
    var loopItem = PlayerOptions.Loop.times(0)
    var loopList = PlayerOptions.Loop.times(0)
    /// A part of the item that is perceived, which follows itself without a seam.
    var section: MediaTimeRange?
    /// What stands in the middle of items, as far as they were opened.
    package var programmes: [QueueItem.ID: Programme] = [:]
    package private(set) var entries: [Entry] = []
    /// Whose turn it is while nothing is laid out, because it is not open yet.
    private(set) var awaited: Turn?
    private var lastSerial = 0

    /// The item that is perceived, or about to be, and those to come.
    package var items: [QueueItem] { slots.filter { !$0.isRemoved }.map(\.item) }

    package func index(of id: QueueItem.ID) -> Int? { slots.firstIndex { $0.item.id == id && !$0.isRemoved } }
    /// The place it has now; where it has none any more, the place it had.
    private func place(of id: QueueItem.ID) -> Int? { index(of: id) ?? slots.lastIndex { $0.item.id == id } }
    package func contains(_ id: QueueItem.ID) -> Bool { index(of: id) != nil }
    package func entry(_ serial: Int) -> Entry? { entries.first { $0.serial == serial } }

    /// An item that gave nothing is not tried again, by a loop or by whoever gives the same list once more.
    mutating func noteBarren(_ id: QueueItem.ID) { if let index = index(of: id) { slots[index].isBarren = true } }

    /// An item is perceived; others that were played before are tried again.
    mutating func noteGiven(_ id: QueueItem.ID) {
        if let index = index(of: id) { slots[index].hasGiven = true }
        forgive()
    }

    /// Items that were played before are tried again.
    mutating func forgive() { for index in slots.indices where slots[index].hasGiven { slots[index].isBarren = false } }

    /// Whether the list is to go on for ever, and holds something that was played.
    var mayComeBack: Bool {
        (loopItem == .forever || loopList == .forever) && slots.contains { $0.hasGiven && !$0.isRemoved }
    }

    // MARK: The order of play

    private static func allows(_ loop: PlayerOptions.Loop, _ passes: Int) -> Bool {
        switch loop {
        case .forever: true
        case .times(let count): passes < count
        }
    }

    /// The first item that may be played, or just this one.
    func firstTurn(_ id: QueueItem.ID? = nil, listPass: Int = 0) -> Turn? {
        let slot = slots.first { slot in !slot.isRemoved && id.map { slot.item.id == $0 } ?? !slot.isBarren }
        return slot.map { Turn(item: $0.item, listPass: listPass) }
    }

    /// Whose turn it is behind an entry; nil at the end.
    func successor(of entry: Entry) -> Turn? {
        if entry.turn.aside != nil, entry.cutEnd == nil, contains(entry.item.id) {
            return turn(behindAside: entry).map { entering($0) }
        }
        return aside(behind: entry) ?? part(behind: entry)
            ?? successor(of: entry.basis ?? entry.turn).map { entering($0) }
    }

    /// - Parameter leavesLoop: the item is not played again although its loops are not over.
    func successor(of turn: Turn, leavesLoop: Bool = false) -> Turn? {
        let id = turn.item.id
        guard let place = place(of: id) else {
            return firstTurn(listPass: turn.listPass)
        }
        let slot = slots[place]
        if !leavesLoop, !slot.isRemoved, !slot.isBarren, Self.allows(loopItem, turn.itemPass) {
            return Turn(item: slot.item, itemPass: turn.itemPass + 1, listPass: turn.listPass)
        }
        if let next = slots[(place + 1)...].first(where: { !$0.isRemoved && !$0.isBarren }) {
            return Turn(item: next.item, listPass: turn.listPass)
        }
        guard Self.allows(loopList, turn.listPass) else { return nil }
        return firstTurn(listPass: turn.listPass + 1)
    }

    /// The first entry to which the list does not lead any more.
    var firstMismatch: Int? {
        if let first = entries.first, !contains(first.item.id), !first.isCut { return 0 }
        for (index, entry) in entries.enumerated().dropFirst() {
            if let expected = successor(of: entries[index - 1]), expected.isSame(as: entry.turn) { continue }
            // One that ends early has been dealt with.
            if !entry.isCut { return index }
        }
        return nil
    }

    // MARK: Laying out

    mutating func newSerial() -> Int {
        lastSerial += 1
        return lastSerial
    }

    /// Nothing is laid out; this is to begin as soon as it is open.
    package mutating func await(_ turn: Turn?) {
        entries = []
        awaited = turn
        forgetRemoved()
    }

    /// Begins with an entry, whose own time is the timeline's.
    mutating func begin(with entry: Entry) {
        var entry = entry
        entry.offset = .zero
        (entries, awaited) = ([entry], nil)
        forgetPassed()
    }

    /// The entry that is perceived begins anew on its own time, and nothing is laid out behind it.
    ///
    /// - Parameter moment: where in the film; whoever is behind the section that is repeated is let go.
    mutating func rebase(at moment: MediaTime = .zero) {
        guard var entry = entries.first else { return }
        entry.offset = .zero
        entry.becomeWhole()
        if entry.turn.aside == nil {
            if let section, moment < section.end { entry.sectionEnd = section.end }
            if let next = nextBreak(of: entry.item.id, behind: moment) { entry.sectionEnd = next.place }
        }
        // Read once more to its end, perhaps by another track.
        if entry.soundEnd != .none { entry.soundEnd = .unknown }
        entries = [entry]
        forgetRemoved()
    }

    /// Lays an entry out behind the last.
    package mutating func append(_ entry: Entry) {
        var entry = entry
        entry.offset = nil
        if entry.turn.aside == nil, entry.sectionEnd == nil,
            let next = nextBreak(of: entry.item.id, behind: entry.start)
        {
            entry.sectionEnd = next.place
        }
        entries.append(entry)
        place(entries.count - 1)
    }

    /// The next entry is the one that is perceived.
    package mutating func advance() {
        guard entries.count > 1 else { return }
        entries.removeFirst()
        forgetPassed()
    }

    /// Entries behind this one are not played.
    mutating func truncate(after serial: Int) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return }
        entries.removeSubrange((index + 1)...)
        forgetRemoved()
    }

    /// An entry that has no place in the list any more ends at a moment of the timeline, and what the list says after the one
    /// before it follows there.
    mutating func cut(_ serial: Int, at time: MediaTime) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }), let offset = entries[index].offset else {
            return
        }
        tolerate(serial)
        entries[index].cutEnd = max(entries[index].start, time - offset)
        truncate(after: serial)
    }

    /// An entry is perceived although it has no place in the list any more.
    mutating func tolerate(_ serial: Int) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return }
        entries[index].isCut = true
        guard index > 0 else { return }
        entries[index].basis = entries[index - 1].basis ?? entries[index - 1].turn
    }

    /// Where a track ends, in film time. What is settled already stays.
    package mutating func note(_ end: Entry.TrackEnd, _ kind: Track.Kind, of serial: Int) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return }
        let isSettled = index + 1 < entries.count && entries[index + 1].offset != nil
        guard !isSettled, entries[index].sectionEnd == nil else { return }
        if kind == .audio {
            entries[index].soundEnd = end
        } else if entries[index].pictureEnd == .unknown {
            entries[index].pictureEnd = end
        }
        for later in entries.indices.dropFirst(index + 1) { place(later) }
    }

    /// How much earlier than it was to end a film has broken off. Less is the last picture's own length, or a table that rounds.
    static let brokenOffLead = MediaTime(value: 1, timescale: 1)
    /// Sound that was read ahead of a cut file goes on no longer behind its pictures; longer sound is the film's own.
    static let longestTornTail = MediaTime(value: 3, timescale: 1)

    /// Where the pictures of an entry ended as they were read to their end, in film time.
    mutating func noteRead(picturesUntil time: MediaTime, of serial: Int) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return }
        entries[index].losses.picturesRead = time
        guard entries[index].setEnd == nil, let known = entries[index].pictureEnd.time,
            time + Self.brokenOffLead < known
        else { return }
        entries[index].brokenOff = time
    }

    /// An entry that broke off ends where it did, or with its sound where that goes on for long.
    ///
    /// - Returns: where it breaks off, in film time; nil where it ends no earlier than it was to.
    mutating func settleBrokenOff(_ serial: Int) -> MediaTime? {
        guard let index = entries.firstIndex(where: { $0.serial == serial }), let time = entries[index].brokenOff,
            let before = entries[index].filmEnd
        else { return nil }
        entries[index].brokenOff = nil
        entries[index].pictureEnd = .at(time)
        guard var now = entries[index].filmEnd else { return nil }
        if now <= time + Self.longestTornTail { now = min(now, time) }
        return now + Self.brokenOffLead < before ? now : nil
    }

    package mutating func change(_ serial: Int, _ body: (inout Entry) -> Void) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return }
        body(&entries[index])
    }

    /// Gives an entry its place as soon as the one before has an end.
    private mutating func place(_ index: Int) {
        guard index > 0, entries[index].offset == nil, let joint = entries[index - 1].joint else { return }
        entries[index].offset = (joint - entries[index].start).reduced
    }

    // MARK: Leaving the list

    /// Items whose turn is over leave the list, unless a further pass brings them again.
    private mutating func forgetPassed() {
        if let entry = entries.first, !Self.allows(loopList, entry.turn.listPass) {
            // Where it has no place of its own any more, the one before it is over, too.
            let passed = entry.basis.flatMap { place(of: $0.item.id) }.map { $0 + 1 } ?? index(of: entry.item.id) ?? 0
            for index in slots[..<passed].indices { slots[index].isRemoved = true }
        }
        forgetRemoved()
    }

    mutating func forgetRemoved() {
        var needed = Set(entries.map(\.item.id)).union(entries.compactMap { $0.basis?.item.id })
        if let awaited { needed.insert(awaited.item.id) }
        programmes = programmes.filter { id, _ in slots.contains { $0.item.id == id } }
        slots.removeAll { $0.isRemoved && !needed.contains($0.item.id) }
    }
}
