public import MediaCore
internal import Synchronization

/// An item of a playlist: a file or an address. Two items with the same address are different items.
public struct QueueItem: Sendable, Identifiable, Hashable {
    /// Identifies an item within the process; never reused.
    public struct ID: Sendable, Hashable {
        fileprivate let number: UInt64
    }

    /// The identifier of the item.
    public let id: ID
    /// A path, or an address with one of the network schemes.
    public let address: String
    /// The displayed title; nil: that of the file.
    public var title: String?

    private static let count = Atomic<UInt64>(0)

    /// Creates an item with a new identifier. Any thread.
    public init(_ address: String, title: String? = nil) {
        id = ID(number: Self.count.wrappingAdd(1, ordering: .relaxed).newValue)
        self.address = address
        self.title = title
    }

    /// The last component of the address, without credentials.
    package var name: String {
        let address = PrintableText.withoutCredentials(address)
        return String(address.split(separator: "/").last ?? Substring(address))
    }

    /// Compares the identifiers.
    public static func == (left: QueueItem, right: QueueItem) -> Bool { left.id == right.id }
    /// Hashes the identifier.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }

    /// Returns the items for command-line arguments: files, addresses, and playlists (M3U, M3U8, PLS, XSPF), which are
    /// expanded recursively. Blocks on the disk.
    ///
    /// - Returns: At least one item, and a message for each skipped entry.
    /// - Throws: `cannotOpen` or `notPermitted` if there are no items, and `cannotOpen` if a playlist contains itself.
    public static func list(_ words: [String]) throws(TalkieError) -> (items: [QueueItem], leftOut: [String]) {
        let loader = try PlaylistLoader(words)
        return (
            loader.items.map { QueueItem($0.address, title: $0.title) },
            loader.failures.map(\.message) + loader.warnings
        )
    }
}
