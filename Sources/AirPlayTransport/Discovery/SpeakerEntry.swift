/// An entry of the list of speakers: one speaker or a stereo pair.
package struct SpeakerEntry: Hashable, Sendable {
    /// The kind of an entry.
    package enum Kind: String, Hashable, Sendable {
        case single = "single"
        /// Two receivers with one stereo pair identifier. Both receive the same stereo stream and select their channel.
        case stereoPair = "stereo pair"
    }

    package let kind: Kind
    package let name: String
    /// One speaker, or the members of a pair ordered by identifier. A pair has one member if the other is absent.
    package let members: [DiscoveredSpeaker]
    /// Speakers that are not listed because this one feeds them: the default output of an Apple TV.
    package let hidden: [DiscoveredSpeaker]

    package init(kind: Kind, name: String, members: [DiscoveredSpeaker], hidden: [DiscoveredSpeaker]) {
        (self.kind, self.name, self.members, self.hidden) = (kind, name, members, hidden)
    }

    /// The member whose traits represent the entry.
    package var leader: DiscoveredSpeaker { members.first { $0.traits.group.isLeader == true } ?? members[0] }
    /// Whether all known members are on the network.
    package var isComplete: Bool { kind == .single || members.count > 1 }

    /// Returns the entries of discovered speakers. Pairs are combined. A speaker that its leader feeds is hidden while
    /// the leader is present.
    package static func entries(of speakers: [DiscoveredSpeaker]) -> [SpeakerEntry] {
        var hiddenBehind: [DiscoveredSpeaker.Key: [DiscoveredSpeaker]] = [:]
        var hidden: Set<DiscoveredSpeaker.Key> = []
        for speaker in speakers {
            guard let leader = leader(of: speaker, among: speakers) else { continue }
            hidden.insert(speaker.key)
            hiddenBehind[leader.key, default: []].append(speaker)
        }
        let shown = speakers.filter { !hidden.contains($0.key) }
        let pairs = Dictionary(grouping: shown.filter { $0.traits.group.stereoPair != nil && $0.id != nil }) {
            $0.traits.group.stereoPair!
        }
        var listed: Set<String> = []
        return shown.compactMap { speaker in
            guard let pair = speaker.traits.group.stereoPair, let members = pairs[pair], speaker.id != nil else {
                return SpeakerEntry(
                    kind: .single, name: speaker.name, members: [speaker], hidden: hiddenBehind[speaker.key] ?? [])
            }
            guard listed.insert(pair).inserted else { return nil }
            // A pair has two members with distinct identifiers; otherwise the claims conflict and all are listed as
            // single.
            let ordered = members.sorted { ($0.id!.digits, $0.name) < ($1.id!.digits, $1.name) }
            guard ordered.count <= 2, ordered.count < 2 || ordered[0].id != ordered[1].id else {
                listed.remove(pair)
                return SpeakerEntry(
                    kind: .single, name: speaker.name, members: [speaker], hidden: hiddenBehind[speaker.key] ?? [])
            }
            return SpeakerEntry(
                kind: .stereoPair, name: ordered.compactMap(\.traits.group.name).first ?? speaker.name,
                members: ordered, hidden: ordered.flatMap { hiddenBehind[$0.key] ?? [] })
        }
    }

    /// Returns the receiver that feeds a member: the leader of the group that is its parent group.
    private static func leader(
        of member: DiscoveredSpeaker, among speakers: [DiscoveredSpeaker]
    ) -> DiscoveredSpeaker? {
        let group = member.traits.group
        guard let parent = group.parentGroup, group.isLeader == false else { return nil }
        return speakers.first { other in
            let hints = other.traits.group
            return other.key != member.key && hints.isLeader == true
                && (hints.group == parent || hints.parentGroup == parent)
                // The members of a pair share a parent, and neither feeds the other.
                && (hints.stereoPair == nil || hints.stereoPair != group.stereoPair)
        }
    }
}
