internal import MediaCore

/// The items of a playlist in the order of playback, the items that have passed, the loops, and the unplayable items.
///
/// A value type; its owner is `PlaybackList`.
struct PlaybackOrder: Sendable {
    struct Slot: Sendable {
        var item: QueueItem
        /// Removed from the playlist, but required to determine the successor of an entry.
        var isRemoved = false
        /// Removed from the playlist while it plays: it plays to its end and is not repeated.
        var isLeaving = false
        /// The last pass in which the item was unplayable or empty, and is therefore not tried again; -1: none.
        var failedPass = -1
        /// Whether the item has played.
        var hasPlayed = false
        /// The position in the order of the list while the playlist is shuffled.
        var rank = 0
    }

    /// A seeded generator (SplitMix64: Steele, Lea, Flood, “Fast Splittable Pseudorandom Number Generators”, 2014).
    struct Generator: RandomNumberGenerator, Sendable {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    /// The pauses before a pass that follows passes without a playable item. They grow, and an item that returns is
    /// detected within a second.
    private static let pauses: [Duration] = [
        .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(700),
    ]
    /// The maximum length of `history`.
    static let maxHistory = PlaylistLoader.maxItems

    /// The items in the order of the current pass.
    private var slots: [Slot] = []
    /// The items before the current one that left the playlist, oldest first.
    private(set) var history: [QueueItem] = []
    /// The number of older items that are no longer in `history`.
    private var forgotten = 0
    private(set) var loopItem = PlayerOptions.Loop.times(0)
    private(set) var loopList = PlayerOptions.Loop.times(0)
    /// When unplayable items are tried again.
    private var retry = PlayerOptions.Retry.afterPlaying
    /// The generator of a shuffled playlist; nil: the order of the list.
    private var generator: Generator?
    /// The pass of the current item.
    private var pass = 0
    /// The last pass in which an item has played.
    private var lastPlayedPass: Int?

    // MARK: Items

    /// The current item, if it is in the playlist, and the upcoming ones.
    var items: [QueueItem] { slots.filter { !$0.isRemoved }.map(\.item) }

    /// Whether the order is random.
    var isShuffled: Bool { generator != nil }

    /// Returns the index of an item that is not removed.
    func index(of id: QueueItem.ID) -> Int? { slots.firstIndex { $0.item.id == id && !$0.isRemoved } }
    /// Returns true if the item is known, including removed items that an entry requires.
    func knows(_ id: QueueItem.ID) -> Bool { slots.contains { $0.item.id == id } }
    /// Returns true if an item must be played while no other item is open.
    func isAlone(_ id: QueueItem.ID) -> Bool { index(of: id).map { slots[$0].item.isAlone } ?? false }
    /// Returns the position at which an item starts; nil: the default start.
    func start(of id: QueueItem.ID) -> MediaTime? { index(of: id).flatMap { slots[$0].item.start } }

    /// Returns the position of an item, starting at 1, and the number of items, including those that have passed.
    func ordinal(of id: QueueItem.ID?) -> (number: Int, count: Int) {
        let passed = forgotten + history.count
        let index = id.flatMap { self.index(of: $0) }
        let before = slots[..<(index ?? 0)].count { !$0.isRemoved }
        let isListed = index.map { !slots[$0].isLeaving } ?? false
        return (
            max(1, passed + before + (isListed ? 1 : 0)), passed + slots.count { !$0.isRemoved && !$0.isLeaving }
        )
    }

    // MARK: Order of playback

    private static func allows(_ loop: PlayerOptions.Loop, _ passes: Int) -> Bool {
        switch loop {
        case .forever: true
        case .times(let count): passes < count
        }
    }

    /// Returns the slots in the order of a pass.
    private func slots(in number: Int) -> [Slot] { number > pass && generator != nil ? arranged(for: number).0 : slots }

    /// Returns the slots of a later pass, and the generator for the pass after it.
    private func arranged(for number: Int) -> ([Slot], Generator?) {
        guard var generator, number > pass else { return (slots, generator) }
        var next = slots.filter { !$0.isRemoved && !$0.isLeaving }
        for _ in pass..<number {
            let last = next.last
            next.shuffle(using: &generator)
            // The last item is not repeated first.
            if next.count > 1, let last, next[0].item.isSameMedia(as: last.item) {
                next.swapAt(0, Int.random(in: 1..<next.count, using: &generator))
            }
        }
        return (slots.filter { $0.isRemoved || $0.isLeaving } + next, generator)
    }

    private func isPlayable(_ slot: Slot, in number: Int) -> Bool {
        !slot.isRemoved && slot.failedPass < number && !(slot.isLeaving && number > pass)
    }

    /// Returns the first playable position of a pass, or that of the given item.
    func firstPosition(_ id: QueueItem.ID? = nil, in number: Int? = nil) -> PlaylistPosition? {
        let number = number ?? pass
        let slots = slots(in: number)
        let index =
            id == nil
            ? slots.firstIndex { isPlayable($0, in: number) } : slots.firstIndex { $0.item.id == id && !$0.isRemoved }
        return index.map { PlaylistPosition(item: slots[$0].item, listPass: number) }
    }

    /// Returns the position after another one; nil at the end.
    ///
    /// - Parameters:
    ///   - leavesLoop: Whether to ignore remaining repetitions of the item.
    ///   - plays: Whether the item plays or is assumed to.
    func successor(of listPosition: PlaylistPosition, leavesLoop: Bool, plays: Bool) -> PlaylistPosition? {
        let slots = slots(in: listPosition.listPass)
        let id = listPosition.item.id
        let index = slots.firstIndex { $0.item.id == id && !$0.isRemoved } ?? slots.lastIndex { $0.item.id == id }
        guard let index else { return firstPosition(in: listPosition.listPass) }
        let slot = slots[index]
        if !leavesLoop, !slot.isLeaving, isPlayable(slot, in: listPosition.listPass),
            Self.allows(loopItem, listPosition.itemPass)
        {
            return PlaylistPosition(
                item: slot.item, itemPass: listPosition.itemPass + 1, listPass: listPosition.listPass)
        }
        if let next = slots[(index + 1)...].first(where: { isPlayable($0, in: listPosition.listPass) }) {
            return PlaylistPosition(item: next.item, listPass: listPosition.listPass)
        }
        return firstPosition(after: listPosition.listPass, plays: plays)
    }

    /// Returns the first playable position of the next pass that has one.
    private func firstPosition(after number: Int, plays: Bool) -> PlaylistPosition? {
        // A removed storage device may return, but a playlist that never played contains wrong names.
        guard retry == .afterPlaying || plays || lastPlayedPass != nil,
            slots.contains(where: { !$0.isRemoved && !$0.isLeaving })
        else { return nil }
        var number = number
        while Self.allows(loopList, number) {
            number += 1
            if let first = firstPosition(in: number) { return first }
            if retry == .afterPlaying { return nil }
        }
        return nil
    }

    /// Returns the pause between two positions: zero, unless no item was playable in the passes between them.
    ///
    /// - Parameter plays: Whether the item at the first position plays or is assumed to.
    func pause(between listPosition: PlaylistPosition, and next: PlaylistPosition, plays: Bool) -> Duration {
        guard retry == .eachPass, next.listPass > listPosition.listPass else { return .zero }
        let played = plays ? listPosition.listPass : lastPlayedPass ?? listPosition.listPass
        let empty = next.listPass - played - 1
        return empty > 0 ? Self.pauses[min(empty, Self.pauses.count) - 1] : .zero
    }

    /// Whether the playlist repeats forever and has an item that has played.
    var mayComeBack: Bool {
        (loopItem == .forever || (loopList == .forever && retry == .afterPlaying))
            && slots.contains { $0.hasPlayed && !$0.isRemoved }
    }

    // MARK: Playback

    /// Marks an item that is unplayable in a pass.
    mutating func markFailed(_ id: QueueItem.ID, in number: Int) {
        guard let index = index(of: id) else { return }
        slots[index].failedPass = retry == .eachPass ? max(slots[index].failedPass, number) : .max
    }

    /// Marks an item that plays in a pass.
    mutating func markPlayed(_ id: QueueItem.ID, in number: Int) {
        if let index = index(of: id) { slots[index].hasPlayed = true }
        lastPlayedPass = max(lastPlayedPass ?? number, number)
        retryPlayed()
    }

    /// Permits items that have played before.
    mutating func retryPlayed() {
        guard retry == .afterPlaying else { return }
        for index in slots.indices where slots[index].hasPlayed { slots[index].failedPass = -1 }
    }

    /// Removes the start position of a media that has played to its end.
    mutating func clearStart(of item: QueueItem) {
        guard slots.contains(where: { $0.item.start != nil }) else { return }
        for index in slots.indices where slots[index].item.address == item.address { slots[index].item.start = nil }
    }

    /// Permits all items. Returns the first position of the pass.
    mutating func startOver() -> PlaylistPosition? {
        for index in slots.indices { slots[index].failedPass = -1 }
        return firstPosition()
    }

    /// Makes a position the current one.
    mutating func setCurrent(_ listPosition: PlaylistPosition) {
        if listPosition.listPass > pass {
            (slots, generator) = arranged(for: listPosition.listPass)
            pass = listPosition.listPass
        }
        for index in slots.indices where slots[index].isLeaving && slots[index].item.id != listPosition.item.id {
            slots[index].isRemoved = true
        }
    }

    /// Moves the items before a position to the history, unless a further pass repeats them.
    mutating func passItems(before listPosition: PlaylistPosition) {
        guard !Self.allows(loopList, listPosition.listPass), let index = index(of: listPosition.item.id) else { return }
        passItems(before: index)
    }

    /// Same, including the item at a position.
    mutating func passItems(through listPosition: PlaylistPosition) {
        guard !Self.allows(loopList, listPosition.listPass) else { return }
        let id = listPosition.item.id
        guard let index = index(of: id) ?? slots.lastIndex(where: { $0.item.id == id }) else { return }
        passItems(before: index + 1)
    }

    private mutating func passItems(before end: Int) {
        for index in slots[..<end].indices where !slots[index].isRemoved {
            slots[index].isRemoved = true
            if !slots[index].isLeaving { history.append(slots[index].item) }
        }
        let excess = history.count - Self.maxHistory
        if excess > 0 {
            history.removeFirst(excess)
            forgotten += excess
        }
    }

    /// Drops removed items that are not required.
    mutating func dropRemoved(except needed: Set<QueueItem.ID>) {
        slots.removeAll { $0.isRemoved && !needed.contains($0.item.id) }
    }

    /// Returns the position of an adjacent item of the pass; nil beyond its ends. Items of the history return to the
    /// playlist. A removed item is between its neighbours.
    mutating func step(from listPosition: PlaylistPosition, by distance: Int) -> PlaylistPosition? {
        let present = slots.indices.filter { !slots[$0].isRemoved }
        let id = listPosition.item.id
        let slot = index(of: id) ?? slots.lastIndex { $0.item.id == id } ?? slots.endIndex
        let found = present.firstIndex { $0 >= slot } ?? present.endIndex
        let isRemoved = found == present.endIndex || present[found] != slot
        let target = found + (isRemoved && distance > 0 ? distance - 1 : distance)
        if target < 0, history.count >= -target {
            return recall(history[history.count + target].id)
        }
        guard present.indices.contains(target) else { return nil }
        return PlaylistPosition(item: slots[present[target]].item, listPass: listPosition.listPass)
    }

    /// Returns the position of an item of the playlist or of the history, which returns to the playlist together with
    /// the later ones.
    mutating func recall(_ id: QueueItem.ID) -> PlaylistPosition? {
        if let slotIndex = history.lastIndex(where: { $0.id == id }) {
            // An item that has played is played again, whether or not it failed.
            slots.insert(contentsOf: history[slotIndex...].map { Slot(item: $0) }, at: 0)
            history.removeSubrange(slotIndex...)
        }
        return firstPosition(id)
    }

    // MARK: Edits

    /// Inserts items after a slot; returns false if nothing was inserted.
    mutating func insert(_ items: [QueueItem], after index: Int?) -> Bool {
        let ids = Set(items)
        guard !items.isEmpty, ids.count == items.count, !items.contains(where: { self.index(of: $0.id) != nil }) else {
            return false
        }
        history.removeAll(where: ids.contains)
        let rank = index.map { slots[$0].rank } ?? slots.map(\.rank).max() ?? 0
        let index = index ?? slots.count - 1
        for other in slots.indices where slots[other].rank > rank { slots[other].rank += items.count }
        slots.insert(
            contentsOf: items.enumerated().map { Slot(item: $1, rank: rank + 1 + $0) }, at: index + 1)
        return true
    }

    /// Inserts items after the first item from the current one on that has an address, unless they are already there;
    /// returns false if nothing was inserted.
    mutating func insert(_ items: [QueueItem], after address: String, from current: QueueItem.ID?) -> Bool {
        let first = current.flatMap { index(of: $0) } ?? 0
        let present = slots.count { !$0.isRemoved } + history.count
        guard present + items.count <= PlaylistLoader.maxItems,
            let index = slots[first...].firstIndex(where: { !$0.isRemoved && $0.item.address == address }),
            !slots[(index + 1)...].lazy.filter({ !$0.isRemoved }).prefix(items.count).map(\.item.address)
                .elementsEqual(items.map(\.address))
        else { return false }
        return insert(items, after: index)
    }

    mutating func remove(_ id: QueueItem.ID) -> Bool {
        guard let index = index(of: id) else { return false }
        slots[index].isRemoved = true
        return true
    }

    mutating func removeAll() -> Bool {
        guard slots.contains(where: { !$0.isRemoved }) else { return false }
        for index in slots.indices { slots[index].isRemoved = true }
        return true
    }

    mutating func replace(_ id: QueueItem.ID, with item: QueueItem) -> Bool {
        guard let index = index(of: id), self.index(of: item.id) == nil else { return false }
        slots[index].isRemoved = true
        history.removeAll { $0 == item }
        slots.insert(Slot(item: item, rank: slots[index].rank), at: index + 1)
        return true
    }

    /// Moves an item after another one; nil: to the end.
    mutating func move(_ id: QueueItem.ID, after other: QueueItem.ID?) -> Bool {
        guard let from = index(of: id), id != other else { return false }
        guard let target = other.map({ index(of: $0) }) ?? (slots.count - 1) else { return false }
        // Its scheduled entries refer to the old position.
        var slot = slots[from]
        slots[from].isRemoved = true
        slot.rank = slots[target].rank
        slots.insert(slot, at: target + 1)
        return true
    }

    /// Replaces the items after the current one.
    mutating func setFollowing(_ items: [QueueItem], after current: QueueItem?) {
        var wanted = items
        let failed = Dictionary(slots.map { ($0.item.id, $0.failedPass) }) { first, _ in first }
        let slotIndex = current.flatMap { index(of: $0.id) }
        // The caller may not know yet which of the items are playable.
        if let current, let index = wanted.firstIndex(of: current) { wanted.removeSubrange(...index) }
        for index in slots.indices where index != slotIndex { slots[index].isRemoved = true }
        history.removeAll(where: Set(wanted).contains)
        slots.insert(
            contentsOf: wanted.map { Slot(item: $0, failedPass: failed[$0.id] ?? -1) },
            at: slotIndex.map { $0 + 1 } ?? slots.count)
    }

    /// Sets the repetitions, counted from now on.
    ///
    /// - Parameter done: The pass from which the repetitions of the playlist are counted.
    mutating func loop(item: PlayerOptions.Loop, list: PlayerOptions.Loop, countingFrom done: Int) {
        if list != loopList {
            pass -= done
            lastPlayedPass? -= done
            for index in slots.indices where slots[index].failedPass != .max {
                slots[index].failedPass = max(-1, slots[index].failedPass - done)
            }
        }
        (loopItem, loopList) = (item, list)
    }

    /// Sets when unplayable items are tried again; all are from now on.
    mutating func setRetry(_ retry: PlayerOptions.Retry) {
        self.retry = retry
        _ = startOver()
    }

    /// Sets the order of the items after the current one and of later passes.
    mutating func setOrder(_ order: PlayerOptions.PlaylistOrder, current: QueueItem.ID?) {
        switch order {
        case .listed:
            guard generator != nil else { return }
            generator = nil
            slots.sort { $0.rank < $1.rank }
        case .shuffled(let seed):
            guard beginShuffling(seed) else { return }
            let first = current.flatMap { index(of: $0) }.map { $0 + 1 } ?? 0
            slots[first...].shuffle(using: &generator!)
        }
    }

    /// Returns false if the playlist is shuffled already.
    private mutating func beginShuffling(_ seed: UInt64) -> Bool {
        guard generator == nil else { return false }
        generator = Generator(state: seed)
        for index in slots.indices { slots[index].rank = index }
        return true
    }

    /// Replaces the playlist, its history and the state of its items. Returns the position to start with.
    ///
    /// - Parameter first: The item to start with; nil: the first one. Preceding items have passed.
    mutating func reset(to items: [QueueItem], first: QueueItem.ID?) -> PlaylistPosition? {
        var ids: Set<QueueItem.ID> = []
        slots = items.filter { ids.insert($0.id).inserted }.enumerated().map { Slot(item: $1, rank: $0) }
        (history, forgotten, pass, lastPlayedPass) = ([], 0, 0, nil)
        if generator != nil { slots.shuffle(using: &generator!) }
        guard let slotIndex = first.map({ index(of: $0) ?? 0 }), !slots.isEmpty else { return firstPosition() }
        // In a shuffled order the other items are still to come.
        if generator != nil { slots.swapAt(0, slotIndex) }
        let listPosition = firstPosition(first)
        if let listPosition { passItems(before: listPosition) }
        dropRemoved(except: [])
        return listPosition
    }
}

// Playlists that change during playback: watched folders, times of the day.
extension PlaybackOrder {
    /// Replaces the playlist. The current item continues, followed by those that followed it in the old list.
    ///
    /// An item with the address, title and edition of a present one is that item; so its preparation remains.
    ///
    /// - Parameter order: Nil: unchanged.
    mutating func replaceAll(
        with wanted: [QueueItem], order: PlayerOptions.PlaylistOrder?, current: QueueItem.ID?
    ) -> Bool {
        guard Set(wanted).count == wanted.count else { return false }
        let playing = current.flatMap { index(of: $0) }
        let slotIndex = max(0, self.ordinal(of: current).number - 1 - forgotten)
        let before = playing.map { slots[..<$0].filter { !$0.isRemoved } } ?? []
        let coming = slots[(playing.map { $0 + 1 } ?? 0)...].filter { !$0.isRemoved }
        let played = history.map { Slot(item: $0) } + before
        let ids = Set(wanted)
        var next = wanted.enumerated().map { Slot(item: $1, rank: $0) }
        var kept: Int?
        if let playing {
            let item = slots[playing].item
            kept = next.nearest(to: slotIndex) {
                $0.item == item || !ids.contains(item) && $0.item.isSameMedia(as: item)
            }
            if let kept { next[kept].item = item.prepared(as: next[kept].item) }
        }
        var known = Dictionary(grouping: coming + played) { $0.item.media }
        var present: Set<QueueItem.ID> = []
        for index in next.indices where index != kept {
            let item = next[index].item
            let same = known[item.media]?.firstIndex { $0.item == item || !ids.contains($0.item) }
            guard let same, let slot = known[item.media]?.remove(at: same) else { continue }
            next[index].item = slot.item.prepared(as: item)
            next[index].hasPlayed = slot.hasPlayed
            // Reported in this pass already.
            if retry == .eachPass { next[index].failedPass = slot.failedPass }
            present.insert(slot.item.id)
        }
        (history, forgotten) = ([], 0)
        switch order {
        case .listed?: generator = nil
        case .shuffled(let seed)?: if generator == nil { generator = Generator(state: seed) }
        case nil: break
        }
        guard let playing else {
            slots = next
            if generator != nil { slots.shuffle(using: &generator!) }
            return true
        }
        var leaving = slots[playing]
        leaving.isLeaving = true
        guard generator == nil else {
            throwIn(next, kept: kept, leaving: leaving, coming: coming.filter { present.contains($0.item.id) }, present)
            return true
        }
        slots = next
        guard kept == nil else { return true }
        // If the same file has changed, its new version counts. If it was removed, the first following item that
        // remains comes next, otherwise the one after the last remaining predecessor.
        let successor =
            next.nearest(to: slotIndex) { $0.item.address == leaving.item.address }.map { $0 + 1 }
            ?? coming.lazy.compactMap { slot in next.firstIndex { $0.item == slot.item } }.first
            ?? played.reversed().lazy.compactMap { slot in next.firstIndex { $0.item == slot.item } }.first.map {
                $0 + 1
            }
            ?? 0
        slots.insert(leaving, at: successor)
        return true
    }

    /// Replaces a shuffled playlist: upcoming items keep their order, and new ones are inserted at random.
    private mutating func throwIn(
        _ wanted: [Slot], kept: Int?, leaving: Slot, coming: [Slot], _ present: Set<QueueItem.ID>
    ) {
        let slots = Dictionary(wanted.map { ($0.item.id, $0) }) { first, _ in first }
        var coming = coming.compactMap { slots[$0.item.id] }
        for (index, slot) in wanted.enumerated()
        where index != kept && !present.contains(slot.item.id) && slot.item.address != leaving.item.address {
            coming.insert(slot, at: Int.random(in: 0...coming.count, using: &generator!))
        }
        let rest = Set(coming.map(\.item.id))
        var done = wanted.enumerated().filter { $0 != kept && !rest.contains($1.item.id) }.map(\.element)
        if let kept {
            self.slots = done + [wanted[kept]] + coming
        } else {
            if done.isEmpty, coming.isEmpty { done = wanted }
            self.slots = done + [leaving] + coming
        }
    }
}

extension [PlaybackOrder.Slot] {
    /// Returns the matching index that is nearest to another one.
    fileprivate func nearest(to other: Int, where isMatch: (Element) -> Bool) -> Int? {
        indices.filter { isMatch(self[$0]) }.min { abs($0 - other) < abs($1 - other) }
    }
}
