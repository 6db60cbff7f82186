import MediaCore

/// A position in the order of playback.
struct PlaylistPosition: Sendable {
    /// The item in the playlist.
    var item: QueueItem
    /// The number of preceding consecutive playbacks of the item in this pass.
    var itemPass = 0
    /// The number of preceding passes of the playlist.
    var listPass = 0
    /// The range in media time of a part that follows another part of the item; without an end it plays to the end
    /// of the item.
    var from: MediaTime?
    var until: MediaTime?
    /// The part of an interstitial that plays instead of the item.
    var interstitialPart: InterstitialPart?
    /// Whether the item is not in the playlist; nothing follows it.
    var isOutsideList = false

    /// Returns true if another position is of the same item in the same pass of the playlist.
    func isSamePass(as other: PlaylistPosition) -> Bool { item == other.item && listPass == other.listPass }

    func isSame(as other: PlaylistPosition) -> Bool {
        item == other.item && itemPass == other.itemPass && listPass == other.listPass && from == other.from
            && until == other.until && interstitialPart == other.interstitialPart
    }

    /// The item to open: the part of the interstitial or the item.
    package var opened: QueueItem { interstitialPart?.item ?? item }
    /// The position of the whole item.
    var plain: PlaylistPosition {
        var listPosition = self
        (listPosition.from, listPosition.until, listPosition.interstitialPart) = (nil, nil, nil)
        return listPosition
    }
}

/// The playlist of a player, and the entries scheduled from it on one timeline.
///
/// A value type without clocks and threads. `items` is the playlist from the current item on. `entries` are the
/// scheduled playbacks from the current one on, each with its position on the timeline and the ends of its tracks. A
/// loop is a further entry of the same item. An edit changes the playlist, and `firstMismatch` returns the first entry
/// that it no longer leads to.
struct PlaybackList: Sendable {
    /// The items in the order of playback.
    private var order = PlaybackOrder()
    /// The repeated section of the current item.
    var section: MediaTimeRange?
    /// The interstitials of opened items.
    private(set) var interstitials: [QueueItem.ID: InterstitialSchedule] = [:]
    /// The scheduled playbacks from the current one on.
    private(set) var entries: [ScheduledItem] = []
    /// The position to play once its item is open, while there are no entries.
    private(set) var awaited: PlaylistPosition?
    /// The position that was current or awaited last.
    private var lastPosition: PlaylistPosition?
    private var lastSerial = 0

    /// The current or awaited item and the upcoming ones.
    var items: [QueueItem] { order.items }
    /// The items before the current one that left the playlist, oldest first; at most `PlaylistLoader.maxItems`.
    var history: [QueueItem] { order.history }
    var loopItem: PlayerOptions.Loop { order.loopItem }
    var loopList: PlayerOptions.Loop { order.loopList }
    var isShuffled: Bool { order.isShuffled }
    /// The current or awaited position in the playlist, or the last one.
    var present: PlaylistPosition? {
        let listPosition = entries.first?.listPosition ?? awaited
        return listPosition?.isOutsideList == false ? listPosition : lastPosition
    }
    /// The item that follows the current one; nil at the end.
    var next: QueueItem? { present.flatMap { successor(of: $0, leavesLoop: true, plays: true) }?.item }
    /// The position of the current item, starting at 1, and the number of items, including those that have passed.
    var ordinal: (number: Int, count: Int) { order.ordinal(of: present?.item.id) }

    /// Returns true if the item is in the playlist.
    func contains(_ id: QueueItem.ID) -> Bool { order.index(of: id) != nil }
    /// Returns the entry with a serial number.
    func entry(_ serial: Int) -> ScheduledItem? { entries.first { $0.serial == serial } }
    /// Returns the media time at which a position starts; nil: the default start.
    func start(of listPosition: PlaylistPosition) -> MediaTime? {
        listPosition.itemPass == 0 && listPosition.from == nil && listPosition.interstitialPart == nil
            ? order.start(of: listPosition.item.id) : nil
    }

    /// Returns true if a position cannot follow another one gaplessly.
    func separates(_ listPosition: PlaylistPosition, from last: PlaylistPosition) -> Bool {
        let isAnother = !listPosition.isSamePass(as: last)
        return isAnother && (order.isAlone(listPosition.item.id) || order.isAlone(last.item.id))
            || start(of: listPosition) != nil
            || pause(between: last, and: listPosition, plays: true) > .zero
    }

    /// Marks an item that is unplayable in a pass. It is not tried again in that pass, or until it is permitted.
    mutating func markUnplayable(_ id: QueueItem.ID, in pass: Int = 0) { order.markFailed(id, in: pass) }
    /// Marks an item that plays in a pass, and permits others that have played before.
    mutating func markPlayed(_ listPosition: PlaylistPosition) {
        if !listPosition.isOutsideList { order.markPlayed(listPosition.item.id, in: listPosition.listPass) }
    }
    /// Permits items that have played before.
    mutating func forgive() { order.retryPlayed() }
    /// Whether the playlist repeats forever and has an item that has played.
    var mayComeBack: Bool { order.mayComeBack }

    // MARK: Order of playback

    /// Returns the first playable position, or that of the given item.
    func firstPosition(_ id: QueueItem.ID? = nil) -> PlaylistPosition? { order.firstPosition(id) }

    /// Returns what follows an entry; nil at the end.
    func successor(of entry: ScheduledItem) -> PlaylistPosition? {
        if entry.listPosition.interstitialPart != nil, entry.cutEnd == nil, contains(entry.item.id) {
            return following(entry.listPosition, lasting: entry.interstitialLength).map { entering($0) }
        }
        return interstitial(after: entry) ?? sectionSuccessor(behind: entry)
            ?? successor(of: entry.basis ?? entry.listPosition, plays: true).map { entering($0) }
    }

    /// Returns the position after another one; nil at the end.
    ///
    /// - Parameters:
    ///   - leavesLoop: Whether to ignore remaining repetitions of the item.
    ///   - plays: Whether the item plays or is assumed to.
    func successor(of listPosition: PlaylistPosition, leavesLoop: Bool = false, plays: Bool = false)
        -> PlaylistPosition?
    {
        listPosition.isOutsideList ? nil : order.successor(of: listPosition, leavesLoop: leavesLoop, plays: plays)
    }

    /// Returns the pause before a position that follows another one: zero, unless no item was playable in the passes
    /// between them.
    ///
    /// - Parameter plays: Whether the item at the first position plays or is assumed to.
    func pause(between listPosition: PlaylistPosition, and next: PlaylistPosition, plays: Bool) -> Duration {
        order.pause(between: listPosition, and: next, plays: plays)
    }

    /// Returns the index of the first entry that the playlist no longer leads to; nil if there is none.
    var firstMismatch: Int? {
        if let first = entries.first, !contains(first.item.id), !first.isCut, !first.listPosition.isOutsideList {
            return 0
        }
        for (index, entry) in entries.enumerated().dropFirst() {
            if let expected = successor(of: entries[index - 1]), expected.isSame(as: entry.listPosition) { continue }
            // A cut entry has been handled.
            if !entry.isCut { return index }
        }
        return nil
    }

    // MARK: Interstitials

    /// Returns the item position of the next break after a position; nil if there is none.
    func nextBreak(of listPosition: PlaylistPosition, behind time: MediaTime) -> MediaTime? {
        guard section == nil else { return nil }
        return interstitials[listPosition.item.id]?.nextBreak(after: time, in: listPosition.listPass)
    }

    /// Returns the first playable part of a break; nil if there is none.
    func firstPart(of number: Int, at base: PlaylistPosition, goal: MediaTime? = nil) -> PlaylistPosition? {
        interstitials[base.item.id]?.firstPart(of: number, at: base, goal: goal)
    }

    /// Returns the break to play before an item starts at a position, or the given position unchanged.
    func entering(_ listPosition: PlaylistPosition, at time: MediaTime? = nil) -> PlaylistPosition {
        guard listPosition.interstitialPart == nil, listPosition.from == nil, section == nil else {
            return listPosition
        }
        return interstitials[listPosition.item.id]?.entering(listPosition, at: time) ?? listPosition
    }

    /// Returns the break at the end of an entry; nil if there is none.
    private func interstitial(after entry: ScheduledItem) -> PlaylistPosition? {
        guard entry.listPosition.interstitialPart == nil, entry.cutEnd == nil, contains(entry.item.id), section == nil,
            entry.sectionEnd != nil || entry.end == nil,
            let number = interstitials[entry.item.id]?.breakNumber(
                at: entry.sectionEnd, in: entry.listPosition.listPass)
        else { return nil }
        return firstPart(of: number, at: entry.basis ?? entry.listPosition)
    }

    /// Returns what follows a part of an interstitial.
    ///
    /// - Parameter length: The duration of the part.
    func following(_ listPosition: PlaylistPosition, lasting length: MediaTime) -> PlaylistPosition? {
        guard listPosition.interstitialPart != nil else { return nil }
        guard var next = interstitials[listPosition.item.id]?.following(listPosition, lasting: length) else {
            return successor(of: listPosition.plain)
        }
        if let time = next.from { next.until = nextBreak(of: next, behind: time) }
        return next
    }

    /// Returns the maximum duration of a part of an interstitial; nil for other positions.
    func room(for listPosition: PlaylistPosition) -> MediaTime? {
        listPosition.interstitialPart.flatMap { interstitials[listPosition.item.id]?.room(for: $0) }
    }

    /// Stores the schedule of an item, once.
    mutating func setInterstitials(_ schedule: InterstitialSchedule, of id: QueueItem.ID) {
        if interstitials[id] == nil, !schedule.isEmpty { interstitials[id] = schedule }
    }

    /// Records that a break is shown.
    mutating func markSeen(_ listPosition: PlaylistPosition) {
        if let part = listPosition.interstitialPart {
            interstitials[listPosition.item.id]?.markSeen(part, in: listPosition.listPass)
        }
    }

    /// Records that a part cannot be played; it is skipped.
    mutating func markLost(_ listPosition: PlaylistPosition) {
        if let part = listPosition.interstitialPart {
            interstitials[listPosition.item.id]?.markLost(part, in: listPosition.listPass)
        }
    }

    // MARK: Scheduling

    /// Returns a serial number that was never used.
    mutating func newSerial() -> Int {
        lastSerial += 1
        return lastSerial
    }

    /// Removes all entries; the position plays once its item is open.
    mutating func await(_ listPosition: PlaylistPosition?) {
        // Another item is played from its beginning, with its interstitials; this one continues.
        if let listPosition, listPosition.item != present?.item { interstitials[listPosition.item.id]?.startOver() }
        entries = []
        awaited = listPosition
        if let listPosition { setCurrent(listPosition) }
        forgetRemoved()
    }

    /// Starts with an entry whose media time equals the timeline.
    mutating func begin(with entry: ScheduledItem) {
        var entry = entry
        entry.offset = .zero
        (entries, awaited) = ([entry], nil)
        setCurrent(entry.listPosition)
        forgetPassed()
    }

    /// Restarts the current entry with its media time as the timeline, and removes the following ones.
    ///
    /// - Parameter time: The media time of the restart; beyond the repeated section, the section is ignored.
    mutating func rebase(at time: MediaTime = .zero) {
        guard var entry = entries.first else { return }
        entry.offset = .zero
        entry.restoreFullRange()
        if entry.listPosition.interstitialPart == nil {
            if let section, time < section.end { entry.sectionEnd = section.end }
            if let next = nextBreak(of: entry.listPosition, behind: time) { entry.sectionEnd = next }
        }
        // The audio will be read to its end again, possibly from another track.
        if entry.audioEnd != .none { entry.audioEnd = .unknown }
        entries = [entry]
        forgetRemoved()
    }

    /// Schedules an entry after the last one.
    mutating func append(_ entry: ScheduledItem) {
        var entry = entry
        entry.offset = nil
        if entry.listPosition.interstitialPart == nil, entry.sectionEnd == nil,
            let next = nextBreak(of: entry.listPosition, behind: entry.start)
        {
            entry.sectionEnd = next
        }
        entries.append(entry)
        setOffset(entries.count - 1)
    }

    /// Makes the next entry current.
    mutating func advance() {
        guard entries.count > 1 else { return }
        let ended = entries.removeFirst()
        let next = entries[0].listPosition
        if !next.isSamePass(as: ended.listPosition) { recordEnded(ended.listPosition) }
        setCurrent(next)
        forgetPassed()
    }

    /// Records that an item has played to its end: it starts at the default position from now on.
    mutating func recordEnded(_ listPosition: PlaylistPosition) { order.clearStart(of: listPosition.item) }

    /// Makes a position the current one in the order of playback.
    mutating func setCurrent(_ listPosition: PlaylistPosition) {
        guard !listPosition.isOutsideList else { return }
        lastPosition = listPosition
        order.setCurrent(listPosition)
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
        entries[index].basis = entries[index - 1].basis ?? entries[index - 1].listPosition
    }

    /// Sets the end of a track in media time. An end on which the next entry's position depends remains.
    mutating func setTrackEnd(_ end: ScheduledItem.TrackEnd, _ kind: Track.Kind, of serial: Int) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return }
        let isSettled = index + 1 < entries.count && entries[index + 1].offset != nil
        guard !isSettled, entries[index].sectionEnd == nil else { return }
        if kind == .audio {
            entries[index].audioEnd = end
        } else if entries[index].videoEnd == .unknown {
            entries[index].videoEnd = end
        }
        for later in entries.indices.dropFirst(index + 1) { setOffset(later) }
    }

    /// The minimum lead by which a truncated item ends early. Less is the duration of the last frame, or a rounded
    /// index.
    static let brokenOffLead = MediaTime(value: 1, timescale: 1)
    /// The maximum duration for which audio extends beyond video that ends early; longer audio is part of the media,
    /// unless the file is known to be truncated.
    static let longestTornTail = MediaTime(value: 3, timescale: 1)

    /// Records the end of the video as read, in media time.
    mutating func recordRead(videoUntil time: MediaTime, of serial: Int) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return }
        entries[index].losses.videoRead = time
        // The end of the video of a long film is unknown until the audio is near it.
        let stated = entries[index].losses.isVideoTruncated ? entries[index].film.summary.duration : nil
        guard entries[index].setEnd == nil, let known = entries[index].videoEnd.time ?? stated,
            time + Self.brokenOffLead < known
        else { return }
        entries[index].brokenOff = time
    }

    /// Ends a truncated entry at its actual end. Ends it with its audio if that extends far beyond the video and the
    /// file has not become shorter: audio of such a file was read before, up to minutes ahead.
    ///
    /// - Returns: The actual end in media time; nil if it is not early.
    mutating func settleBrokenOff(_ serial: Int) -> MediaTime? {
        guard let index = entries.firstIndex(where: { $0.serial == serial }), let time = entries[index].brokenOff,
            let before = entries[index].filmEnd
        else { return nil }
        entries[index].brokenOff = nil
        entries[index].videoEnd = .at(time)
        guard var now = entries[index].filmEnd else { return nil }
        if entries[index].losses.isVideoTruncated || now <= time + Self.longestTornTail { now = min(now, time) }
        return now + Self.brokenOffLead < before ? now : nil
    }

    /// Modifies an entry in place.
    mutating func change(_ serial: Int, _ body: (inout ScheduledItem) -> Void) {
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return }
        body(&entries[index])
    }

    /// Sets the position of an entry once the end of the preceding one is known.
    private mutating func setOffset(_ index: Int) {
        guard index > 0, entries[index].offset == nil, let gaplessBoundary = entries[index - 1].gaplessBoundary else {
            return
        }
        entries[index].offset = (gaplessBoundary - entries[index].start).reduced
    }

    // MARK: Removal from the playlist

    /// Moves items that have played to the history, unless a further pass repeats them.
    private mutating func forgetPassed() {
        if let entry = entries.first, !entry.listPosition.isOutsideList {
            // If it was removed from the playlist, the preceding item has ended as well.
            if var basis = entry.basis {
                basis.listPass = entry.listPosition.listPass
                order.passItems(through: basis)
            } else {
                order.passItems(before: entry.listPosition)
            }
        }
        forgetRemoved()
    }

    /// Drops removed items that no entry requires.
    private mutating func forgetRemoved() {
        var needed = Set(entries.map(\.item.id)).union(entries.compactMap { $0.basis?.item.id })
        if let awaited { needed.insert(awaited.item.id) }
        if !interstitials.isEmpty { interstitials = interstitials.filter { id, _ in order.knows(id) } }
        order.dropRemoved(except: needed)
    }

    // MARK: Edits

    /// Applies an edit; returns false if nothing was changed. The scheduled entries are compared with the playlist
    /// afterwards.
    mutating func apply(_ edit: QueueEdit) -> Bool {
        defer { forgetRemoved() }
        switch edit {
        case .append(let items), .insert(let items, after: nil): return order.insert(items, after: nil)
        case .insert(let items, let after?):
            guard let index = order.index(of: after) else { return false }
            return order.insert(items, after: index)
        case .remove(let id): return order.remove(id)
        case .removeAll: return order.removeAll()
        case .replace(let id, let item): return order.replace(id, with: item)
        case .replaceAll(let items, let order):
            let isChanged = self.order.replaceAll(with: items, order: order, current: present?.item.id)
            if isChanged { forgetPassed() }
            return isChanged
        case .move(let id, let after): return order.move(id, after: after)
        case .loop(let item, let list): setLoop(item: item, list: list)
        case .order(let wanted):
            order.setOrder(wanted, current: present?.item.id)
            forgetPassed()
        case .retry(let retry): order.setRetry(retry)
        }
        return true
    }

    /// Inserts items after the first item from the current one on that has an address, unless they are already there;
    /// returns false if nothing was inserted.
    mutating func insert(_ items: [QueueItem], after address: String) -> Bool {
        order.insert(items, after: address, from: present?.item.id)
    }

    /// Sets the repetitions, counted from now on.
    private mutating func setLoop(item: PlayerOptions.Loop, list: PlayerOptions.Loop) {
        let done = (entries.first.map { $0.basis ?? $0.listPosition } ?? awaited)?.listPass ?? 0
        if item != loopItem { restartCount(\.itemPass) }
        if list != loopList {
            restartCount(\.listPass)
            awaited?.listPass -= done
            lastPosition?.listPass -= done
            for id in interstitials.keys { interstitials[id]?.countPasses(from: done) }
        }
        order.loop(item: item, list: list, countingFrom: done)
    }

    private mutating func restartCount(_ pass: WritableKeyPath<PlaylistPosition, Int>) {
        guard let first = entries.first else { return }
        let done = (first.basis ?? first.listPosition)[keyPath: pass]
        for entry in entries {
            // Repetitions of another item, or in another pass of the list, are counted separately.
            guard pass == \.listPass || entry.item == first.item, entry.listPosition[keyPath: pass] >= done else {
                break
            }
            change(entry.serial) { entry in
                entry.listPosition[keyPath: pass] -= done
                entry.basis?[keyPath: pass] -= done
            }
        }
    }

    /// Replaces the items after the current or awaited one.
    mutating func setFollowing(_ items: [QueueItem]) {
        order.setFollowing(items, after: entries.first?.item ?? awaited?.item)
        forgetRemoved()
    }

    /// Replaces the playlist and its history. Returns the position to start with.
    ///
    /// - Parameters:
    ///   - first: The item to start with; nil: the first one. Preceding items have passed.
    ///   - wanted: The order of the items; nil: unchanged.
    mutating func reset(
        to items: [QueueItem], first: QueueItem.ID? = nil, order wanted: PlayerOptions.PlaylistOrder? = nil
    ) -> PlaylistPosition? {
        if let wanted { order.setOrder(wanted, current: nil) }
        for id in interstitials.keys { interstitials[id]?.startOver() }
        return order.reset(to: items, first: first)
    }

    /// Returns the position of an adjacent item of the pass; nil beyond its ends. Items of the history return to the
    /// playlist.
    mutating func step(by distance: Int) -> PlaylistPosition? { present.flatMap { order.step(from: $0, by: distance) } }

    /// Returns the first position of the pass, also of an item that has failed, and permits all items.
    mutating func startOver() -> PlaylistPosition? { order.startOver() }

    /// Returns the position of an item of the playlist or of the history, which returns to the playlist together with
    /// the later ones; nil if there is none.
    mutating func recall(_ id: QueueItem.ID) -> PlaylistPosition? { order.recall(id) }
}
