// Changes of the list during playback: watched folders, times of the day.
extension PlayQueue {
    /// Replaces the list. The current item continues, followed by those that followed it in the old list.
    ///
    /// - Parameters:
    ///   - wanted: At least one item.
    ///   - order: Nil: unchanged.
    package mutating func replace(with wanted: [Item], order: Order? = nil) {
        switch order {
        case .listed?: shuffling = nil
        case .shuffled(let seed)?: if shuffling == nil { shuffling = Shuffling(state: seed) }
        case nil: break
        }
        let playing = current
        let split = stray?.next ?? index
        let played = Array(items[..<split])
        let toCome = Array(items[(stray == nil ? split + 1 : split)...])
        guard shuffling == nil else { return throwIn(wanted, behind: playing, toCome: toCome) }
        items = wanted
        if let place = place(near: index, where: { $0 == playing }) {
            (index, stray) = (place, nil)
            return
        }
        // If the same file has changed, its new version counts. If it was removed, the first following item that
        // remains comes next, otherwise the one after the last remaining predecessor.
        let present = Set(wanted)
        let next =
            place(near: index, where: { $0.address == playing.address }).map { $0 + 1 }
            ?? toCome.first(where: present.contains).flatMap { item in place(near: index) { $0 == item } }
            ?? played.last(where: present.contains).flatMap { item in place(near: index) { $0 == item } }.map { $0 + 1 }
            ?? 0
        stray = (playing, next)
        index = max(0, next - 1)
    }

    /// Replaces a shuffled list: upcoming items keep their order, and new ones are inserted at random.
    private mutating func throwIn(_ wanted: [Item], behind playing: Item, toCome: [Item]) {
        let present = Set(wanted)
        let known = Set(items)
        var coming = toCome.filter { present.contains($0) }
        for item in wanted where !known.contains(item) && item.address != playing.address {
            coming.insert(item, at: Int.random(in: 0...coming.count, using: &shuffling!))
        }
        let rest = Set(coming)
        var done = wanted.filter { !rest.contains($0) && $0 != playing }
        if present.contains(playing) {
            (index, stray) = (done.count, nil)
            items = done + [playing] + coming
        } else {
            if done.isEmpty, coming.isEmpty { done = wanted }
            stray = (playing, done.count)
            index = max(0, done.count - 1)
            items = done + coming
        }
    }

    /// Returns the matching index that is nearest to another one.
    private func place(near other: Int, where isIt: (Item) -> Bool) -> Int? {
        items.indices.filter { isIt(items[$0]) }.min { abs($0 - other) < abs($1 - other) }
    }

    /// Shuffles the next pass; the last item is not repeated first.
    mutating func shuffle() {
        guard var shuffling else { return }
        let last = items.last
        items.shuffle(using: &shuffling)
        if items.count > 1, items.first == last { items.swapAt(0, Int.random(in: 1..<items.count, using: &shuffling)) }
        self.shuffling = shuffling
    }

    /// A seeded generator (SplitMix64: Steele, Lea, Flood, “Fast Splittable Pseudorandom Number Generators”, 2014).
    struct Shuffling: RandomNumberGenerator, Sendable {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
