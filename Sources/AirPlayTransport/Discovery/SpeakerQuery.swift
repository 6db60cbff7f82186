package import Discovery
internal import MediaCore

/// How a user names a speaker on the command line: by name, identifier, address, or `local`.
package enum SpeakerQuery: Hashable, Sendable, CustomStringConvertible {
    /// This computer's sound card.
    case local
    case address(SpeakerAddress)
    case id(SpeakerID)
    case name(String)

    /// Parses a user-provided speaker name.
    ///
    /// - Throws: `DiscoveryError.badAddress` for a malformed `airplay://` address.
    package init(_ text: String) throws(DiscoveryError) {
        if text == "local" {
            self = .local
        } else if SpeakerAddress.isAddress(text) {
            self = .address(try SpeakerAddress(text))
        } else if let id = SpeakerID(text) {
            self = .id(id)
        } else {
            self = .name(text)
        }
    }

    package var description: String {
        switch self {
        case .local: "local"
        case .address(let address): address.description
        case .id(let id): id.description
        case .name(let name): name
        }
    }

    /// Returns the matching entry; if speakers are paired under this name, only one of those.
    package func find(
        in entries: [SpeakerEntry], preferring paired: Set<SpeakerID>
    ) throws(DiscoveryError) -> SpeakerEntry? {
        guard !paired.isEmpty else { return try find(in: entries) }
        return try find(
            in: entries.filter { entry in
                (entry.members + entry.hidden).contains { $0.id.map { paired.contains($0) } ?? false }
            })
    }

    /// Returns the matching entry; nil if there is none yet.
    ///
    /// A name is compared case-insensitively, first with entry names, then with member names. A member's name selects
    /// its whole pair; a member's identifier selects that member alone.
    ///
    /// - Throws: `DiscoveryError.ambiguous` if several entries match.
    package func find(in entries: [SpeakerEntry]) throws(DiscoveryError) -> SpeakerEntry? {
        switch self {
        case .local, .address:
            return nil
        case .id(let id):
            let all = entries.flatMap { entry in
                (entry.members + entry.hidden).map { speaker in
                    entry.members == [speaker]
                        ? entry : SpeakerEntry(kind: .single, name: speaker.name, members: [speaker], hidden: [])
                }
            }
            return try only(all.filter { $0.members[0].id == id })
        case .name(let name):
            let wanted = PrintableText.of(name).lowercased()
            let direct = entries.filter { $0.name.lowercased() == wanted }
            if !direct.isEmpty { return try only(direct) }
            return try only(
                entries.compactMap { entry in
                    if entry.members.contains(where: { $0.name.lowercased() == wanted }) { return entry }
                    let hidden = entry.hidden.filter { $0.name.lowercased() == wanted }
                    return hidden.first.map {
                        SpeakerEntry(kind: .single, name: $0.name, members: [$0], hidden: [])
                    }
                })
        }
    }

    private func only(_ found: [SpeakerEntry]) throws(DiscoveryError) -> SpeakerEntry? {
        guard found.count > 1 else { return found.first }
        let choices = found.prefix(8).map { entry in
            entry.members[0].id.map(\.description) ?? entry.members[0].endpoint.map { "airplay://\($0)" } ?? entry.name
        }
        throw DiscoveryError(
            .ambiguous,
            "\(found.count) speakers are named '\(PrintableText.of(description))'; specify one by its ID: \(choices.joined(separator: ", "))."
        )
    }
}
