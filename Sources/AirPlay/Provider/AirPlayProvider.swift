internal import Discovery
public import MediaCore
internal import PTP
public import SyncRendering

/// AirPlay speakers as places for sound: found by their announcements, by id, or asked at their address.
///
/// All its outputs share one identity and one clock, as speakers of one group must. Any thread.
public final class AirPlayProvider: OutputProvider {
    public let name = "airplay"

    private struct State {
        var knowledge: SpeakerKnowledge?
        var clocks: PTPDirectory?
        /// The receivers behind each place that is announced, and behind each that a person named.
        var announced: [String: [DiscoveredSpeaker]] = [:]
        var named: [String: [ChosenSpeaker]] = [:]
        var driven: [String: DrivenSpeaker] = [:]
        var title: String?
    }

    /// How often pairings of other processes (`talkie pair`) are looked for.
    private static let pairingInterval = Duration.seconds(1)
    private let state = Lock(State())
    /// Where speakers are found again that have moved.
    private let network = SpeakerNetwork()
    let phrases: RemedyPhrases

    /// - Parameter phrases: how the application says what can be done about errors and obstacles.
    public init(saying phrases: RemedyPhrases = RemedyPhrases()) { self.phrases = phrases }

    /// For tests: reads and keeps what it knows elsewhere.
    package init(knowledge: SpeakerKnowledge, saying phrases: RemedyPhrases = RemedyPhrases()) {
        self.phrases = phrases
        state.withLock { $0.knowledge = knowledge }
    }

    // MARK: What there is

    public func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {
        let browser: SpeakerBrowser
        do throws(DiscoveryError) { browser = try SpeakerBrowser() } catch {
            return report(OutputOffer(note: "Speakers cannot be looked for: \(error.message)."))
        }
        interruption.onRaise { [weak browser] in browser?.interrupt() }
        browser.wish(for: knowledge.pairings.wishes)
        watch(browser, until: interruption, report)
    }

    package func watch(_ source: any SpeakerSource, until interruption: Interruption, _ report: (OutputOffer) -> Void) {
        var (last, pairings) = (SpeakerBrowser.Snapshot(), knowledge.pairings.changeTime)
        while interruption.status == nil {
            let (before, deadline) = (last, HostInstant.now.advanced(by: Self.pairingInterval))
            last = source.wait(until: deadline) { $0 != before || interruption.status != nil }.snapshot
            let changed = knowledge.pairings.changeTime
            if last != before || changed != pairings {
                pairings = changed
                report(offer(last))
            } else if HostInstant.now < deadline {
                // Only a browser that has ended returns early with nothing new.
                return
            }
        }
    }

    package func offer(_ snapshot: SpeakerBrowser.Snapshot) -> OutputOffer {
        let entries = snapshot.entries
        state.withLock { state in
            state.announced = [:]
            for entry in entries { state.announced[Self.id(entry)] = entry.members }
        }
        let knowledge = knowledge
        var offer = OutputOffer()
        offer.places = entries.map { place($0, obstacle: obstacle($0, knowledge)) }
            .sorted { ($0.name.lowercased(), $0.id) < ($1.name.lowercased(), $1.id) }
        if case .unavailable(let error) = snapshot.availability { offer.note = error.message }
        return offer
    }

    private func place(_ entry: SpeakerEntry, obstacle: String? = nil) -> OutputPlace {
        OutputPlace(
            provider: name, id: Self.id(entry), name: entry.name,
            kind: entry.kind == .stereoPair ? .stereoPair : .speaker, obstacle: obstacle)
    }

    /// A speaker that does not say who it is, is known by its name.
    private static func id(_ entry: SpeakerEntry) -> String { entry.leader.id?.description ?? "name:\(entry.name)" }

    /// What the owner of a speaker has to do first.
    private func obstacle(_ entry: SpeakerEntry, _ knowledge: SpeakerKnowledge) -> String? {
        let listing = SpeakerListing.list(
            [entry], knowledge: knowledge, clockPorts: { _ in .available })
        guard let line = listing.first else { return nil }
        if line.decision.route == nil { return line.decision.reason }
        return line.todo.map { $0.saying(phrases.inLists($0)).sentence(after: "wants to be paired first") }
    }

    // MARK: What a person named

    /// Everything but the names of other providers: asked last, it takes what nobody else wants.
    public func answers(to name: String) -> Bool { name != "local" }

    public func find(
        _ names: [String], until interruption: Interruption, notice: @escaping (String) -> Void
    ) throws(TalkieError) -> [OutputPlace] {
        var selection = SpeakerSelection.live(knowledge, interruption: interruption)
        selection.notice = notice
        return try find(names, selection)
    }

    package func find(_ names: [String], _ selection: SpeakerSelection) throws(TalkieError) -> [OutputPlace] {
        let chosen: [[ChosenSpeaker]]
        do { chosen = try selection.choose(names) } catch { throw error.saying(phrases.inErrors) }
        return SpeakerEntry.entries(of: chosen.flatMap { $0 }.map(\.speaker)).map { entry in
            let members = chosen.joined().filter { one in entry.members.contains { $0.key == one.speaker.key } }
            state.withLock { $0.named[Self.id(entry)] = Array(members) }
            return place(entry)
        }
    }

    // MARK: Outputs

    public func outputs(at place: OutputPlace) throws(TalkieError) -> [any AudioOutput] {
        let (announced, named) = state.withLock { ($0.announced[place.id], $0.named[place.id]) }
        if let named { return named.map { output(of: $0).output } }
        guard let announced else {
            throw TalkieError(.unavailable, "'\(place.name)' is not announced any more; is it switched on?")
        }
        var outputs: [any AudioOutput] = []
        for speaker in announced { outputs.append(try output(of: speaker).output) }
        return outputs
    }

    private func output(of speaker: DiscoveredSpeaker) throws(TalkieError) -> DrivenSpeaker {
        if let known = state.withLock({ $0.driven[Self.key(speaker)] }) { return known }
        let clocks = clocks
        do {
            return output(
                of: try ChosenSpeaker(speaker, query: speaker.name, knowledge: knowledge) {
                    .check(toward: $0, sharing: clocks)
                })
        } catch {
            throw error.saying(phrases.inErrors)
        }
    }

    private func output(of chosen: ChosenSpeaker) -> DrivenSpeaker {
        let (knowledge, clocks, phrases) = (knowledge, clocks, phrases)
        network.start()
        network.wish(for: SpeakerWishes([.name(chosen.name)], ids: chosen.speaker.id.map { [$0] } ?? []))
        let key = Self.key(chosen.speaker)
        return state.withLock { state in
            if let known = state.driven[key] { return known }
            let driven = DrivenSpeaker(
                chosen, knowledge: knowledge, sender: knowledge.sender, clocks: clocks, network: network,
                phrases: phrases)
            if let title = state.title { driven.output.setTitle(title) }
            state.driven[key] = driven
            return driven
        }
    }

    /// An output follows its speaker to another address by the id; one without an id is known by where it is.
    private static func key(_ speaker: DiscoveredSpeaker) -> String {
        if let id = speaker.id { return "\(id) \(speaker.name)" }
        return "\(speaker.name) \(speaker.endpoint.map { "\($0)" } ?? "")"
    }

    public func identity(of output: any AudioOutput) -> OutputIdentity? {
        state.withLock { state in state.driven.values.first { $0.output === output }?.chosen.identity }
    }

    public func setTitle(_ title: String) {
        let speakers = state.withLock { state in
            state.title = title
            return Array(state.driven.values)
        }
        for speaker in speakers { speaker.output.setTitle(title) }
    }

    // MARK: What is kept

    /// What this computer keeps, read when it is needed first.
    package var knowledge: SpeakerKnowledge {
        state.withLock { state in
            if let knowledge = state.knowledge { return knowledge }
            let knowledge = SpeakerKnowledge()
            state.knowledge = knowledge
            return knowledge
        }
    }

    /// Only once something was read: looking for it would make an identity.
    public var notes: [String] { state.withLock { $0.knowledge }?.notes ?? [] }

    public func remember() {
        let (speakers, knowledge) = state.withLock { (Array($0.driven.values), $0.knowledge) }
        guard let knowledge else { return }
        for speaker in speakers { speaker.remember(in: knowledge) }
    }

    private var clocks: PTPDirectory {
        let identity = knowledge.sender.clock
        return state.withLock { state in
            if let clocks = state.clocks { return clocks }
            let clocks = PTPDirectory(identity: identity)
            state.clocks = clocks
            return clocks
        }
    }
}

extension ChosenSpeaker {
    /// What calibrations know it by: its id, or where it does not say who it is, its address.
    var identity: OutputIdentity {
        OutputIdentity(
            key: speaker.id?.digits ?? "host-" + OutputIdentity.key(from: address.description), name: name,
            query: query, route: route.rawValue, address: address.description)
    }
}
