internal import MediaCore

/// Speakers that somebody has named or paired. However much the network announces, there is room for them.
package struct SpeakerWishes: Hashable, Sendable {
    /// Each may cost a question of its own.
    static let nameLimit = 32

    /// As they were written, to be asked for by themselves.
    package private(set) var names: [String] = []
    private var folded: Set<String> = []
    package private(set) var ids: Set<SpeakerID> = []

    package init() {}

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

    package mutating func add(_ other: SpeakerWishes) {
        for name in other.names { add(name) }
        ids.formUnion(other.ids)
    }

    private mutating func add(_ name: String) {
        guard names.count < Self.nameLimit, folded.insert(Self.fold(name)).inserted else { return }
        names.append(name)
    }

    /// Whether a speaker of this name or id is one of them.
    func contain(_ name: String, _ id: SpeakerID?) -> Bool {
        folded.contains(Self.fold(name)) || id.map { ids.contains($0) } ?? false
    }

    private static func fold(_ name: String) -> String { PrintableText.of(name).lowercased() }
}
