internal import AirPlayTransport
internal import Discovery
import MediaCore
internal import Sockets

/// Finds user-provided speakers: by name or identifier on the network, or at an address. `local` is the sound card.
struct SpeakerSelection {
    /// Starts browsing.
    typealias Browse = () throws(DiscoveryError) -> any SpeakerSource

    /// Timeout for a requested speaker, which may be starting, or be on a slow network.
    static let timeout: Duration = .seconds(8)

    var knowledge: SpeakerKnowledge
    var clock: any HostClock = MonotonicClock()
    /// Starts browsing; called only for names and identifiers.
    var browse: Browse
    /// Identifies the receiver at an address.
    var inquire: (SpeakerAddress, HostInstant) throws(AirPlayError) -> DiscoveredSpeaker
    var clockPorts: (DiscoveredSpeaker) -> RouteConditions.ClockPorts = { .check(toward: $0) }
    var preferences = SpeakerPreferenceTable()
    /// Receives a sentence about a wait.
    var notice: (String) -> Void = { _ in }

    init(
        knowledge: SpeakerKnowledge, clock: any HostClock = MonotonicClock(),
        browse: @escaping Browse,
        inquire: @escaping (SpeakerAddress, HostInstant) throws(AirPlayError) -> DiscoveredSpeaker,
        clockPorts: @escaping (DiscoveredSpeaker) -> RouteConditions.ClockPorts = { .check(toward: $0) },
        notice: @escaping (String) -> Void = { _ in }
    ) {
        self.knowledge = knowledge
        self.clock = clock
        self.browse = browse
        self.inquire = inquire
        self.clockPorts = clockPorts
        self.notice = notice
    }

    /// Returns a selection on the real network. Raising `interruption` ends its waits.
    static func live(_ knowledge: SpeakerKnowledge, interruption: Interruption) -> SpeakerSelection {
        SpeakerSelection(
            knowledge: knowledge,
            browse: { () throws(DiscoveryError) in
                let browser = try SpeakerBrowser()
                interruption.onRaise(browser.interruption)
                return browser
            },
            inquire: { (address, deadline) throws(AirPlayError) in
                try SpeakerInquiry.ask(address, as: knowledge.sender, until: deadline) {
                    interruption.pause(until: $0)
                }
            })
    }

    /// Returns the speakers of each name in order, without duplicates: one speaker, or both members of a stereo pair.
    /// Empty for `local`.
    ///
    /// - Throws: `invalidArgument` for an ambiguous name, `unavailable` for a missing or unusable speaker,
    ///   `notPermitted` if a PIN, a password or a permission is required.
    func choose(_ names: [String]) throws(TalkieError) -> [[ChosenSpeaker]] {
        let deadline = clock.now.advanced(by: Self.timeout)
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
                    try ChosenSpeaker(
                        speaker, query: query.description, knowledge: knowledge,
                        preferences: preferences[query.description], clockPorts: clockPorts))
            }
            chosen.append(members)
        }
        return chosen
    }

    /// Returns the receivers of one name: one receiver, or the members of a stereo pair.
    ///
    /// - Throws: `invalidArgument` for an ambiguous name, `unavailable` for a missing speaker.
    func receivers(_ query: SpeakerQuery) throws(TalkieError) -> [DiscoveredSpeaker] {
        do {
            return try speakers([query], until: clock.now.advanced(by: Self.timeout)) { _ in [] }[0]
        } catch {
            throw TalkieError(error)
        }
    }

    /// Returns the receivers of each query; empty for the local card.
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
    /// Whether it requires browsing.
    var isLookedFor: Bool {
        switch self {
        case .local, .address: false
        case .id, .name: true
        }
    }
}
