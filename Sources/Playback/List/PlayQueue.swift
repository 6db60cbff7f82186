internal import MediaCore

/// The films of a session in order, and where it is among them. A value: a copy says what would come.
package struct PlayQueue: Sendable {
    package typealias Item = PlaylistLoader.Item

    package enum Order: Sendable, Hashable {
        /// As the list has it.
        case listed
        /// Every film once in each pass, in an order that is thrown anew; the seed makes it the same for copies.
        case shuffled(seed: UInt64)
    }

    var items: [Item]
    var index = 0
    /// The film that plays, where it is not in the list any more, and the place in the list that comes behind it.
    var stray: (item: Item, next: Int)?
    var shuffling: Shuffling?
    private var passesLeft: PlayerOptions.Loop
    /// Whether anything of this pass could be played, and of any: a list of nothing but failures is not repeated.
    private var hasPlayed = false
    private var hasEverPlayed = false
    /// Passes in a row of which nothing could be played, before this one.
    private var emptyPasses = 0

    /// How long the list rests before a pass behind one of which nothing could be played; it grows, and a film that is back is
    /// seen within a second.
    private static let pauses: [Duration] = [
        .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(700),
    ]

    /// - Parameter items: at least one.
    package init(_ items: [Item], loop: PlayerOptions.Loop, order: Order = .listed) {
        self.items = items
        passesLeft = loop
        if case .shuffled(let seed) = order {
            var shuffling = Shuffling(state: seed)
            self.items.shuffle(using: &shuffling)
            self.shuffling = shuffling
        }
    }

    package var current: Item { stray?.item ?? items[index] }
    package var count: Int { items.count }
    package func item(_ index: Int) -> Item { items[index] }
    /// 1 for the first.
    package var number: Int { index + 1 }

    /// Whether the current film was opened well.
    package private(set) var hasBegun = false

    /// The current film is open; whether it plays remains to be seen.
    package mutating func noteOpened() { hasBegun = true }

    /// The current film plays.
    package mutating func noteBegun() {
        hasBegun = true
        hasPlayed = true
        hasEverPlayed = true
        emptyPasses = 0
    }

    /// How long to wait before the current film is tried.
    package var pause: Duration {
        guard emptyPasses > 0, index == 0, !hasBegun else { return .zero }
        return Self.pauses[min(emptyPasses, Self.pauses.count) - 1]
    }

    /// Goes on after the current film has ended or failed; false when the list is over.
    package mutating func advance() -> Bool {
        hasBegun = false
        let next = stray?.next ?? index + 1
        stray = nil
        if next < items.count {
            index = next
            return true
        }
        index = items.count - 1
        // A stick that was pulled may come back; a list that never played has wrong names in it.
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

    /// The list as it stands when the film that comes next has its turn; nil at the end.
    package var next: PlayQueue? {
        var next = self
        return next.advance() ? next : nil
    }

    /// More films at the end of the list.
    package mutating func append(_ item: Item) { items.append(item) }

    /// More films behind the first one of an address from the current on, unless they are there already; false when there is none.
    package mutating func insert(_ more: [Item], behind address: String) -> Bool {
        guard let place = items[index...].firstIndex(where: { $0.address == address }),
            items.count + more.count <= PlaylistLoader.mostItems,
            !items[(place + 1)...].prefix(more.count).map(\.address).elementsEqual(more.map(\.address))
        else { return false }
        items.insert(contentsOf: more, at: place + 1)
        return true
    }

    /// Goes to the next or the one before because a person wants it; false at the ends of the list.
    package mutating func step(by distance: Int) -> Bool {
        let target = index + distance
        guard items.indices.contains(target) else { return false }
        index = target
        stray = nil
        hasBegun = false
        return true
    }

    /// How often the list is played again, from now on.
    package mutating func setLoop(_ loop: PlayerOptions.Loop) { passesLeft = loop }

    /// Goes back to the first film, as if nothing of this pass had been tried.
    package mutating func startOver() { (index, stray, hasBegun) = (0, nil, false) }

    /// A film of the list by its address; nil where none has it.
    package func item(at address: String) -> Item? { items.first { $0.address == address } }

    /// Goes to a film of the list because it played before; false where it is not in it.
    package mutating func go(to address: String) -> Bool {
        guard let place = items.firstIndex(where: { $0.address == address }) else { return false }
        // Of an order that was thrown the others are still to come.
        if shuffling == nil { index = place } else { items.swapAt(index, place) }
        return true
    }
}
