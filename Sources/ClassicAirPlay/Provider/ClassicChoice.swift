internal import AirPlayTransport
internal import MediaCore
internal import Sockets
internal import SyncRendering

/// A speaker that is used by classic AirPlay, and how.
struct ClassicChoice: Sendable {
    /// A name that the user can use again.
    let query: String
    let speaker: DiscoveredSpeaker
    let address: SpeakerAddress
    let method: ClassicMethod
    let password: String?

    /// - Throws: `unsupported` if classic AirPlay is impossible, or another route is requested. `notPermitted` if the
    ///   speaker restricts access or requires a password, if another speaker was paired under this name or address, or
    ///   if it was paired for AirPlay 2: classic receivers do not prove who they are, so that a device which only
    ///   claims to be the paired one would get the sound. The user can request classic AirPlay all the same.
    init(
        _ speaker: DiscoveredSpeaker, query: SpeakerQuery, pairings: PairingStore, preferences: SpeakerPreferences
    ) throws(TalkieError) {
        let name = speaker.name
        if case .only(let route) = preferences.route, route != .classic {
            throw TalkieError(.unsupported, "'\(name)' cannot be played to by the requested route, \(route)")
        }
        if let paired = pairings.predecessor(of: speaker.id, query, name: name) {
            let present = speaker.id.map { "its id is \($0)" } ?? "it has no ID"
            throw TalkieError(
                .notPermitted,
                "'\(name)' is not the speaker that was paired as '\(query)' (\(present), not \(paired))",
                remedy: .pairAgain(query.description))
        }
        let decision = ClassicDecision.decide(for: speaker)
        guard let method = decision.method else {
            throw TalkieError(.unsupported, "'\(name)' cannot be played to: \(decision.reason)")
        }
        let isRequested = preferences.route == .only(.classic)
        let credentials = speaker.id.map { pairings.credentials(for: $0).credentials } ?? SpeakerCredentials()
        guard isRequested || credentials.accessory == nil && credentials.password == nil else {
            throw TalkieError(
                .notPermitted,
                "'\(name)' was paired for AirPlay 2, which it does not offer now; with --route classic it is used without"
                    + " a proof that it is the same speaker")
        }
        guard let address = speaker.classicAddress else {
            throw TalkieError(.unavailable, "'\(name)' has no IPv4 address, which is required; configure one")
        }
        password = credentials.classicPassword ?? (isRequested ? credentials.password : nil)
        if speaker.traits.needsPassword, password == nil {
            throw TalkieError(
                .notPermitted, "'\(name)' requires its password", remedy: .givePassword(query.description))
        }
        (self.query, self.speaker, self.address, self.method) = (query.description, speaker, address, method)
    }

    /// The identity for calibrations: the device identifier, otherwise the address.
    var identity: OutputIdentity {
        OutputIdentity(
            key: speaker.id?.digits ?? "host-" + OutputIdentity.key(from: address.description), name: speaker.name,
            query: query, route: Route.classic.rawValue, address: address.description)
    }
}

extension DiscoveredSpeaker {
    /// The address to try first; sessions use IPv4 only.
    var classicAddress: SpeakerAddress? {
        raopEndpoints.first { $0.address.isIPv4 }.map { SpeakerAddress($0) }
    }
}
