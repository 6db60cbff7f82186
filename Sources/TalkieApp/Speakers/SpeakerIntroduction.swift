internal import AirPlay
package import MediaCore
internal import Routing
internal import Sockets
internal import Storage

/// `talkie pair`: gets a speaker and this computer acquainted, or forgets what was kept for it.
package struct SpeakerIntroduction {
    package enum Wish: Sendable, Hashable {
        /// Nil: the speaker shows one, and the person is asked for it.
        case pin(String?)
        case password(String)
        case forget
    }

    /// What came of it.
    package struct Outcome: Sendable, Hashable {
        /// One sentence.
        package var message: String
        /// What else a person should know.
        package var remarks: [String] = []
    }

    /// Asks the person; nil gives up. Called at most once for each receiver, while it shows its PIN.
    package typealias Question = (_ text: String) -> String?

    private let folder: StateFolder
    private let knowledge: SpeakerKnowledge

    package init() { self.init(folder: .standard()) }

    init(folder: StateFolder) {
        self.folder = folder
        knowledge = SpeakerKnowledge(folder: folder)
    }

    /// Does it on the real network.
    ///
    /// - Parameter ask: nil when nobody can be asked.
    /// - Throws: 2 for words that make no sense, 69 when the speaker is not there, 77 when it refuses, 1 for answers
    ///   that cannot be understood. Keys that the speaker has accepted are kept all the same.
    package func run(_ name: String, _ wish: Wish, ask: Question?) throws(TalkieError) -> Outcome {
        try run(
            name, wish, selection: SpeakerSelection.live(knowledge, interruption: Interruption()), ask: ask)
    }

    func run(
        _ name: String, _ wish: Wish, selection: SpeakerSelection, ask: Question?
    ) throws(TalkieError) -> Outcome {
        let query: SpeakerQuery
        do { query = try SpeakerQuery(name) } catch { throw TalkieError(error) }
        if query == .local {
            throw TalkieError(
                .invalidArgument, "local is this computer's own sound card; name a speaker")
        }
        var outcome: Outcome
        do throws(TalkieError) {
            outcome = wish == .forget ? try forget(query, selection) : try introduce(query, wish, selection, ask)
        } catch {
            throw error.saying(\.phrase)
        }
        outcome.remarks += knowledge.notes.filter { !outcome.remarks.contains($0) }
        return outcome
    }

    // MARK: Pairing

    private func introduce(
        _ query: SpeakerQuery, _ wish: Wish, _ selection: SpeakerSelection, _ ask: Question?
    ) throws(TalkieError) -> Outcome {
        var messages: [String] = []
        var remarks: [String] = []
        // The halves of a stereo pair are two receivers, and each wants to know us.
        for speaker in try selection.receivers(query) {
            let outcome = try introduce(speaker, query, wish, ask)
            messages.append(outcome.message)
            remarks += outcome.remarks
        }
        return Outcome(message: messages.joined(separator: " "), remarks: remarks)
    }

    private func introduce(
        _ speaker: DiscoveredSpeaker, _ query: SpeakerQuery, _ wish: Wish, _ ask: Question?
    ) throws(TalkieError) -> Outcome {
        let name = speaker.name
        // Ports and routes are of no matter here; what the owner allows is.
        let decision = RouteDecision.decide(for: speaker)
        if case .impossible(let obstacle) = decision.verdict, [.needsAirPlay1, .restricted].contains(obstacle) {
            throw TalkieError(
                obstacle == .restricted ? .notPermitted : .unavailable,
                "'\(name)' cannot be paired: \(decision.reason)")
        }
        if wish == .pin(nil) {
            let traits = speaker.traits
            if !traits.needsPIN, traits.needsPassword {
                throw TalkieError(
                    .notPermitted,
                    "'\(name)' wants its password; give it with 'talkie pair \(ShellWord.quoted(query.description)) --password PW'"
                )
            }
            if !traits.needsPIN {
                return Outcome(message: "'\(name)' needs no pairing: it plays for everybody on the network.")
            }
            if ask == nil {
                throw TalkieError(
                    .invalidArgument,
                    "'\(name)' will show a PIN, and there is no terminal to type it on; run this in a terminal, or give the PIN with --pin"
                )
            }
        }
        guard let endpoint = speaker.endpoints.first(where: { $0.address.isIPv4 }) else {
            throw TalkieError(
                .unavailable,
                "'\(name)' has no IPv4 address, and speakers are reached by IPv4 only; give it one")
        }
        let method: SpeakerPairing.Method =
            switch wish {
            case .password(let password): .password(password)
            case .pin(let pin): .pin(pin)
            case .forget: .pin(nil)
            }
        do {
            let pairing = SpeakerPairing(folder: folder, senderName: SpeakerKnowledge.computerName)
            let outcome = try pairing.pair(SpeakerAddress(endpoint), traits: speaker.traits, method: method) {
                ask?("PIN that '\(name)' shows: ")
            }
            return Outcome(message: outcome.message, remarks: outcome.notes)
        } catch let error as AirPlayError {
            throw TalkieError(error)
        } catch let failure as PairingFailure {
            throw TalkieError(failure)
        } catch let error as StateError {
            throw TalkieError(error)
        } catch {
            throw TalkieError(.failed, "'\(name)' cannot be paired: \(error)")
        }
    }

    // MARK: Forgetting

    /// A speaker that was sold cannot be found on the network, so what is kept is looked through first.
    private func forget(_ query: SpeakerQuery, _ selection: SpeakerSelection) throws(TalkieError) -> Outcome {
        var ids: [(id: SpeakerID, name: String)] = []
        switch query {
        case .id(let id): ids = [(id, knowledge.name(of: id) ?? id.description)]
        case .name(let wanted):
            let wanted = PrintableText.of(wanted).lowercased()
            ids = knowledge.pairings.speakers.compactMap { id in
                guard let name = knowledge.name(of: id), name.lowercased() == wanted else { return nil }
                return (id, name)
            }
        case .address, .local: break
        }
        if ids.isEmpty {
            for speaker in try selection.receivers(query) {
                guard let id = speaker.id else { continue }
                ids.append((id, speaker.name))
            }
        }
        var messages: [String] = []
        do {
            let pairing = SpeakerPairing(folder: folder, senderName: SpeakerKnowledge.computerName)
            for (id, name) in ids { messages.append(try pairing.forget(id, name: name).message) }
        } catch {
            throw TalkieError(error)
        }
        return Outcome(message: messages.isEmpty ? "Nothing was kept for it." : messages.joined(separator: " "))
    }
}
