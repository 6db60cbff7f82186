internal import MediaCore

/// Speakers that were named by the user or paired. They are admitted regardless of how many others are announced.
package struct SpeakerRequests: Hashable, Sendable {
    /// The maximum number of names; each can cost one mDNS query.
    package static let nameLimit = 32

    /// The names as written by the user, resolved directly.
    package private(set) var names: [String] = []
    private var folded: Set<String> = []
    /// The requested identifiers.
    package private(set) var ids: Set<SpeakerID> = []

    package init() {}

    /// Requests the names and identifiers of queries; addresses and `local` are ignored.
    package init(_ queries: [SpeakerQuery], ids: Set<SpeakerID> = []) {
        for query in queries {
            switch query {
            case .name(let name): add(name)
            case .id(let id): self.ids.insert(id)
            case .local, .address: break
            }
        }
        self.ids.formUnion(ids)
    }

    /// Adds the speakers of another set.
    package mutating func add(_ other: SpeakerRequests) {
        for name in other.names { add(name) }
        ids.formUnion(other.ids)
    }

    private mutating func add(_ name: String) {
        guard names.count < Self.nameLimit, folded.insert(Self.fold(name)).inserted else { return }
        names.append(name)
    }

    /// Whether a speaker with this name or identifier was requested.
    package func contain(_ name: String, _ id: SpeakerID?) -> Bool {
        folded.contains(Self.fold(name)) || id.map { ids.contains($0) } ?? false
    }

    private static func fold(_ name: String) -> String { PrintableText.of(name).lowercased() }
}
