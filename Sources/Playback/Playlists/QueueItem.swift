public import MediaCore
internal import Synchronization

/// Something to play: a file or an address. Two items that name the same file are still two items.
public struct QueueItem: Sendable, Identifiable, Hashable {
    /// Names an item for as long as the process runs; never used again.
    public struct ID: Sendable, Hashable {
        fileprivate let number: UInt64
    }

    public let id: ID
    /// A path, or an address with one of the network schemes.
    public let address: String
    /// What people are shown; nil takes the file's own name.
    public var title: String?

    private static let count = Atomic<UInt64>(0)

    public init(_ address: String, title: String? = nil) {
        id = ID(number: Self.count.wrappingAdd(1, ordering: .relaxed).newValue)
        self.address = address
        self.title = title
    }

    /// The last part of the address.
    package var name: String {
        let address = PrintableText.withoutCredentials(address)
        return String(address.split(separator: "/").last ?? Substring(address))
    }

    public static func == (left: QueueItem, right: QueueItem) -> Bool { left.id == right.id }
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }

    /// Items for words as a command line has them: files, addresses, and playlists (M3U, M3U8, PLS, XSPF), which are
    /// opened, and the playlists in them.
    ///
    /// - Returns: at least one item, and what was left out, one sentence each.
    /// - Throws: status 66 when nothing is left to play, or a playlist contains itself.
    public static func list(_ words: [String]) throws(TalkieError) -> (items: [QueueItem], leftOut: [String]) {
        let loader = try PlaylistLoader(words)
        return (
            loader.items.map { QueueItem($0.address, title: $0.title) },
            loader.failures.map(\.message) + loader.warnings
        )
    }
}
