internal import Playback

/// The films of a session in order, and where it is among them.
struct PlayQueue {
    typealias Item = PlaylistLoader.Item

    private var items: [Item]
    private var index = 0
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
    init(_ items: [Item], loop: PlayerOptions.Loop) {
        self.items = items
        passesLeft = loop
    }

    var current: Item { items[index] }
    var count: Int { items.count }
    func item(_ index: Int) -> Item { items[index] }
    /// 1 for the first.
    var number: Int { index + 1 }

    /// Whether the current film was opened well.
    private(set) var hasBegun = false

    /// The current film is open; whether it plays remains to be seen.
    mutating func noteOpened() { hasBegun = true }

    /// The current film plays.
    mutating func noteBegun() {
        hasBegun = true
        hasPlayed = true
        hasEverPlayed = true
        emptyPasses = 0
    }

    /// How long to wait before the current film is tried.
    var pause: Duration {
        guard emptyPasses > 0, index == 0, !hasBegun else { return .zero }
        return Self.pauses[min(emptyPasses, Self.pauses.count) - 1]
    }

    /// Goes on after the current film has ended or failed; false when the list is over.
    mutating func advance() -> Bool {
        hasBegun = false
        if index + 1 < items.count {
            index += 1
            return true
        }
        // A stick that was pulled may come back; a list that never played has wrong names in it.
        guard hasEverPlayed else { return false }
        switch passesLeft {
        case .forever: break
        case .times(let count):
            guard count > 0 else { return false }
            passesLeft = .times(count - 1)
        }
        index = 0
        emptyPasses = hasPlayed ? 0 : emptyPasses + 1
        hasPlayed = false
        return true
    }

    /// The list as it stands when the film that comes next has its turn; nil at the end.
    var next: PlayQueue? {
        var next = self
        return next.advance() ? next : nil
    }

    /// More films at the end of the list.
    mutating func append(_ item: Item) { items.append(item) }

    /// More films behind the first one of an address from the current on, unless they are there already; false when there is none.
    mutating func insert(_ more: [Item], behind address: String) -> Bool {
        guard let place = items[index...].firstIndex(where: { $0.address == address }),
            items.count + more.count <= PlaylistLoader.mostItems,
            !items[(place + 1)...].prefix(more.count).map(\.address).elementsEqual(more.map(\.address))
        else { return false }
        items.insert(contentsOf: more, at: place + 1)
        return true
    }

    /// Goes to the next or the one before because a person wants it; false at the ends of the list.
    mutating func step(by distance: Int) -> Bool {
        let target = index + distance
        guard items.indices.contains(target) else { return false }
        index = target
        hasBegun = false
        return true
    }
}
