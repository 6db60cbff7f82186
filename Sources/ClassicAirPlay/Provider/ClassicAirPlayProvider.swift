public import AirPlayTransport
internal import Discovery
public import MediaCore
internal import PTP
package import Storage
public import SyncRendering

/// The output provider for receivers of classic AirPlay (RAOP): AirPort Express, receivers of home theatres, older
/// software.
///
/// Many receivers know AirPlay 2 as well. A program registers this provider after that of AirPlay 2, which it replaces
/// where that cannot be used. Callable from any thread.
public final class ClassicAirPlayProvider: OutputProvider {
    /// The name of the provider.
    public let name = "classic-airplay"

    /// A speaker in use and its output.
    private struct Driven {
        var choice: ClassicChoice
        var output: ClassicSpeaker
    }

    /// Guarded by the lock `state`.
    private struct State {
        var knowledge: Knowledge?
        var remote: RemoteControlServer?
        /// The receivers of each announced destination, and of each destination named by the user.
        var announced: [String: [DiscoveredSpeaker]] = [:]
        var named: [String: [ClassicChoice]] = [:]
        var driven: [String: Driven] = [:]
    }

    /// The stored state of this computer.
    struct Knowledge: Sendable {
        let pairings: PairingStore
        let routes: RouteStore
        let sender: SenderIdentity
        let note: String?

        init(_ folder: StateFolder = .standard()) {
            let (identity, note) = InstallationIdentity.load(from: folder)
            pairings = PairingStore(folder, identity: identity)
            routes = RouteStore(folder)
            self.note = note
            // Another remote-control ID than that of AirPlay 2: its server in this process has that name already.
            sender = SenderIdentity(rawValue: identity.number ^ 1, name: SenderIdentity.computerName)
        }
    }

    /// Poll interval for pairings made by other processes (`talkie pair`).
    private static let pairingInterval = Duration.seconds(1)
    /// Timeout of a search: names that appear later are found by the provider of AirPlay 2, which is asked first.
    private static let searchTimeout: Duration = .seconds(2)
    /// Timeout of an address.
    private static let addressTimeout: Duration = .seconds(3)

    private let state = Lock(State())
    private let network = SpeakerNetwork()
    /// One clock for all receivers, which play in sync.
    private let served = ServedTimeline()
    private let phrases: RemedyPhrases
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
    package convenience init(folder: StateFolder, preferring preferences: SpeakerPreferenceTable = .init()) {
        self.init(saying: RemedyPhrases(), preferring: preferences)
        state.withLock { $0.knowledge = Knowledge(folder) }
    }

    // MARK: Discovery

    /// Reports the announced receivers at every change. Blocks until `interruption`, or until discovery fails.
    public func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {
        let browser: SpeakerBrowser
        do throws(DiscoveryError) { browser = try SpeakerBrowser() } catch {
            return report(OutputOffer(note: "Cannot search for speakers: \(error.message)."))
        }
        interruption.onRaise(browser.interruption)
        browser.request(for: knowledge.pairings.requests)
        var (last, pairings) = (SpeakerBrowser.Snapshot(), knowledge.pairings.changeTime)
        while interruption.status == nil {
            let (before, deadline) = (last, HostInstant.now.advanced(by: Self.pairingInterval))
            last = browser.wait(until: deadline) { $0 != before || interruption.status != nil }.snapshot
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
        let entries = snapshot.entries.filter { entry in
            entry.members.allSatisfy { ClassicDecision.decide(for: $0).method != nil }
        }
        state.withLock { state in
            state.announced = Dictionary(
                entries.map { ($0.destinationID, $0.members) }, uniquingKeysWith: { first, _ in first })
        }
        let pairings = knowledge.pairings
        let destinations = entries.map { entry in
            let isLocked = entry.members.contains { member in
                member.traits.needsPassword
                    && member.id.flatMap { pairings.credentials(for: $0).credentials.password } == nil
            }
            let remedy = Remedy.enterPassword(entry.name)
            return OutputDestination(
                provider: name, id: entry.destinationID, name: entry.name, kind: entry.destinationKind,
                obstacle: isLocked
                    ? remedy.saying(phrases.inLists(remedy)).sentence(after: "must be paired first") : nil,
                pairing: isLocked ? .password : nil)
        }
        // The provider of AirPlay 2 reports a missing daemon.
        return OutputOffer(
            destinations: destinations.sorted { ($0.name.lowercased(), $0.id) < ($1.name.lowercased(), $1.id) })
    }

    // MARK: Search by name

    /// Below AirPlay 2: a receiver that knows both plays by that.
    public var precedence: ProviderPrecedence { .fallback }

    /// Any name may be a receiver's; its address begins with `airplay://`.
    public func match(_ name: String) -> NameMatch { .name(name, scheme: "airplay") }

    /// Returns the destinations of user-provided names; none for a speaker that is not announced. Blocks for a few
    /// seconds: see `searchTimeout`.
    ///
    /// - Throws: `invalidArgument` for an ambiguous name, `unavailable` for a speaker that classic AirPlay cannot use,
    ///   `notPermitted` if a password is required.
    public func find(
        _ names: [String], until interruption: Interruption, notice: @escaping (String) -> Void
    ) throws(TalkieError) -> [OutputDestination] {
        do throws(TalkieError) {
            var destinations: [OutputDestination] = []
            for name in names {
                let query: SpeakerQuery
                do { query = try SpeakerQuery(name) } catch { throw TalkieError(error) }
                guard let entry = try entry(of: query, until: interruption) else { continue }
                destinations.append(try destination(of: entry, query))
            }
            return destinations
        } catch {
            throw error.saying(phrases.inErrors)
        }
    }

    /// Returns the destination of an entry that the user has named.
    package func destination(of entry: SpeakerEntry, _ query: SpeakerQuery) throws(TalkieError) -> OutputDestination {
        var chosen: [ClassicChoice] = []
        for member in entry.members {
            chosen.append(
                try ClassicChoice(
                    member, query: query, pairings: knowledge.pairings, preferences: preferences[query.description]))
        }
        state.withLock { $0.named[entry.destinationID] = chosen }
        return OutputDestination(provider: name, id: entry.destinationID, name: entry.name, kind: entry.destinationKind)
    }

    /// Returns the speaker of a query; nil for the sound card, and for a speaker that is not announced.
    private func entry(
        of query: SpeakerQuery, until interruption: Interruption
    ) throws(TalkieError) -> SpeakerEntry? {
        switch query {
        case .local: return nil
        case .address(let address):
            do throws(AirPlayError) {
                let found = try SpeakerInquiry.ask(
                    address, as: knowledge.sender, until: .now.advanced(by: Self.addressTimeout)
                ) { interruption.pause(until: $0) }
                // A receiver of both versions has one port for them.
                let speaker = DiscoveredSpeaker(
                    id: found.id, name: found.name, traits: found.traits, endpoints: [],
                    raopEndpoints: found.raopEndpoints.isEmpty ? found.endpoints : found.raopEndpoints)
                return SpeakerEntry(kind: .single, name: found.name, members: [speaker], hidden: [])
            } catch {
                throw TalkieError(error)
            }
        case .name, .id:
            do throws(DiscoveryError) {
                let browser = try SpeakerBrowser()
                interruption.onRaise(browser.interruption)
                let paired = knowledge.pairings.speakers(known: query)
                browser.request(for: SpeakerRequests([query], ids: paired))
                let snapshot = browser.wait(until: .now.advanced(by: Self.searchTimeout)) { snapshot in
                    // ignored: an ambiguous name is reported below.
                    let entry = (try? query.find(in: snapshot.entries, preferring: paired)) ?? nil
                    // The IPv6 address of a speaker that has both may be resolved first.
                    return snapshot.isSettled || entry?.members.allSatisfy(\.hasIPv4) ?? false
                }.snapshot
                return try query.find(in: snapshot.entries, preferring: paired)
            } catch {
                throw TalkieError(error)
            }
        }
    }

    // MARK: Outputs

    /// Returns the outputs of a destination: one, or both members of a stereo pair.
    ///
    /// - Throws: `unavailable` if the destination is not announced, or an error of `ClassicChoice`.
    public func outputs(at destination: OutputDestination) throws(TalkieError) -> [any AudioOutput] {
        let (announced, named) = state.withLock { ($0.announced[destination.id], $0.named[destination.id]) }
        do throws(TalkieError) {
            if let named { return named.map { output(of: $0) } }
            guard let announced else {
                throw TalkieError(.unavailable, "'\(destination.name)' is no longer announced; check that it is on.")
            }
            var outputs: [any AudioOutput] = []
            for speaker in announced {
                outputs.append(
                    output(
                        of: try ClassicChoice(
                            speaker, query: .name(speaker.name), pairings: knowledge.pairings,
                            preferences: preferences[speaker.name])))
            }
            return outputs
        } catch {
            throw error.saying(phrases.inErrors)
        }
    }

    private func output(of choice: ClassicChoice) -> ClassicSpeaker {
        let (knowledge, remote) = (knowledge, remote)
        network.start()
        network.request(for: SpeakerRequests([.name(choice.speaker.name)], ids: choice.speaker.id.map { [$0] } ?? []))
        let key = choice.speaker.id.map { "\($0) \(choice.speaker.name)" } ?? choice.address.description
        return state.withLock { state in
            // A new password needs another output.
            if let known = state.driven[key], known.choice.password == choice.password { return known.output }
            var configuration = ClassicSession.Configuration(
                address: choice.address, identity: knowledge.sender, method: choice.method)
            configuration.password = choice.password
            configuration.wants24Bits = choice.wants24Bits
            configuration.id = choice.speaker.id
            configuration.network = network
            configuration.remote = remote
            configuration.phrases = phrases
            configuration.trace = trace
            let output = ClassicSpeaker(
                name: choice.speaker.name, configuration: configuration, serving: served,
                metadata: choice.speaker.traits.classic?.metadata ?? [])
            state.driven[key] = Driven(choice: choice, output: output)
            return output
        }
    }

    /// Returns the identity of an output for calibrations; nil if it is not of this provider.
    public func identity(of output: any AudioOutput) -> OutputIdentity? {
        state.withLock { state in state.driven.values.first { $0.output === output }?.choice.identity }
    }

    /// Stores the routes that were requested of speakers that have played.
    public func remember() {
        let (speakers, knowledge) = state.withLock { (Array($0.driven.values), $0.knowledge) }
        guard let knowledge else { return }
        for driven in speakers where driven.output.state.withLock({ $0.details.hasPlayed }) {
            guard let id = driven.choice.speaker.id, let request = driven.choice.request else { continue }
            let before = knowledge.routes.memory(of: id).memory
            var memory = before ?? RouteMemory(sourceVersion: driven.choice.speaker.traits.sourceVersion)
            memory.wanted = request == .best ? nil : .classic
            guard memory.wanted != before?.wanted else { continue }
            // ignored: the request must be given again.
            try? knowledge.routes.remember(memory, of: id)
        }
    }

    /// Sentences about the stored state.
    public var notes: [String] { state.withLock { $0.knowledge }?.note.map { [$0] } ?? [] }

    private var knowledge: Knowledge {
        state.withLock { state in
            if let knowledge = state.knowledge { return knowledge }
            let knowledge = Knowledge()
            state.knowledge = knowledge
            return knowledge
        }
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
}

// MARK: Passwords

extension ClassicAirPlayProvider: PairingProvider {
    /// Stores the password of a receiver after it has accepted it, or removes it. Blocks on the network.
    public func pair(
        _ name: String, _ action: PairingAction, until interruption: Interruption, ask: PairingQuestion?
    ) throws(TalkieError) -> PairingOutcome {
        do throws(TalkieError) {
            let query: SpeakerQuery
            do { query = try SpeakerQuery(name) } catch { throw TalkieError(error) }
            guard let entry = try entry(of: query, until: interruption) else {
                throw TalkieError(
                    .unavailable, "there is no speaker named '\(PrintableText.of(name))'", remedy: .listOutputs)
            }
            var messages: [String] = []
            for member in entry.members { messages.append(try pair(member, query, action)) }
            return PairingOutcome(message: messages.joined(separator: " "))
        } catch {
            throw error.saying(phrases.inErrors)
        }
    }

    private func pair(
        _ speaker: DiscoveredSpeaker, _ query: SpeakerQuery, _ action: PairingAction
    ) throws(TalkieError) -> String {
        let decision = ClassicDecision.decide(for: speaker)
        guard let method = decision.method, let address = speaker.classicAddress else {
            throw TalkieError(.unsupported, "'\(speaker.name)' cannot be paired: \(decision.reason)")
        }
        switch action {
        case .pin:
            guard !speaker.traits.needsPassword else {
                throw TalkieError(
                    .notPermitted, "'\(speaker.name)' requires its password", remedy: .enterPassword(query.description))
            }
            return "'\(speaker.name)' needs no pairing: it plays for everyone on the network."
        case .forget:
            guard let id = speaker.id else { return "Nothing was stored for it." }
            do {
                return try knowledge.pairings.forget(id) ? "\(speaker.name) was removed." : "Nothing was stored for it."
            } catch {
                throw TalkieError(error)
            }
        case .password(let password):
            guard let id = speaker.id else {
                throw TalkieError(.failed, "'\(speaker.name)' has no ID, so nothing can be stored for it.")
            }
            var configuration = ClassicSession.Configuration(
                address: address, identity: knowledge.sender, method: method)
            configuration.password = password
            let session = ClassicSession(configuration, serving: served)
            defer { session.end() }
            let isAsked: Bool
            do { isAsked = try session.checkPassword() } catch { throw TalkieError(error) }
            // Some ask only when a stream begins.
            guard isAsked || speaker.traits.needsPassword else {
                return "\(speaker.name) (\(id)) needs no password; nothing was stored."
            }
            do {
                try knowledge.pairings.store(
                    SpeakerCredentials(password: password, isClassic: true), for: id,
                    SpeakerContact(name: speaker.name, address: address, query: query))
            } catch {
                throw TalkieError(error)
            }
            return isAsked
                ? "\(speaker.name) (\(id)) accepted the password, which was stored."
                : "The password of \(speaker.name) (\(id)) was stored; the speaker checks it when it plays."
        }
    }
}
