internal import MediaCore

/// The items of a session in order, with the current one. A value type: a copy predicts what follows.
package struct PlayQueue: Sendable {
    package typealias Item = PlaylistLoader.Item

    /// The order of the items.
    package enum Order: Sendable, Hashable {
        /// The order of the list.
        case listed
        /// A new random order in each pass; the seed makes it identical for copies.
        case shuffled(seed: UInt64)
    }

    var items: [Item]
    var index = 0
    /// The current item if it was removed from the list, and the index of its successor.
    var stray: (item: Item, next: Int)?
    var shuffling: Shuffling?
    private var passesLeft: PlayerOptions.Loop
    /// Whether any item of this pass, or of any pass, has played: a list of only failures is not repeated.
    private var hasPlayed = false
    private var hasEverPlayed = false
    /// The number of consecutive preceding passes in which no item could be played.
    private var emptyPasses = 0

    /// The pause before a pass that follows passes without a playable item. It grows with their number, and an item
    /// that returns is detected within a second.
    private static let pauses: [Duration] = [
        .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(700),
    ]

    /// Creates a queue.
    ///
    /// - Parameter items: At least one item.
    package init(_ items: [Item], loop: PlayerOptions.Loop, order: Order = .listed) {
        self.items = items
        passesLeft = loop
        if case .shuffled(let seed) = order {
            var shuffling = Shuffling(state: seed)
            self.items.shuffle(using: &shuffling)
            self.shuffling = shuffling
        }
    }

    /// The current item, which may have been removed from the list.
    package var current: Item { stray?.item ?? items[index] }
    /// The number of items.
    package var count: Int { items.count }
    /// Returns the item at an index.
    package func item(_ index: Int) -> Item { items[index] }
    /// The position of the current item, starting at 1.
    package var number: Int { index + 1 }

    /// Whether the current item was opened successfully.
    package private(set) var hasBegun = false

    /// Records that the current item is open; it may still fail to play.
    package mutating func noteOpened() { hasBegun = true }

    /// Records that the current item plays.
    package mutating func noteBegun() {
        hasBegun = true
        hasPlayed = true
        hasEverPlayed = true
        emptyPasses = 0
    }

    /// The pause before the current item is tried.
    package var pause: Duration {
        guard emptyPasses > 0, index == 0, !hasBegun else { return .zero }
        return Self.pauses[min(emptyPasses, Self.pauses.count) - 1]
    }

    /// Advances after the current item has ended or failed; returns false at the end of the list.
    package mutating func advance() -> Bool {
        hasBegun = false
        let next = stray?.next ?? index + 1
        stray = nil
        if next < items.count {
            index = next
            return true
        }
        index = items.count - 1
        // A removed storage device may return, but a list that never played contains wrong names.
        guard hasEverPlayed else { return false }
        switch passesLeft {
        case .forever: break
        case .times(let count):
            guard count > 0 else { return false }
            passesLeft = .times(count - 1)
        }
        shuffle()
        index = 0
        emptyPasses = hasPlayed ? 0 : emptyPasses + 1
        hasPlayed = false
        return true
    }

    /// The list after the current item; nil at its end.
    package var next: PlayQueue? {
        var next = self
        return next.advance() ? next : nil
    }

    /// Appends an item.
    package mutating func append(_ item: Item) { items.append(item) }

    /// Inserts items after the first upcoming item of an address, unless they are already there; returns false if
    /// nothing was inserted.
    package mutating func insert(_ more: [Item], behind address: String) -> Bool {
        guard let place = items[index...].firstIndex(where: { $0.address == address }),
            items.count + more.count <= PlaylistLoader.mostItems,
            !items[(place + 1)...].prefix(more.count).map(\.address).elementsEqual(more.map(\.address))
        else { return false }
        items.insert(contentsOf: more, at: place + 1)
        return true
    }

    /// Moves to an adjacent item on a user command; returns false beyond the ends of the list.
    package mutating func step(by distance: Int) -> Bool {
        // The current item is no longer in the list: the successor is at a distance of one.
        let target = stray.map { $0.next + (distance > 0 ? distance - 1 : distance) } ?? index + distance
        guard items.indices.contains(target) else { return false }
        index = target
        stray = nil
        hasBegun = false
        return true
    }

    /// Sets the number of repetitions from now on.
    package mutating func setLoop(_ loop: PlayerOptions.Loop) { passesLeft = loop }

    /// Returns to the first item of the pass.
    package mutating func startOver() { (index, stray, hasBegun) = (0, nil, false) }

    /// Returns the item with an address; nil if there is none.
    package func item(at address: String) -> Item? { items.first { $0.address == address } }

    /// Makes the item with an address current, to resume a session; returns false if there is none.
    package mutating func go(to address: String) -> Bool {
        guard let place = items.firstIndex(where: { $0.address == address }) else { return false }
        // In a shuffled order the other items are still to come.
        if shuffling == nil { index = place } else { items.swapAt(index, place) }
        return true
    }
}
