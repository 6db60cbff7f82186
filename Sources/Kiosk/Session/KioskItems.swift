internal import MediaCore
internal import Playback

/// The items of a kiosk's playlist: those found, those admitted, those played alone, and a playlist that the player
/// does not have yet. A value.
struct KioskItems: Sendable {
    typealias Item = PlaylistLoader.Item

    /// A playlist for the player.
    struct Playlist: Sendable {
        var items: [QueueItem]
        /// The item to start with; nil: the first one of its order.
        var first: QueueItem.ID?
        /// The position at which that item starts; nil: its beginning.
        var position: MediaTime?
        /// Whether the items are in the order of a shuffled pass that continues.
        var isArranged = false
    }

    /// The items found last, before exclusions.
    private(set) var found: [Item] = []
    /// The items of the playlist; the last ones while it is empty.
    private var items: [Item] = []
    /// Whether the playlist has no items, because none were found or all are excluded.
    private(set) var isEmpty = true
    /// The addresses of items that are played while no other item is open.
    private var alone: Set<String> = []
    private var unopened: Playlist?
    /// The failures that were logged, with `completed` at that time: each edition is logged once, and again in each
    /// pass in which another item plays.
    private var logged: [Item: Int] = [:]
    /// The number of items that have played to their end, without those of which a part was missing.
    private var completed = 0
    /// A sentence about each item of which the last playback was missing or incomplete. An edition has its own: a file
    /// that was replaced is no longer broken.
    private var problems: [Item: (sentence: String, isSkipped: Bool)] = [:]
    /// The number of such playbacks.
    private(set) var problemCount = 0
    /// The items that have been opened since, and had no problem so far.
    private var reopened: Set<Item> = []
    private static let maxProblems = 20

    // MARK: Items

    mutating func setFound(_ items: [Item]) {
        found = items
        let known = Set(items)
        logged = logged.filter { known.contains($0.key) }
        problems = problems.filter { known.contains($0.key) }
        reopened.formIntersection(known)
    }

    /// Sets the found items that are not excluded.
    mutating func setAdmitted(_ items: [Item]) {
        isEmpty = items.isEmpty
        if !isEmpty { self.items = items }
    }

    /// The number of items of the playlist.
    var count: Int { items.count }

    func contains(_ address: String) -> Bool { items.contains { $0.address == address } }

    /// Returns where a kiosk continues after its last run: the item, and the position unless the item is excluded; nil
    /// for the start of the playlist.
    func start(from index: KioskResumePositions.Position?) -> (address: String?, position: MediaTime?) {
        guard let index else { return (nil, nil) }
        if let film = index.film(among: items.map(\.address)) { return (film, index.position) }
        return (index.film(among: found.map(\.address)).flatMap(following), nil)
    }

    /// Returns the first item that follows an excluded one in the list.
    private func following(_ address: String) -> String? {
        guard let index = found.firstIndex(where: { $0.address == address }) else { return nil }
        return found[index...].first(where: Set(items).contains)?.address
    }

    // MARK: Problems

    /// Records that an item was not played, or not completely.
    ///
    /// - Returns: Whether to log it: once per pass in which another item plays, or if the item is not in the playlist.
    mutating func recordProblem(of item: Item, _ sentence: String, isSkipped: Bool) -> Bool {
        guard items.contains(item) else {
            problemCount += 1
            return true
        }
        problems[item] = (sentence, isSkipped)
        reopened.remove(item)
        let isNew = logged[item] != completed
        if isNew { problemCount += 1 }
        logged[item] = completed
        return isNew
    }

    /// Whether the last playback of an item was missing or incomplete.
    func hasProblem(_ item: Item) -> Bool { problems[item] != nil }

    /// Records that an item is opened.
    mutating func recordOpened(_ item: Item) { if problems[item] != nil { reopened.insert(item) } }

    /// Records that an item has ended, or has played for long enough.
    mutating func recordEnded(_ item: Item) {
        if reopened.remove(item) != nil { problems[item] = nil }
        if problems[item] == nil { completed += 1 }
    }

    /// Sentences about items of which the last playback was missing or incomplete, without those of `others`.
    ///
    /// - Parameter isSkipped: Whether nothing of them was played.
    func sentences(isSkipped: Bool) -> [String] {
        let all = items.compactMap { problems[$0] }.filter { $0.isSkipped == isSkipped }.map(\.sentence)
        guard all.count > Self.maxProblems else { return all }
        return all.prefix(Self.maxProblems) + ["\(all.count - Self.maxProblems) more films have such problems"]
    }

    /// The number of items of which nothing was played the last time.
    var skippedCount: Int { problems.values.count(where: \.isSkipped) }

    /// Returns the address of the item that follows another one in the playlist; nil for the first one.
    func address(after address: String) -> String? {
        items.firstIndex { $0.address == address }.flatMap { items.dropFirst($0 + 1).first?.address }
    }

    /// Returns the address of the item that follows another one in a shuffled pass; nil: the first one of another pass.
    func address(after address: String, in pass: [String]) -> String? {
        let rest = pass.firstIndex(of: address).map { pass[($0 + 1)...] } ?? []
        return rest.first(where: contains)
    }

    // MARK: Playlists

    /// Returns true if an item is played alone in the player's present playlist.
    func isAlone(_ address: String) -> Bool { alone.contains(address) }

    /// Returns the playlist for the player.
    ///
    /// - Parameter isSuspect: Whether an item is to be played alone.
    mutating func playlist(_ isSuspect: (String) -> Bool) -> [QueueItem] {
        alone = Set(items.map(\.address).filter(isSuspect))
        return items.map { item in
            var made = QueueItem(item)
            made.isAlone = alone.contains(item.address)
            return made
        }
    }

    /// Returns the playlist if other items than before are to be played alone.
    mutating func changedPlaylist(_ isSuspect: (String) -> Bool) -> [QueueItem]? {
        Set(items.map(\.address).filter(isSuspect)) == alone ? nil : playlist(isSuspect)
    }

    /// Makes the items the playlist that is opened next. Returns the item to open; there must be one.
    ///
    /// - Parameters:
    ///   - position: The position in the item of this address; ignored if it is not in the playlist.
    ///   - pass: The addresses in the order of a shuffled pass that continues; empty: there is none.
    mutating func load(
        startingWith address: String?, at position: MediaTime? = nil, in pass: [String] = [],
        _ isSuspect: (String) -> Bool
    ) -> Item {
        let list = playlist(isSuspect)
        let index = items.firstIndex { $0.address == address }
        let first = index.map { list[$0].id }
        let ranks = Dictionary(zip(pass, pass.indices)) { first, _ in first }
        unopened = Playlist(
            items: pass.isEmpty
                ? list : list.sorted { ranks[$0.address] ?? pass.count < ranks[$1.address] ?? pass.count },
            first: first, position: index == nil ? nil : position, isArranged: !pass.isEmpty)
        return items[index ?? 0]
    }

    /// Whether the player does not have the playlist yet.
    var isUnopened: Bool { unopened != nil }
    /// The position at which that playlist starts in its first item.
    var unopenedPosition: MediaTime? { unopened?.position }

    /// Returns the playlist that the player does not have yet, once.
    mutating func consumeUnopened() -> Playlist? {
        unopened.take()
    }
}
