public import MediaCore
internal import Synchronization

/// An item of a playlist: a file or an address. Two items with the same address are different items.
public struct QueueItem: Sendable, Identifiable, Hashable {
    /// Identifies an item within the process; never reused.
    public struct ID: Sendable, Hashable {
        package let number: UInt64
    }

    /// The identifier of the item.
    public let id: ID
    /// A path, or an address with one of the network schemes.
    public let address: String
    /// The displayed title; nil: that of the file.
    public var title: String?
    /// The media time at which it starts until it has played to its end; nil: the default start. An item with a
    /// position does not follow gaplessly.
    public var start: MediaTime?
    /// Whether the item is played while no other item is open.
    package var isAlone = false
    /// The version of a watched file; nil otherwise.
    var edition: FileEdition?
    /// Whether a playlist or another program names it: of local files only regular ones are opened.
    package var isListed = false

    private static let count = Atomic<UInt64>(0)

    /// Creates an item with a new identifier. Any thread.
    public init(_ address: String, title: String? = nil) {
        id = ID(number: Self.count.wrappingAdd(1, ordering: .relaxed).newValue)
        self.address = address
        self.title = title
    }

    /// Creates an item with a new identifier for a resolved one.
    package init(_ item: PlaylistLoader.Item, start: MediaTime? = nil) {
        self.init(item.address, title: item.title)
        (self.start, edition, isListed) = (start, item.edition, item.isListed)
    }

    /// The media that an item refers to, whatever its identifier.
    struct Media: Sendable, Hashable {
        fileprivate let address: String
        fileprivate let title: String?
        fileprivate let edition: FileEdition?
    }

    /// The media that the item refers to.
    var media: Media { Media(address: address, title: title, edition: edition) }

    func isSameMedia(as other: QueueItem) -> Bool { media == other.media }

    /// Returns the item with the way of playing of another one.
    func prepared(as other: QueueItem) -> QueueItem {
        var item = self
        (item.start, item.isAlone) = (other.start, other.isAlone)
        return item
    }

    /// The last component of the address, without credentials.
    package var name: String {
        let address = PrintableText.withoutCredentials(address)
        return FileName.displayed(String(address.split(separator: "/").last ?? Substring(address)))
    }

    /// Whether the address is a path or a `file:` URL.
    var isLocal: Bool { !address.contains("://") || address.lowercased().hasPrefix("file:") }

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
            loader.items.map { QueueItem($0) },
            loader.failures.map(\.message) + loader.warnings
        )
    }
}
