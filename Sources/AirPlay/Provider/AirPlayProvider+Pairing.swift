internal import AirPlayTransport
public import MediaCore
internal import Sockets
internal import Storage
public import SyncRendering

extension AirPlayProvider: PairingProvider {
    /// Pairs, or removes a pairing, as requested. Blocks on network and user until `interruption`.
    ///
    /// - Parameters:
    ///   - name: The user-provided name, identifier or address.
    ///   - ask: Asks the user for a PIN; nil: not interactive.
    /// - Throws: `TalkieError` with a sentence.
    public func pair(
        _ name: String, _ action: PairingAction, until interruption: Interruption, ask: PairingQuestion?
    ) throws(TalkieError) -> PairingOutcome {
        try pair(name, action, .live(knowledge, interruption: interruption), ask: ask)
    }

    /// Pairs with speakers of another selection, for tests.
    func pair(
        _ name: String, _ action: PairingAction, _ selection: SpeakerSelection, ask: PairingQuestion?
    ) throws(TalkieError) -> PairingOutcome {
        let query: SpeakerQuery
        do { query = try SpeakerQuery(name) } catch { throw TalkieError(error) }
        let conversation = SpeakerPairingConversation(knowledge: knowledge, selection: selection, ask: ask)
        do throws(TalkieError) {
            var outcome = action == .forget ? try conversation.forget(query) : try conversation.introduce(query, action)
            outcome.remarks += notes.filter { !outcome.remarks.contains($0) }
            return outcome
        } catch {
            throw error.saying(phrases.inErrors)
        }
    }
}

/// Finds the requested speaker and pairs with each of its receivers.
private struct SpeakerPairingConversation {
    let knowledge: SpeakerKnowledge
    let selection: SpeakerSelection
    let ask: PairingQuestion?

    // MARK: Pairing

    func introduce(_ query: SpeakerQuery, _ action: PairingAction) throws(TalkieError) -> PairingOutcome {
        var messages: [String] = []
        var remarks: [String] = []
        // The members of a stereo pair are two receivers and are paired separately.
        for speaker in try selection.receivers(query) {
            let outcome = try introduce(speaker, query, action)
            messages.append(outcome.message)
            remarks += outcome.remarks
        }
        return PairingOutcome(message: messages.joined(separator: " "), remarks: remarks)
    }

    private func introduce(
        _ speaker: DiscoveredSpeaker, _ query: SpeakerQuery, _ action: PairingAction
    ) throws(TalkieError) -> PairingOutcome {
        let name = speaker.name
        // Ports and routes are irrelevant for pairing; access restrictions are not.
        let decision = RouteDecision.decide(for: speaker)
        if case .impossible(let obstacle) = decision.verdict, [.needsAirPlay1, .restricted].contains(obstacle) {
            throw TalkieError(
                obstacle == .restricted ? .notPermitted : .unsupported,
                "'\(name)' cannot be paired: \(decision.reason)")
        }
        if action == .pin(nil) {
            let traits = speaker.traits
            if !traits.needsPIN, traits.needsPassword {
                throw TalkieError(
                    .notPermitted, "'\(name)' requires its password", remedy: .enterPassword(query.description))
            }
            if !traits.needsPIN {
                return PairingOutcome(
                    message: "'\(name)' needs no pairing: it plays for everyone on the network"
                        + (try welcome(speaker, query) ? ", and its stored credentials were removed." : "."))
            }
            if ask == nil {
                throw TalkieError(
                    .invalidArgument, "'\(name)' will show a PIN, which must be typed",
                    remedy: Remedy(.givePIN, outputName: name, advice: "give the PIN"))
            }
        }
        guard let endpoint = speaker.sessionEndpoints.first else {
            throw TalkieError(.unavailable, "'\(name)' announces no address; restart it")
        }
        let method: SpeakerPairing.Method =
            switch action {
            case .password(let password): .password(password)
            case .pin(let pin): .pin(pin)
            case .forget: .pin(nil)
            }
        do {
            let pairing = SpeakerPairing(folder: knowledge.folder, senderName: SenderIdentity.computerName)
            let outcome = try pairing.pair(
                SpeakerAddress(endpoint), traits: speaker.traits, query: query, method: method
            ) {
                ask?("PIN that '\(name)' shows: ")
            }
            return PairingOutcome(message: outcome.message, remarks: outcome.notes)
        } catch let error as AirPlayError {
            // A refused pairing denies access to the speaker.
            throw error.code == .refused
                ? TalkieError(.notPermitted, error.problem, remedy: error.remedy) : TalkieError(error)
        } catch let error as StateError {
            throw TalkieError(error)
        } catch let error as TalkieError {
            throw error
        } catch {
            throw TalkieError(.failed, "'\(name)' cannot be paired: \(error)")
        }
    }

    /// Removes stored credentials of a speaker without access control. Only explicit pairing may do so.
    private func welcome(_ speaker: DiscoveredSpeaker, _ query: SpeakerQuery) throws(TalkieError) -> Bool {
        guard let id = speaker.id else { return false }
        let pairing = SpeakerPairing(folder: knowledge.folder, senderName: SenderIdentity.computerName)
        let address = speaker.sessionEndpoints.first.map { SpeakerAddress($0) }
        do {
            return try pairing.welcome(id, SpeakerContact(name: speaker.name, address: address, query: query))
        } catch {
            throw TalkieError(error)
        }
    }

    // MARK: Forgetting

    /// Removes credentials. The store is searched first, since a sold speaker is no longer on the network.
    func forget(_ query: SpeakerQuery) throws(TalkieError) -> PairingOutcome {
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
            let pairing = SpeakerPairing(folder: knowledge.folder, senderName: SenderIdentity.computerName)
            for (id, name) in ids { messages.append(try pairing.forget(id, name: name).message) }
        } catch {
            throw TalkieError(error)
        }
        return PairingOutcome(
            message: messages.isEmpty ? "Nothing was stored for it." : messages.joined(separator: " "))
    }
}
