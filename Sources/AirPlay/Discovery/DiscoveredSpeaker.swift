package import Sockets

/// One receiver on the network, joined from all its announcements. A value: later news make another one.
package struct DiscoveredSpeaker: Hashable, Sendable {
    /// nil for a receiver that does not say who it is; it can be played to, but nothing about it can be remembered.
    package let id: SpeakerID?
    /// The name its owner gave it, fit to print.
    package let name: String
    package let traits: SpeakerTraits
    /// Where it takes AirPlay 2, best first; empty when it announces AirPlay 1 only.
    package let endpoints: [NetworkEndpoint]
    /// Where it takes AirPlay 1 (RAOP), best first.
    package let raopEndpoints: [NetworkEndpoint]

    package init(
        id: SpeakerID?, name: String, traits: SpeakerTraits, endpoints: [NetworkEndpoint],
        raopEndpoints: [NetworkEndpoint] = []
    ) {
        self.id = id
        self.name = name
        self.traits = traits
        self.endpoints = endpoints
        self.raopEndpoints = raopEndpoints
    }

    /// What stays the same while a speaker changes. Two receivers that claim one id are told apart by name.
    package struct Key: Hashable, Sendable {
        let id: SpeakerID?
        let name: String

        func isNamesake(of other: Key) -> Bool { name.lowercased() == other.name.lowercased() }
    }

    package var key: Key { Key(id: id, name: name) }
    /// The address to try first.
    package var endpoint: NetworkEndpoint? { endpoints.first ?? raopEndpoints.first }
}

/// What happened to one speaker between two moments.
package enum SpeakerChange: Hashable, Sendable {
    case appeared(DiscoveredSpeaker)
    case changed(DiscoveredSpeaker)
    case vanished(DiscoveredSpeaker)

    /// What turns one list into another, in the order of the lists; the vanished come first.
    package static func between(_ old: [DiscoveredSpeaker], _ new: [DiscoveredSpeaker]) -> [SpeakerChange] {
        let before = Dictionary(old.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        let after = Set(new.map(\.key))
        let gone = old.filter { !after.contains($0.key) }.map { SpeakerChange.vanished($0) }
        return gone
            + new.compactMap { speaker in
                guard let known = before[speaker.key] else { return .appeared(speaker) }
                return known == speaker ? nil : .changed(speaker)
            }
    }
}
