package import AirPlayTransport
internal import AirPlayWire

/// How a speaker is driven, and why. A pure function of the speaker's traits and the conditions.
package struct RouteDecision: Hashable, Sendable {
    /// The decision itself.
    package enum Verdict: Hashable, Sendable {
        case drive(Route)
        case impossible(Obstacle)
    }

    /// A reason why a speaker cannot be driven.
    package struct Obstacle: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// No AirPlay 2 that this sender can use: classic AirPlay (RAOP) may be.
        package static let needsAirPlay1 = Obstacle(rawValue: "needs-airplay-1")
        /// Only members of the owner's home have access.
        package static let restricted = Obstacle(rawValue: "restricted")
        /// It requires PTP, which this computer cannot serve.
        package static let clockPorts = Obstacle(rawValue: "clock-ports")
        /// It does not support audio.
        static let noAudio = Obstacle(rawValue: "no-audio")
    }

    /// The authentication that a speaker requires.
    package enum Access: String, Hashable, Sendable {
        /// None: keys for one session.
        case transient = "transient"
        /// The keys of a stored pairing.
        case verify = "verify"
        /// A PIN, once: `talkie pair`.
        case pin = "pin"
        /// The speaker's password.
        case password = "password"
    }

    package let verdict: Verdict
    package let access: Access
    package let role: ClockRole
    /// Further routes in order, if the first one is accepted but remains silent.
    package let alternatives: [Route]
    /// The reason, to be printed after the route's name.
    package let reason: String

    /// The selected route; nil if there is none.
    package var route: Route? {
        if case .drive(let route) = verdict { return route }
        return nil
    }

    /// Returns the decision for a speaker's traits; the first rule that applies decides.
    ///
    /// - Parameter hasAirPlay: Whether the traits come from an `_airplay._tcp` service or an `/info` response.
    package static func decide(
        for traits: SpeakerTraits, hasAirPlay: Bool = true, under conditions: RouteConditions = RouteConditions()
    ) -> RouteDecision {
        let deliberation = Deliberation(traits: traits, conditions: conditions)
        // A requested route overrides obstacles, except if there is no AirPlay 2 service to connect to.
        if !hasAirPlay || conditions.requested == nil, let obstacle = deliberation.obstacle(hasAirPlay: hasAirPlay) {
            return deliberation.refusal(obstacle.0, obstacle.1)
        }
        return deliberation.choice()
    }

    /// Returns true if a speaker's clock can be PTP, which requires UDP ports 319 and 320.
    static func canUsePTP(_ traits: SpeakerTraits) -> Bool {
        Deliberation(traits: traits, conditions: RouteConditions()).ptpRefusal == nil
    }

    /// Returns the decision for a discovered speaker.
    package static func decide(
        for speaker: DiscoveredSpeaker, under conditions: RouteConditions = RouteConditions()
    ) -> RouteDecision {
        decide(for: speaker.traits, hasAirPlay: !speaker.endpoints.isEmpty, under: conditions)
    }
}

/// The rules, each with its own reason.
private struct Deliberation {
    let traits: SpeakerTraits
    let conditions: RouteConditions

    private var features: FeatureBits { traits.features ?? [] }
    private var version: DottedVersion? { traits.sourceVersion.flatMap { DottedVersion($0) } }
    /// The stored knowledge, if the speaker's software is unchanged.
    private var memory: RouteMemory? {
        conditions.memory.flatMap { $0.sourceVersion == traits.sourceVersion ? $0 : nil }
    }

    func obstacle(hasAirPlay: Bool) -> (RouteDecision.Obstacle, String)? {
        let needsAirPlay1 = "it does not support AirPlay 2"
        if !hasAirPlay { return (.needsAirPlay1, "\(needsAirPlay1) (it announces no _airplay service)") }
        if features.isDisjoint(with: [.unifiedMediaControl, .transientPairing]) {
            guard traits.features != nil else {
                return (.needsAirPlay1, "\(needsAirPlay1) (it announces no features)")
            }
            return (.needsAirPlay1, "\(needsAirPlay1) (it advertises neither bit 38 nor bit 48)")
        }
        if traits.isRestrictedToHome {
            let cause = traits.accessControl == 1 ? "acl 1" : "act 2"
            return (
                .restricted,
                "restricted to the owner's home (\(cause)); allow everyone on the same network in its settings"
            )
        }
        if !features.contains(.audio) { return (.noAudio, "it does not support audio (bit 9 is clear)") }
        return nil
    }

    func refusal(_ obstacle: RouteDecision.Obstacle, _ reason: String) -> RouteDecision {
        RouteDecision(verdict: .impossible(obstacle), access: access, role: role, alternatives: [], reason: reason)
    }

    func choice() -> RouteDecision {
        let possible = candidates
        if let requested = conditions.requested {
            if requested.needsPTP, let why = conditions.clockPorts.objection {
                return refusal(.clockPorts, "\(requested) was requested and needs UDP 319 and 320; \(why)")
            }
            return drive(requested, because: "requested", others: possible.map(\.route))
        }
        if let remembered = memory?.route, possible.contains(where: { $0.route == remembered }) {
            return drive(remembered, because: "it has played this way before", others: possible.map(\.route))
        }
        if let first = possible.first {
            return drive(first.route, because: first.reason, others: possible.map(\.route))
        }
        if let refusal = ntpRefusal, let why = conditions.clockPorts.objection {
            return self.refusal(.clockPorts, "\(refusal), and UDP 319 and 320 cannot be used here: \(why)")
        }
        return refusal(
            .needsAirPlay1,
            "AirPlay 2 has no clock for it: \(ptpRefusal ?? "no PTP"), and \(ntpRefusal ?? "no NTP")"
        )
    }

    private func drive(_ route: Route, because reason: String, others: [Route]) -> RouteDecision {
        RouteDecision(
            verdict: .drive(route), access: access, role: role, alternatives: others.filter { $0 != route },
            reason: reason)
    }

    /// The possible routes under these conditions, best first.
    private var candidates: [(route: Route, reason: String)] {
        var found: [(route: Route, reason: String)] = []
        var hasPTP = ptpRefusal == nil
        var noPTP = ptpRefusal ?? ""
        if hasPTP, conditions.clockPorts != .available {
            hasPTP = false
            noPTP = "UDP 319 and 320 cannot be used here"
        }
        if hasPTP {
            if let refusal = bufferedRefusal {
                found.append((.realtime, refusal))
            } else {
                found.append((.buffered, "advertises bit 40, PTP ports available"))
                found.append((.realtime, "second choice after buffered"))
            }
        }
        if ntpRefusal == nil {
            found.append((.realtimeNTP, hasPTP ? "last choice, for speakers that never request PTP time" : noPTP))
        }
        return found
    }

    /// Why the speaker does not support a buffered stream; nil if it does.
    private var bufferedRefusal: String? {
        if traits.isApple { return "Apple receivers accept buffered streams and are then often silent" }
        if !features.contains(.bufferedAudio) { return "does not advertise bit 40 (buffered audio)" }
        // The first AirPlay version whose buffered audio is known to work.
        if let version, version < DottedVersion("354.54.6")! {
            return "its AirPlay version \(version) is below 354.54.6"
        }
        return nil
    }

    /// Why PTP cannot be used; nil if it can.
    var ptpRefusal: String? {
        if !features.contains(.ptp) { return "does not advertise bit 41 (PTP)" }
        if let version, version < DottedVersion("366")! { return "its AirPlay version \(version) is below 366" }
        return nil
    }

    /// Why NTP timing cannot be used: these receivers respond with an error, stall, or do not respond. Nil for others.
    private var ntpRefusal: String? {
        if traits.isHomePod { return "HomePods do not support NTP timing" }
        if traits.isShairportSync { return "shairport-sync does not support NTP timing" }
        if traits.isSonos { return "Sonos speakers stall with NTP timing" }
        return nil
    }

    private var access: RouteDecision.Access {
        if conditions.isPaired { return .verify }
        if traits.needsPIN { return .pin }
        if traits.needsPassword { return .password }
        return .transient
    }

    /// A single HomePod with a recent system is always grandmaster.
    private var role: ClockRole {
        let group = traits.group
        if let required = memory?.role, memory?.isRoleOfGroup == group.isGrouped { return required }
        guard traits.isHomePod, group.isLeader == true, !group.isGrouped else { return .grandmaster }
        if let system = traits.systemVersion.flatMap({ DottedVersion($0) }) {
            return system.major >= 27 ? .follower : .grandmaster
        }
        return (version?.major ?? 0) >= 980 ? .follower : .grandmaster
    }
}
