package import MediaCore

/// The playlist of a player, and the entries scheduled from it on one timeline.
///
/// A value type without clocks and threads. `items` is the playlist from the current item on. `entries` are the
/// scheduled playbacks from the current one on, each with its position on the timeline and the ends of its tracks. A
/// loop is a further entry of the same item. An edit changes the playlist, and `firstMismatch` returns the first entry
/// that it no longer leads to.
package struct PlaybackList: Sendable {
    /// A position in the order of playback.
    package struct Turn: Sendable {
        /// The item in the playlist.
        package var item: QueueItem
        /// The number of preceding consecutive playbacks of the item in this pass.
        var itemPass = 0
        var listPass = 0
        /// The range in media time of a part that follows another part of the item; without an end it plays to the end
        /// of the item.
        var from: MediaTime?
        var until: MediaTime?
        /// The part of an interstitial that plays instead of the item.
        package var aside: Aside?

        func isSame(as other: Turn) -> Bool {
            item == other.item && itemPass == other.itemPass && listPass == other.listPass && from == other.from
                && until == other.until && aside == other.aside
        }
    }

    struct Slot: Sendable {
        var item: QueueItem
        /// Removed from the playlist, but required to determine the successor of an entry.
        var isRemoved = false
        /// Whether the item is unplayable or empty; it is not tried again unless it has played before.
        var isBarren = false
        /// Whether the item has played; if it becomes unplayable it may return.
        var hasGiven = false
    }

    var slots: [Slot] = []
    var loopItem = PlayerOptions.Loop.times(0)
    var loopList = PlayerOptions.Loop.times(0)
    /// The repeated section of the current item.
    var section: MediaTimeRange?
    /// The interstitials of opened items.
    package var programmes: [QueueItem.ID: Programme] = [:]
    /// The scheduled playbacks from the current one on.
    package private(set) var entries: [Entry] = []
    /// The position to play once its item is open, while there are no entries.
    private(set) var awaited: Turn?
    private var lastSerial = 0

    /// The current or awaited item and the upcoming ones.
    package var items: [QueueItem] { slots.filter { !$0.isRemoved }.map(\.item) }

    /// Returns the index of an item that is not removed.
    package func index(of id: QueueItem.ID) -> Int? { slots.firstIndex { $0.item.id == id && !$0.isRemoved } }
    /// Returns the index of an item, or its last one if it was removed.
    private func place(of id: QueueItem.ID) -> Int? { index(of: id) ?? slots.lastIndex { $0.item.id == id } }
    /// Returns true if the item is in the playlist.
    package func contains(_ id: QueueItem.ID) -> Bool { index(of: id) != nil }
    /// Returns the entry with a serial number.
    package func entry(_ serial: Int) -> Entry? { entries.first { $0.serial == serial } }

    /// Marks an unplayable item, which is not tried again by a loop or by a repeated list.
    mutating func noteBarren(_ id: QueueItem.ID) { if let index = index(of: id) { slots[index].isBarren = true } }

    /// Marks an item that plays, and retries others that have played before.
    mutating func noteGiven(_ id: QueueItem.ID) {
        if let index = index(of: id) { slots[index].hasGiven = true }
        forgive()
    }

    /// Retries items that have played before.
    mutating func forgive() { for index in slots.indices where slots[index].hasGiven { slots[index].isBarren = false } }

    /// Whether the playlist repeats forever and has an item that has played.
    var mayComeBack: Bool {
        (loopItem == .forever || loopList == .forever) && slots.contains { $0.hasGiven && !$0.isRemoved }
    }

    // MARK: Order of playback

    private static func allows(_ loop: PlayerOptions.Loop, _ passes: Int) -> Bool {
        switch loop {
        case .forever: true
        case .times(let count): passes < count
        }
    }

    /// Returns the first playable position, or that of the given item.
    func firstTurn(_ id: QueueItem.ID? = nil, listPass: Int = 0) -> Turn? {
        let slot = slots.first { slot in !slot.isRemoved && id.map { slot.item.id == $0 } ?? !slot.isBarren }
        return slot.map { Turn(item: $0.item, listPass: listPass) }
    }

    /// Returns what follows an entry; nil at the end.
    func successor(of entry: Entry) -> Turn? {
        if entry.turn.aside != nil, entry.cutEnd == nil, contains(entry.item.id) {
            return turn(behindAside: entry).map { entering($0) }
        }
        return aside(behind: entry) ?? part(behind: entry)
            ?? successor(of: entry.basis ?? entry.turn).map { entering($0) }
    }

    /// Returns the position after another one; nil at the end.
    ///
    /// - Parameter leavesLoop: Whether to ignore remaining repetitions of the item.
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

    /// Returns the index of the first entry that the playlist no longer leads to; nil if there is none.
    var firstMismatch: Int? {
        if let first = entries.first, !contains(first.item.id), !first.isCut { return 0 }
        for (index, entry) in entries.enumerated().dropFirst() {
            if let expected = successor(of: entries[index - 1]), expected.isSame(as: entry.turn) { continue }
            // A cut entry has been handled.
            if !entry.isCut { return index }
        }
        return nil
    }

    // MARK: Scheduling

    /// Returns a serial number that was never used.
    mutating func newSerial() -> Int {
        lastSerial += 1
        return lastSerial
    }

    /// Removes all entries; the position plays once its item is open.
    package mutating func await(_ turn: Turn?) {
        entries = []
        awaited = turn
        forgetRemoved()
    }

    /// Starts with an entry whose media time equals the timeline.
    mutating func begin(with entry: Entry) {
        var entry = entry
        entry.offset = .zero
        (entries, awaited) = ([entry], nil)
        forgetPassed()
    }

    /// Restarts the current entry with its media time as the timeline, and removes the following ones.
    ///
    /// - Parameter moment: The media time of the restart; beyond the repeated section, the section is ignored.
    mutating func rebase(at moment: MediaTime = .zero) {
        guard var entry = entries.first else { return }
        entry.offset = .zero
        entry.becomeWhole()
        if entry.turn.aside == nil {
            if let section, moment < section.end { entry.sectionEnd = section.end }
            if let next = nextBreak(of: entry.item.id, behind: moment) { entry.sectionEnd = next.place }
        }
        // The audio will be read to its end again, possibly from another track.
        if entry.soundEnd != .none { entry.soundEnd = .unknown }
        entries = [entry]
        forgetRemoved()
    }

    /// Schedules an entry after the last one.
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

    /// Makes the next entry current.
    package mutating func advance() {
        guard entries.count > 1 else { return }
        entries.removeFirst()
        forgetPassed()
    }

    /// Removes the entries after one.
    mutating func truncate(after serial: Int) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return }
        entries.removeSubrange((index + 1)...)
        forgetRemoved()
    }

    /// Ends an entry that the playlist no longer leads to at a time of the timeline; the successor of the preceding
    /// entry follows.
    mutating func cut(_ serial: Int, at time: MediaTime) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }), let offset = entries[index].offset else {
            return
        }
        tolerate(serial)
        entries[index].cutEnd = max(entries[index].start, time - offset)
        truncate(after: serial)
    }

    /// Keeps an entry that the playlist no longer leads to.
    mutating func tolerate(_ serial: Int) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return }
        entries[index].isCut = true
        guard index > 0 else { return }
        entries[index].basis = entries[index - 1].basis ?? entries[index - 1].turn
    }

    /// Sets the end of a track in media time. An end on which the next entry's position depends remains.
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

    /// The minimum lead by which a truncated item ends early. Less is the duration of the last frame, or a rounded
    /// index.
    static let brokenOffLead = MediaTime(value: 1, timescale: 1)
    /// The maximum duration for which audio read ahead extends beyond the video of a truncated file; longer audio is
    /// part of the media.
    static let longestTornTail = MediaTime(value: 3, timescale: 1)

    /// Records the end of the video as read, in media time.
    mutating func noteRead(picturesUntil time: MediaTime, of serial: Int) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return }
        entries[index].losses.picturesRead = time
        guard entries[index].setEnd == nil, let known = entries[index].pictureEnd.time,
            time + Self.brokenOffLead < known
        else { return }
        entries[index].brokenOff = time
    }

    /// Ends a truncated entry at its actual end, or with its audio if that extends far beyond the video.
    ///
    /// - Returns: The actual end in media time; nil if it is not early.
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

    /// Modifies an entry in place.
    package mutating func change(_ serial: Int, _ body: (inout Entry) -> Void) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return }
        body(&entries[index])
    }

    /// Sets the position of an entry once the end of the preceding one is known.
    private mutating func place(_ index: Int) {
        guard index > 0, entries[index].offset == nil, let joint = entries[index - 1].joint else { return }
        entries[index].offset = (joint - entries[index].start).reduced
    }

    // MARK: Removal from the playlist

    /// Removes items that have played, unless a further pass repeats them.
    private mutating func forgetPassed() {
        if let entry = entries.first, !Self.allows(loopList, entry.turn.listPass) {
            // If it was removed from the playlist, the preceding item has ended as well.
            let passed = entry.basis.flatMap { place(of: $0.item.id) }.map { $0 + 1 } ?? index(of: entry.item.id) ?? 0
            for index in slots[..<passed].indices { slots[index].isRemoved = true }
        }
        forgetRemoved()
    }

    /// Drops removed items that no entry requires.
    mutating func forgetRemoved() {
        var needed = Set(entries.map(\.item.id)).union(entries.compactMap { $0.basis?.item.id })
        if let awaited { needed.insert(awaited.item.id) }
        programmes = programmes.filter { id, _ in slots.contains { $0.item.id == id } }
        slots.removeAll { $0.isRemoved && !needed.contains($0.item.id) }
    }
}
