package import Sockets

/// A receiver on the network, combined from all its announcements. A snapshot: changes create a new value.
package struct DiscoveredSpeaker: Hashable, Sendable {
    /// The device identifier; nil if the receiver does not announce one. It can play, but nothing is stored for it.
    package let id: SpeakerID?
    /// The name chosen by its owner, with only printable characters.
    package let name: String
    package let traits: SpeakerTraits
    /// AirPlay 2 addresses, best first; empty if it announces AirPlay 1 only.
    package let endpoints: [NetworkEndpoint]
    /// AirPlay 1 (RAOP) addresses, best first.
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

    /// The identity of a speaker across changes. Receivers that announce the same identifier are distinguished by name.
    package struct Key: Hashable, Sendable {
        package let id: SpeakerID?
        package let name: String

        package func isNamesake(of other: Key) -> Bool { name.lowercased() == other.name.lowercased() }
    }

    /// The identity across changes.
    package var key: Key { Key(id: id, name: name) }
    /// The AirPlay 2 addresses for sessions, best first: those of IPv4, which every receiver supports, or those of IPv6
    /// if there are no others. Announcements of both families with one identifier may be of different networks.
    package var sessionEndpoints: [NetworkEndpoint] { Self.ofOneFamily(endpoints) }
    /// The AirPlay 1 addresses for sessions, likewise.
    package var raopSessionEndpoints: [NetworkEndpoint] { Self.ofOneFamily(raopEndpoints) }

    /// Whether an IPv4 address is known. Announcements of both families arrive one after another.
    package var hasIPv4: Bool { (endpoints + raopEndpoints).contains(where: \.address.isIPv4) }

    private static func ofOneFamily(_ endpoints: [NetworkEndpoint]) -> [NetworkEndpoint] {
        let first = endpoints.filter(\.address.isIPv4)
        return first.isEmpty ? endpoints : first
    }

    /// The address to try first.
    package var endpoint: NetworkEndpoint? { endpoints.first ?? raopEndpoints.first }
}

/// A change of one speaker between two snapshots.
package enum SpeakerChange: Hashable, Sendable {
    case appeared(DiscoveredSpeaker)
    case changed(DiscoveredSpeaker)
    case vanished(DiscoveredSpeaker)

    /// Returns the changes from one list to another, in list order; vanished speakers first.
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
