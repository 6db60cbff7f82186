// User edits of the list. The scheduled entries are compared with it afterwards.
extension PlaybackList {
    /// Applies an edit; returns false if nothing was changed.
    package mutating func apply(_ edit: QueueEdit) -> Bool {
        defer { forgetRemoved() }
        switch edit {
        case .append(let items), .insert(let items, after: nil): return insert(items, behind: slots.count - 1)
        case .insert(let items, let after?):
            guard let index = index(of: after) else { return false }
            return insert(items, behind: index)
        case .remove(let id):
            guard let index = index(of: id) else { return false }
            slots[index].isRemoved = true
        case .removeAll:
            guard slots.contains(where: { !$0.isRemoved }) else { return false }
            for index in slots.indices { slots[index].isRemoved = true }
        case .replace(let id, let item):
            guard let index = index(of: id), !contains(item.id) else { return false }
            slots[index].isRemoved = true
            slots.insert(Slot(item: item), at: index + 1)
        case .move(let id, let after): return move(id, behind: after)
        case .loop(let item, let list): return loop(item: item, list: list)
        }
        return true
    }

    private mutating func insert(_ items: [QueueItem], behind index: Int) -> Bool {
        guard !items.isEmpty, !items.contains(where: { contains($0.id) }), Set(items).count == items.count else {
            return false
        }
        slots.insert(contentsOf: items.map { Slot(item: $0) }, at: index + 1)
        return true
    }

    private mutating func move(_ id: QueueItem.ID, behind other: QueueItem.ID?) -> Bool {
        guard let from = index(of: id), id != other else { return false }
        guard let target = other.map({ index(of: $0) }) ?? (slots.count - 1) else { return false }
        // Its scheduled entries refer to the old position.
        let slot = slots[from]
        slots[from].isRemoved = true
        slots.insert(Slot(item: slot.item, isBarren: slot.isBarren, hasGiven: slot.hasGiven), at: target + 1)
        return true
    }

    /// Sets the repetitions, counted from now on.
    private mutating func loop(item: PlayerOptions.Loop, list: PlayerOptions.Loop) -> Bool {
        if item != loopItem { countAnew(\.itemPass) }
        if list != loopList { countAnew(\.listPass) }
        (loopItem, loopList) = (item, list)
        return true
    }

    private mutating func countAnew(_ pass: WritableKeyPath<Turn, Int>) {
        guard let first = entries.first else { return }
        let done = (first.basis ?? first.turn)[keyPath: pass]
        for entry in entries {
            // Repetitions of another item, or in another pass of the list, are counted separately.
            guard pass == \.listPass || entry.item == first.item, entry.turn[keyPath: pass] >= done else { break }
            change(entry.serial) { entry in
                entry.turn[keyPath: pass] -= done
                entry.basis?[keyPath: pass] -= done
            }
        }
    }

    /// Replaces the items after the current or awaited one.
    mutating func setFollowing(_ items: [QueueItem]) {
        var wanted = items
        let barren = Set(slots.filter(\.isBarren).map(\.item.id))
        let present = entries.first?.item ?? awaited?.item
        let place = present.flatMap { index(of: $0.id) }
        // The caller may not know yet which of the items are playable.
        if let present, let index = wanted.firstIndex(of: present) { wanted.removeSubrange(...index) }
        for index in slots.indices where index != place { slots[index].isRemoved = true }
        slots.insert(
            contentsOf: wanted.map { Slot(item: $0, isBarren: barren.contains($0.id)) },
            at: place.map { $0 + 1 } ?? slots.count)
        forgetRemoved()
    }
}
