package import AirPlayTransport
internal import AirPlayWire
package import MediaCore
internal import Sockets

/// One entry of `talkie speakers`: a speaker or pair, its abilities, and its route.
package struct SpeakerListing: Hashable, Sendable {
    package let entry: SpeakerEntry
    let decision: RouteDecision
    let isPaired: Bool
    /// Whether a password is stored.
    let hasPassword: Bool
    /// The calibrations, newest last; set by the owner of the list.
    package var calibrations: [Calibration] = []
    /// Why the speaker can be used by classic AirPlay; nil if it cannot. Set by the owner of the list.
    package var classic: String?

    /// Whether classic AirPlay is used: AirPlay 2 is impossible.
    private var usesClassic: Bool { decision.route == nil && classic != nil }

    /// A calibration result for display.
    package struct Calibration: Hashable, Sendable {
        var route: String
        var screen: String
        var mode: String
        /// Milliseconds, positive if audio is late; nil if only speakers were compared with each other.
        package var offset: Double?
        /// The result in words.
        var text: String

        package init(route: String, screen: String, mode: String, offset: Double?, text: String) {
            self.route = route
            self.screen = screen
            self.mode = mode
            self.offset = offset
            self.text = text
        }
    }

    package init(entry: SpeakerEntry, decision: RouteDecision, isPaired: Bool, hasPassword: Bool = false) {
        self.entry = entry
        self.decision = decision
        self.isPaired = isPaired
        self.hasPassword = hasPassword
    }

    /// Returns the listings of the entries of a snapshot. Reads state files.
    ///
    /// - Parameters:
    ///   - knowledge: The stored state; its notes report unreadable files.
    ///   - clockPorts: Called once per entry.
    package static func list(
        _ entries: [SpeakerEntry], knowledge: SpeakerKnowledge,
        clockPorts: (DiscoveredSpeaker) -> RouteConditions.ClockPorts
    ) -> [SpeakerListing] {
        entries.map { entry in
            let speaker = entry.leader
            let credentials = speaker.id.map { knowledge.credentials(for: $0) } ?? SpeakerCredentials()
            let isPaired = credentials.accessory != nil
            let memory = speaker.id.flatMap { knowledge.memory(of: $0) }
            let conditions = RouteConditions(
                requested: memory?.wanted, memory: memory,
                clockPorts: clockPorts(speaker), isPaired: isPaired)
            return SpeakerListing(
                entry: entry, decision: .decide(for: speaker, under: conditions), isPaired: isPaired,
                hasPassword: credentials.password != nil)
        }
    }

    /// The announced abilities, in words.
    var abilities: [String] {
        let traits = entry.leader.traits
        let features = traits.features ?? []
        var labels: [String] = []
        if !entry.leader.endpoints.isEmpty { labels.append("AirPlay 2") }
        if !entry.leader.raopEndpoints.isEmpty { labels.append("AirPlay 1") }
        if features.contains(.bufferedAudio) { labels.append("buffered") }
        if features.contains(.ptp) { labels.append("PTP") }
        if features.contains(.ntp) { labels.append("NTP") }
        if traits.needsPIN { labels.append("wants a PIN") }
        if traits.needsPassword { labels.append("wants a password") }
        if traits.status?.contains(.busy) == true { labels.append("busy") }
        return labels
    }

    /// What the user must do first; nil: nothing.
    package var todo: Remedy? {
        switch decision.access {
        case .pin: .pairByPIN(entry.name)
        case .password where hasPassword: nil
        case .password: .enterPassword(entry.name)
        case .verify, .transient: nil
        }
    }

    /// Returns the listing as text: one line per member, then its abilities, route and stored state.
    ///
    /// - Parameter first: The wording of what must be done first.
    package func text(first: (Remedy) -> String = \.advice) -> String {
        var title = entry.name
        if entry.kind == .stereoPair {
            title += entry.isComplete ? " (stereo pair)" : " (stereo pair, one half missing)"
        }
        var lines = [title]
        for member in entry.members {
            var facts = entry.kind == .stereoPair ? [member.name] : []
            facts.append(member.traits.model ?? "unknown model")
            facts.append(member.endpoint?.description ?? "no address")
            if let id = member.id { facts.append(id.description) }
            lines.append("    " + facts.joined(separator: "  "))
        }
        if !abilities.isEmpty { lines.append("    can: " + abilities.joined(separator: ", ")) }
        let verdict: String
        if let route = decision.route {
            let clock = decision.role == .follower ? ", on the speaker's clock" : ""
            verdict = "\(route)\(clock): \(decision.reason)"
        } else if let classic {
            verdict = "\(Route.classic): \(classic), and \(decision.reason)"
        } else {
            verdict = "cannot be played to: \(decision.reason)"
        }
        lines.append("    " + verdict)
        if let todo, decision.route != nil || usesClassic { lines.append("    first: \(first(todo))") }
        for calibration in calibrations { lines.append("    calibrated: \(calibration.text)") }
        if isPaired { lines.append("    paired") }
        if hasPassword { lines.append("    password stored") }
        return lines.joined(separator: "\n") + "\n"
    }

    private var alternatives: [Route] {
        decision.alternatives + (classic != nil && decision.route != nil ? [.classic] : [])
    }

    /// The listing as JSON. Members are only ever added.
    var json: JSONValue {
        let leader = entry.leader
        let obstacle: JSONValue =
            switch decision.verdict {
            case .impossible(let obstacle): usesClassic ? .null : .text(obstacle.rawValue)
            case .drive: .null
            }
        return .object([
            ("name", .text(entry.name)),
            ("kind", .text(entry.kind.rawValue)),
            ("id", .optional(leader.id?.description)),
            ("model", .optional(leader.traits.model)),
            ("address", .optional(leader.endpoint?.address.description)),
            ("port", .optional(leader.endpoint.map { Int($0.port) })),
            ("complete", .flag(entry.isComplete)),
            ("abilities", .array(abilities.map(JSONValue.text))),
            ("features", .optional(leader.traits.features.map { Self.hexadecimal($0.rawValue) })),
            ("flags", .optional(leader.traits.status.map { Self.hexadecimal($0.rawValue) })),
            ("source_version", .optional(leader.traits.sourceVersion)),
            ("route", .optional(usesClassic ? Route.classic.rawValue : decision.route?.rawValue)),
            ("obstacle", obstacle),
            ("reason", .text(usesClassic ? classic ?? "" : decision.reason)),
            ("alternatives", .array(alternatives.map { .text($0.rawValue) })),
            ("clock", .text(decision.role.rawValue)),
            ("access", .text(decision.access.rawValue)),
            ("paired", .flag(isPaired)),
            ("password_kept", .flag(hasPassword)),
            ("calibrations", .array(calibrations.map(Self.json))),
            ("members", .array(entry.members.map(Self.json))),
        ])
    }

    private static func hexadecimal(_ value: some BinaryInteger) -> String {
        "0x" + String(value, radix: 16, uppercase: true)
    }

    private static func json(_ calibration: Calibration) -> JSONValue {
        .object([
            ("route", .text(calibration.route)), ("screen", .text(calibration.screen)),
            ("mode", .text(calibration.mode)), ("offset_ms", .optional(calibration.offset, decimals: 3)),
        ])
    }

    private static func json(_ member: DiscoveredSpeaker) -> JSONValue {
        .object([
            ("name", .text(member.name)), ("id", .optional(member.id?.description)),
            ("model", .optional(member.traits.model)),
            ("addresses", .array(member.endpoints.map { .text($0.description) })),
        ])
    }

    /// Returns a list as JSON, with a newline.
    ///
    /// - Parameter sinks: The outputs of the sound server, from the owner of the list.
    package static func json(_ listings: [SpeakerListing], sinks: [JSONValue] = [], note: String?) -> String {
        JSONValue.object([
            ("speakers", .array(listings.map(\.json))), ("sinks", .array(sinks)), ("note", .optional(note)),
        ]).compact + "\n"
    }
}

/// A difference between two lists, for `talkie speakers --watch`.
package enum ListingChange: Hashable, Sendable {
    case appeared(SpeakerListing)
    case changed(SpeakerListing)
    case vanished(SpeakerListing)

    /// Returns the changes from one list to another; vanished entries first.
    package static func between(_ old: [SpeakerListing], _ new: [SpeakerListing]) -> [ListingChange] {
        func key(_ listing: SpeakerListing) -> [DiscoveredSpeaker.Key] { listing.entry.members.map(\.key) }
        let before = Dictionary(old.map { (key($0), $0) }, uniquingKeysWith: { first, _ in first })
        let after = Set(new.map { key($0) })
        return old.filter { !after.contains(key($0)) }.map { .vanished($0) }
            + new.compactMap { listing in
                guard let known = before[key(listing)] else { return .appeared(listing) }
                return known == listing ? nil : .changed(listing)
            }
    }

    private var fields: (sign: String, word: String, listing: SpeakerListing) {
        switch self {
        case .appeared(let listing): ("+", "appeared", listing)
        case .changed(let listing): ("~", "changed", listing)
        case .vanished(let listing): ("-", "vanished", listing)
        }
    }

    /// Returns `+`, `~` or `-` and the listing; for a vanished entry only its name.
    ///
    /// - Parameter first: See `SpeakerListing.text`.
    package func text(first: (Remedy) -> String = \.advice) -> String {
        let (sign, _, listing) = fields
        if case .vanished = self { return "\(sign) \(listing.entry.name)\n" }
        return "\(sign) \(listing.text(first: first))"
    }

    /// One JSON object on one line.
    package var json: String {
        let (_, word, listing) = fields
        return JSONValue.object([("event", .text(word)), ("speaker", listing.json)]).compact + "\n"
    }
}
