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
    /// The requested route; nil: that of an earlier use.
    let request: SpeakerPreferences.RouteRequest?
    /// Whether 24 bits per sample are requested, which classic AirPlay does not have.
    let wants24Bits: Bool

    /// - Throws: `unsupported` if classic AirPlay is impossible, or another route is requested. `notPermitted` if the
    ///   speaker restricts access or requires a password, if another speaker was paired under this name or address, or
    ///   if it was paired for AirPlay 2.
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
        guard let address = speaker.classicAddress else {
            throw TalkieError(.unavailable, "'\(name)' announces no address; restart it")
        }
        let credentials = speaker.id.map { pairings.credentials(for: $0).credentials } ?? SpeakerCredentials()
        // Otherwise a device that announces the identifier of a paired speaker, and classic AirPlay alone, would get
        // the sound and a digest of the password.
        if credentials.accessory != nil || credentials.password != nil && !credentials.isClassic {
            throw TalkieError(
                .notPermitted, "'\(name)' is paired, and classic AirPlay cannot authenticate it",
                remedy: .pairAgain(query.description))
        }
        password = credentials.password
        if speaker.traits.needsPassword, speaker.id == nil {
            throw TalkieError(
                .notPermitted,
                "'\(name)' requires its password, which is stored for announced speakers only; name it instead of its "
                    + "address")
        }
        if speaker.traits.needsPassword, password == nil {
            throw TalkieError(
                .notPermitted, "'\(name)' requires its password", remedy: .enterPassword(query.description))
        }
        (self.query, self.speaker, self.address, self.method) = (query.description, speaker, address, method)
        (request, wants24Bits) = (preferences.route, preferences.bits == 24)
    }

    /// The identity for calibrations: the device identifier, otherwise the address.
    var identity: OutputIdentity {
        OutputIdentity(
            key: speaker.id?.digits ?? "host-" + OutputIdentity.key(from: address.description), name: speaker.name,
            query: query, route: Route.classic.rawValue, address: address.description)
    }
}

extension DiscoveredSpeaker {
    /// The address to try first.
    var classicAddress: SpeakerAddress? { raopSessionEndpoints.first.map { SpeakerAddress($0) } }
}
