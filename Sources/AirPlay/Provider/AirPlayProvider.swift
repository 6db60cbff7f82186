public import AirPlayTransport
internal import Discovery
public import MediaCore
internal import PTP
public import SyncRendering

/// The output provider for AirPlay speakers, found by announcements, by identifier, or at an address.
///
/// All its outputs share one identity and one clock, as the speakers of a group must. Callable from any thread.
public final class AirPlayProvider: OutputProvider {
    /// The name of the provider.
    public let name = "airplay"

    /// Guarded by the lock `state`.
    private struct State {
        var knowledge: SpeakerKnowledge?
        var clocks: PTPDirectory?
        var remote: RemoteControlServer?
        /// The receivers of each announced destination, and of each destination named by the user.
        var announced: [String: [DiscoveredSpeaker]] = [:]
        var named: [String: [ChosenSpeaker]] = [:]
        var driven: [String: DrivenSpeaker] = [:]
        var onIdentityChange: @Sendable () -> Void = {}
    }

    /// Poll interval for pairings made by other processes (`talkie pair`).
    private static let pairingInterval = Duration.seconds(1)
    private let state = Lock(State())
    /// Finds speakers whose address has changed.
    private let network = SpeakerNetwork()
    let phrases: RemedyPhrases
    private let preferences: SpeakerPreferenceTable
    private let trace: ConversationTrace?

    /// Creates a provider.
    ///
    /// - Parameter phrases: The application's wording of remedies in errors and obstacles.
    public convenience init(saying phrases: RemedyPhrases = RemedyPhrases()) {
        self.init(saying: phrases, preferring: SpeakerPreferenceTable())
    }

    /// Creates a provider with the user's preferences for speakers.
    ///
    /// - Parameter trace: Records all conversations; nil: none.
    package init(
        saying phrases: RemedyPhrases, preferring preferences: SpeakerPreferenceTable,
        tracing trace: ConversationTrace? = nil
    ) {
        (self.phrases, self.preferences, self.trace) = (phrases, preferences, trace)
    }

    /// Creates a provider with another state folder, for tests.
    package init(knowledge: SpeakerKnowledge, saying phrases: RemedyPhrases = RemedyPhrases()) {
        self.phrases = phrases
        preferences = SpeakerPreferenceTable()
        trace = nil
        state.withLock { $0.knowledge = knowledge }
    }

    // MARK: Discovery

    /// Reports the announced speakers at every change. Blocks until `interruption`, or until discovery fails.
    public func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {
        let browser: SpeakerBrowser
        do throws(DiscoveryError) { browser = try SpeakerBrowser() } catch {
            return report(OutputOffer(note: "Cannot search for speakers: \(error.message)."))
        }
        interruption.onRaise(browser.interruption)
        browser.request(for: knowledge.pairings.requests)
        watch(browser, until: interruption, report)
    }

    /// Reports the speakers of another source, for tests.
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
                // Only a browser that has ended returns early without a change.
                return
            }
        }
    }

    /// Returns the destinations of a snapshot and stores their receivers for `outputs(at:)`.
    package func offer(_ snapshot: SpeakerBrowser.Snapshot) -> OutputOffer {
        let entries = snapshot.entries
        state.withLock { state in
            state.announced = [:]
            for entry in entries { state.announced[entry.destinationID] = entry.members }
        }
        let knowledge = knowledge
        var offer = OutputOffer()
        offer.destinations = entries.map { entry in
            let (obstacle, pairing) = obstacle(entry, knowledge)
            return destination(entry, obstacle: obstacle, pairing: pairing)
        }
        .sorted { ($0.name.lowercased(), $0.id) < ($1.name.lowercased(), $1.id) }
        if case .unavailable(let error) = snapshot.availability { offer.note = error.message }
        return offer
    }

    private func destination(
        _ entry: SpeakerEntry, obstacle: String? = nil, pairing: OutputDestination.Pairing? = nil
    ) -> OutputDestination {
        OutputDestination(
            provider: name, id: entry.destinationID, name: entry.name, kind: entry.destinationKind, obstacle: obstacle,
            pairing: pairing)
    }

    /// Returns what the user must do before playing, or why playing is impossible; nil: nothing.
    private func obstacle(
        _ entry: SpeakerEntry, _ knowledge: SpeakerKnowledge
    ) -> (String?, OutputDestination.Pairing?) {
        let listing = SpeakerListing.list(
            [entry], knowledge: knowledge, clockPorts: { _ in .available })
        guard let line = listing.first else { return (nil, nil) }
        if line.decision.route == nil { return (line.decision.reason, nil) }
        guard let todo = line.todo else { return (nil, nil) }
        let isPassword = [.givePassword, .correctPassword].contains(todo.action)
        return (
            todo.saying(phrases.inLists(todo)).sentence(after: "must be paired first"), isPassword ? .password : .pin
        )
    }

    // MARK: Search by name

    /// Any name may be a speaker's; its address begins with `airplay://`.
    public func match(_ name: String) -> NameMatch { .name(name, scheme: "airplay") }

    /// Returns the destinations of user-provided names. Blocks until they are found, at most
    /// `SpeakerSelection.timeout`.
    ///
    /// - Parameter notice: Receives a sentence if the search takes longer.
    /// - Throws: `TalkieError` as `SpeakerSelection.choose` does.
    public func find(
        _ names: [String], until interruption: Interruption, notice: @escaping (String) -> Void
    ) throws(TalkieError) -> [OutputDestination] {
        var selection = SpeakerSelection.live(knowledge, interruption: interruption)
        selection.notice = notice
        selection.preferences = preferences
        let clocks = clocks
        selection.clockPorts = { .check(toward: $0, reservedIn: clocks) }
        return try find(names, selection)
    }

    /// Returns the destinations of names in another selection, for tests.
    func find(_ names: [String], _ selection: SpeakerSelection) throws(TalkieError) -> [OutputDestination] {
        let chosen: [[ChosenSpeaker]]
        do {
            chosen = try selection.choose(names)
            for speaker in chosen.joined() { try discardRefused(speaker, selection) }
        } catch {
            throw error.saying(phrases.inErrors)
        }
        if !chosen.joined().contains(where: \.route.needsPTP) { clocks.releaseReservations() }
        return SpeakerEntry.entries(of: chosen.flatMap { $0 }.map(\.speaker)).map { entry in
            let members = chosen.joined().filter { one in entry.members.contains { $0.key == one.speaker.key } }
            state.withLock { $0.named[entry.destinationID] = Array(members) }
            return destination(entry)
        }
    }

    // MARK: Refusals

    /// Discards the output of a speaker that has refused its last session: `outputs(at:)` makes one with the current
    /// credentials.
    ///
    /// - Throws: `unavailable` while another sender plays on the speaker. `notPermitted` until a pairing changes, if
    ///   the password was rejected: a spoofed speaker must not get repeated attempts to guess it.
    private func discardRefused(_ chosen: ChosenSpeaker, _ selection: SpeakerSelection) throws(TalkieError) {
        guard let driven = state.withLock({ $0.driven[Self.key(chosen.speaker)] }) else { return }
        let (rejection, busyFlags) = (driven.refusals.rejection, driven.refusals.busyFlags)
        if let rejection, chosen.credentials.password != nil, chosen.pairingTime == driven.chosen.pairingTime {
            let error = OutputError(rejection, of: chosen.name)
            throw TalkieError(.notPermitted, error.problem, remedy: error.remedy)
        }
        if !busyFlags.isEmpty {
            let present: DiscoveredSpeaker
            do {
                present = try selection.inquire(
                    chosen.address, selection.clock.now.advanced(by: SpeakerSelection.timeout))
            } catch {
                throw TalkieError(error)
            }
            guard present.traits.status?.isDisjoint(with: busyFlags) ?? true else {
                throw TalkieError(.unavailable, "another sender plays on '\(chosen.name)'")
            }
        }
        if rejection != nil || !busyFlags.isEmpty { discard(driven) }
    }

    private func discard(_ driven: DrivenSpeaker) {
        driven.remember(in: knowledge)
        state.withLock { $0.driven[Self.key(driven.chosen.speaker)] = nil }
    }

    // MARK: Outputs

    /// Returns the outputs of a destination: one, or both members of a stereo pair.
    ///
    /// - Throws: `unavailable` if the destination is not announced, or an error of `ChosenSpeaker`.
    public func outputs(at destination: OutputDestination) throws(TalkieError) -> [any AudioOutput] {
        let (announced, named) = state.withLock { ($0.announced[destination.id], $0.named[destination.id]) }
        if let named { return named.map { output(of: $0).output } }
        guard let announced else {
            throw TalkieError(.unavailable, "'\(destination.name)' is no longer announced; check that it is on.")
        }
        var outputs: [any AudioOutput] = []
        for speaker in announced { outputs.append(try output(of: speaker).output) }
        return outputs
    }

    private func output(of speaker: DiscoveredSpeaker) throws(TalkieError) -> DrivenSpeaker {
        if let known = state.withLock({ $0.driven[Self.key(speaker)] }) {
            let isPairedAgain = known.chosen.pairingTime != knowledge.pairings.changeTime
            guard known.refusals.rejection != nil, isPairedAgain else { return known }
            discard(known)
        }
        let clocks = clocks
        do {
            let chosen = try ChosenSpeaker(
                speaker, query: speaker.name, knowledge: knowledge, preferences: preferences[speaker.name]
            ) { .check(toward: $0, reservedIn: clocks) }
            if !chosen.route.needsPTP { clocks.releaseReservations() }
            return output(of: chosen)
        } catch {
            throw error.saying(phrases.inErrors)
        }
    }

    private func output(of chosen: ChosenSpeaker) -> DrivenSpeaker {
        let (knowledge, clocks, remote, phrases, trace) = (knowledge, clocks, remote, phrases, trace)
        network.start()
        network.request(for: SpeakerRequests([.name(chosen.name)], ids: chosen.speaker.id.map { [$0] } ?? []))
        let key = Self.key(chosen.speaker)
        return state.withLock { state in
            if let known = state.driven[key] { return known }
            let driven = DrivenSpeaker(
                chosen, knowledge: knowledge, sender: knowledge.sender, clocks: clocks, network: network,
                remote: remote, phrases: phrases, trace: trace
            ) { [weak self] in self?.state.withLock { $0.onIdentityChange }() }
            state.driven[key] = driven
            return driven
        }
    }

    /// Returns the key of an output. With an identifier the output survives an address change; otherwise the address is
    /// part of it.
    private static func key(_ speaker: DiscoveredSpeaker) -> String {
        if let id = speaker.id { return "\(id) \(speaker.name)" }
        return "\(speaker.name) \(speaker.endpoint.map { "\($0)" } ?? "")"
    }

    /// Returns the identity of an output for calibrations; nil if it is not of this provider.
    public func identity(of output: any AudioOutput) -> OutputIdentity? {
        state.withLock { state in state.driven.values.first { $0.output === output } }?.identity
    }

    /// Sets the handler for a change of a speaker's route, which has calibrations of its own.
    public func onIdentityChange(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.onIdentityChange = handler }
    }

    // MARK: Stored state

    /// The stored state of this computer, read on first use.
    var knowledge: SpeakerKnowledge {
        state.withLock { state in
            if let knowledge = state.knowledge { return knowledge }
            let knowledge = SpeakerKnowledge()
            state.knowledge = knowledge
            return knowledge
        }
    }

    /// Sentences about the stored state. Empty until it was read, because reading creates the identity.
    public var notes: [String] { state.withLock { $0.knowledge }?.notes ?? [] }

    /// Stores what the sessions have revealed about their speakers.
    public func remember() {
        let (speakers, knowledge) = state.withLock { (Array($0.driven.values), $0.knowledge) }
        guard let knowledge else { return }
        for speaker in speakers { speaker.remember(in: knowledge) }
    }

    private var remote: RemoteControlServer {
        let identity = knowledge.sender
        return state.withLock { state in
            if let remote = state.remote { return remote }
            let remote = RemoteControlServer(identity: identity)
            state.remote = remote
            return remote
        }
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
