internal import AirPlayTransport
import MediaCore
internal import PTP
import Sockets

/// A speaker that was found by a user-provided name, and its route.
struct ChosenSpeaker: Sendable {
    /// A name that the user can use again.
    let query: String
    let speaker: DiscoveredSpeaker
    let address: SpeakerAddress
    let route: Route
    /// Further routes in order, if the speaker refuses the stream; none if the user wants one route only.
    let alternatives: [Route]
    let role: ClockRole
    /// Why the route was selected.
    let reason: String
    let credentials: SpeakerCredentials
    /// `PairingStore.changeTime` before the credentials were read.
    let pairingTime: Int64?
    /// The stored knowledge about the speaker; nil if there is none.
    let memory: RouteMemory?
    /// The only route that the user wants; nil: the best one.
    let wanted: Route?
    /// Whether audio that cannot be passed through is encoded as AAC.
    let prefersAAC: Bool
    /// The requested bits per sample of lossless audio; nil: 16.
    let bits: Int?
    /// The most channels to send.
    let channels: Int

    var name: String { speaker.name }

    /// Selects the route and the credentials.
    ///
    /// - Parameters:
    ///   - query: The name in commands.
    ///   - preferences: What the user wants of it.
    /// - Throws: `unavailable` if playing is impossible. `notPermitted` if the speaker restricts access or requires a
    ///   PIN or password. The same if this computer may not serve time, or if another speaker was paired under this
    ///   name or address.
    init(
        _ speaker: DiscoveredSpeaker, query: String, knowledge: SpeakerKnowledge,
        preferences: SpeakerPreferences = SpeakerPreferences(),
        clockPorts: (DiscoveredSpeaker) -> RouteConditions.ClockPorts
    ) throws(TalkieError) {
        let name = speaker.name
        pairingTime = knowledge.pairings.changeTime
        let stored = speaker.id.map { knowledge.credentials(for: $0) }
        credentials = stored ?? SpeakerCredentials()
        // Its keys open another speaker; without them any device could impersonate it.
        // ignored: what is no query was not used to pair a speaker.
        if let paired = knowledge.predecessor(of: speaker.id, try? SpeakerQuery(query), name: name) {
            let present = speaker.id.map { "its id is \($0)" } ?? "it has no ID"
            throw TalkieError(
                .notPermitted, "'\(name)' is not the speaker that was paired as '\(query)' (\(present), not \(paired))",
                remedy: .pairAgain(query))
        }
        memory = speaker.id.flatMap { knowledge.memory(of: $0) }
        wanted = preferences.route(wantedBefore: memory?.wanted)
        (prefersAAC, bits, channels) = (preferences.prefersAAC, preferences.bits, preferences.channels)
        if wanted == .classic {
            throw TalkieError(
                .unsupported, "'\(name)' cannot be played to by the requested route, classic AirPlay",
                remedy: .resetRoute(of: query))
        }
        var before = memory
        // What played was what the user wanted, not what was found to be best.
        if preferences.route == .best, memory?.wanted != nil { before?.route = nil }
        let ports = clockPorts(speaker)
        let decision = RouteDecision.decide(
            for: speaker,
            under: RouteConditions(
                requested: wanted, memory: before, clockPorts: ports, isPaired: credentials.accessory != nil))
        guard let route = decision.route else {
            throw TalkieError(
                Self.code(of: decision.verdict, ports),
                "'\(name)' cannot be played to: \(decision.reason)",
                remedy: wanted == nil ? nil : .resetRoute(of: query))
        }
        switch decision.access {
        case .pin:
            throw TalkieError(
                .notPermitted,
                "'\(name)' plays only for paired senders", remedy: .pairByPIN(query))
        case .password where credentials.password == nil:
            throw TalkieError(.notPermitted, "'\(name)' requires its password", remedy: .enterPassword(query))
        case .password, .transient, .verify: break
        }
        guard let endpoint = speaker.sessionEndpoints.first else {
            throw TalkieError(.unavailable, "'\(name)' announces no address; restart it")
        }
        self.query = query
        self.speaker = speaker
        self.route = route
        alternatives = wanted == nil ? decision.alternatives : []
        role = decision.role
        reason = decision.reason
        address = SpeakerAddress(endpoint)
    }

    private static func code(of verdict: RouteDecision.Verdict, _ ports: RouteConditions.ClockPorts) -> TalkieError.Code
    {
        guard case .impossible(let obstacle) = verdict else { return .unavailable }
        switch obstacle {
        case .restricted: return .notPermitted
        case .clockPorts:
            if case .forbidden = ports { return .notPermitted }
            return .unsupported
        default: return .unsupported
        }
    }

    /// Returns the configuration of a session.
    func configuration(_ knowledge: SpeakerKnowledge, sender: SenderIdentity) -> AirPlaySession.Configuration {
        var configuration = AirPlaySession.Configuration(address: address, identity: sender)
        configuration.traits = speaker.traits
        configuration.observations = SpeakerObservations(isProven: memory?.route == route)
        configuration.id = speaker.id
        if credentials != SpeakerCredentials() { configuration.expected = speaker.id }
        configuration.password = credentials.password
        configuration.pairingIdentity = knowledge.identity.pairing
        configuration.pairing = credentials.accessory.map { (knowledge.identity.pairing, $0) }
        configuration.clockRole = role
        configuration.isRouteRequested = wanted != nil
        configuration.stated = (memory?.stated ?? StatedLatency()).subtracted(on: route)
        configuration.readiness = .init(
            manner: speaker.traits.isApple ? .apple : .thirdParty, isKnownToProbe: memory?.hasProbed ?? false)
        return configuration
    }
}
