internal import MediaCore

/// The part of a playlist around its current item: controllers display a context, not thousands of items.
struct PlaylistExcerpt {
    struct Entry {
        /// The index in the playlist.
        let index: Int
        let id: Int
        let title: String?
        let address: String
        let isCurrent: Bool
    }

    /// The maximum number of entries.
    private static let maxEntries = 100
    /// The number of entries before the current one, if there are more than `maxEntries`.
    private static let maxEarlierEntries = 20

    let entries: [Entry]
    /// The index of the current item in the playlist; -1: none.
    let index: Int
    /// The number of items in the playlist.
    let count: Int

    /// - Parameter playlist: The property `playlist`.
    init(_ playlist: JSONValue?) {
        var all: [JSONValue] = []
        if case .array(let items)? = playlist { all = items }
        (index, count) = (all.firstIndex { $0["current"]?.flag == true } ?? -1, all.count)
        let first = max(0, min(index - Self.maxEarlierEntries, all.count - Self.maxEntries))
        entries = all.indices.dropFirst(first).prefix(Self.maxEntries).compactMap { index in
            guard let id = all[index]["id"]?.integer else { return nil }
            return Entry(
                index: index, id: id, title: all[index]["title"]?.text, address: all[index]["filename"]?.text ?? "",
                isCurrent: all[index]["current"]?.flag == true)
        }
    }
}
