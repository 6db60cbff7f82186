internal import Discovery
package import MediaCore
internal import Sockets

/// Finds what a person named: on the network by name or id, at an address, or this computer's own card.
package struct SpeakerSelection {
    /// Begins to look.
    typealias Browse = () throws(DiscoveryError) -> any SpeakerSource

    /// How long a speaker that was named is waited for: one that is being switched on, or a network that is slow.
    package static let patience: Duration = .seconds(8)

    package var knowledge: SpeakerKnowledge
    package var clock: any HostClock = MonotonicClock()
    /// Begins to look; called only when something is named that must be looked for.
    var browse: Browse
    /// Asks who is at an address.
    var inquire: (SpeakerAddress, HostInstant) throws(AirPlayError) -> DiscoveredSpeaker
    var clockPorts: (NetworkAddress?) -> RouteConditions.ClockPorts = { .check(toward: $0) }
    /// Told what is waited for, when that takes a while.
    package var notice: (String) -> Void = { _ in }

    init(
        knowledge: SpeakerKnowledge, clock: any HostClock = MonotonicClock(),
        browse: @escaping Browse,
        inquire: @escaping (SpeakerAddress, HostInstant) throws(AirPlayError) -> DiscoveredSpeaker,
        clockPorts: @escaping (NetworkAddress?) -> RouteConditions.ClockPorts = { .check(toward: $0) },
        notice: @escaping (String) -> Void = { _ in }
    ) {
        self.knowledge = knowledge
        self.clock = clock
        self.browse = browse
        self.inquire = inquire
        self.clockPorts = clockPorts
        self.notice = notice
    }

    /// The real network.
    package static func live(_ knowledge: SpeakerKnowledge, interruption: Interruption) -> SpeakerSelection {
        SpeakerSelection(
            knowledge: knowledge,
            browse: { () throws(DiscoveryError) in
                let browser = try SpeakerBrowser()
                interruption.onRaise { [weak browser] in browser?.interrupt() }
                return browser
            },
            inquire: { (address, deadline) throws(AirPlayError) in
                try SpeakerInquiry.ask(address, as: knowledge.sender, until: deadline) {
                    interruption.pause(until: $0)
                }
            })
    }

    /// The speakers in the order they were named, each once: for every name one, or both halves of a stereo pair. None for `local`.
    ///
    /// - Throws: `invalidArgument` for a name that several have, `unavailable` for what is not there or cannot be played to,
    ///   `notPermitted` for what wants a PIN, a password or a right first.
    package func choose(_ names: [String]) throws(TalkieError) -> [[ChosenSpeaker]] {
        let deadline = clock.now.advanced(by: Self.patience)
        let found: [[DiscoveredSpeaker]]
        var queries: [SpeakerQuery] = []
        do {
            for name in names { queries.append(try SpeakerQuery(name)) }
            let pairings = knowledge.pairings
            found = try speakers(queries, until: deadline) { pairings.speakers(known: $0) }
        } catch {
            throw TalkieError(error)
        }
        var chosen: [[ChosenSpeaker]] = []
        var seen: Set<DiscoveredSpeaker.Key> = []
        for (query, speakers) in zip(queries, found) {
            var members: [ChosenSpeaker] = []
            for speaker in speakers where seen.insert(speaker.key).inserted {
                members.append(
                    try ChosenSpeaker(speaker, query: query.description, knowledge: knowledge, clockPorts: clockPorts))
            }
            chosen.append(members)
        }
        return chosen
    }

    /// The receivers behind one name: one, or the halves of a stereo pair.
    ///
    /// - Throws: 2 for a name that several have, 69 for what is not there.
    package func receivers(_ query: SpeakerQuery) throws(TalkieError) -> [DiscoveredSpeaker] {
        do {
            return try speakers([query], until: clock.now.advanced(by: Self.patience)) { _ in [] }[0]
        } catch {
            throw TalkieError(error)
        }
    }

    /// The receivers behind each query, none for the local card.
    private func speakers(
        _ queries: [SpeakerQuery], until deadline: HostInstant, paired: @escaping (SpeakerQuery) -> Set<SpeakerID>
    ) throws(DiscoveryError) -> [[DiscoveredSpeaker]] {
        let announced = queries.filter { $0.isLookedFor }
        var entries: [SpeakerEntry] = []
        if !announced.isEmpty {
            entries = try SpeakerSearch(browse(), clock: clock, paired: paired).find(announced, until: deadline) {
                missing in
                notice("waiting for " + missing.map { "'\($0)'" }.joined(separator: " and "))
            }
        }
        var found: [[DiscoveredSpeaker]] = []
        for query in queries {
            switch query {
            case .local: found.append([])
            case .address(let address):
                notice("asking \(address)")
                do throws(AirPlayError) {
                    found.append([try inquire(address, deadline)])
                } catch {
                    throw DiscoveryError(.notFound, error.problem, remedy: error.remedy)
                }
            case .id, .name: found.append(entries.removeFirst().members)
            }
        }
        return found
    }
}

extension SpeakerQuery {
    /// Whether it takes a browser to find it.
    var isLookedFor: Bool {
        switch self {
        case .local, .address: false
        case .id, .name: true
        }
    }
}
