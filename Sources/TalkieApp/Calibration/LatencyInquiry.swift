internal import AirPlay
internal import AirPlayTransport
internal import CardOutput
package import MediaCore
package import Profiles
internal import Routing
internal import SyncRendering
internal import Talkie

/// Implements `talkie latency`: the latency ledger of a speaker, from stored profiles and its own figures.
package struct LatencyInquiry {
    private let store: ProfileStore

    package init() { self.init(store: ProfileStore()) }
    init(store: ProfileStore) { self.store = store }

    /// Returns the ledgers of a speaker. If it is switched off, the stored profiles under its name are used.
    ///
    /// - Parameter audioDevice: The ALSA device of `local`.
    /// - Throws: `invalidArgument` for an ambiguous name, `unavailable` for a missing speaker that was never
    ///   calibrated.
    package func ledgers(_ choice: SpeakerChoice, audioDevice: String? = nil) throws(TalkieError) -> [LatencyLedger] {
        let profiles = store.all().profiles
        do {
            return try Self.members(choice, audioDevice).map {
                Self.ledger(of: $0.identity, stating: $0.latency, profiles)
            }
        } catch {
            let kept = Self.kept(choice, profiles)
            guard error.code == .unavailable, !kept.isEmpty else { throw error }
            return kept.map { Self.ledger(of: $0, profiles) }
        }
    }

    static func ledger(
        of speaker: OutputIdentity, stating latency: OutputLatency = OutputLatency(startLead: .zero),
        _ profiles: [LatencyProfile]
    ) -> LatencyLedger {
        let choice = ProfileChoice(
            for: [ProfileChoice.Member(speaker: speaker.key, route: speaker.route, latency: latency)], screen: nil,
            mode: nil,
            among: profiles)
        let profile = choice.uses[0].profile
        let isCard = speaker.route == OutputIdentity.cardRoute
        // A card's are read without a session; the desktop's offset may have changed since the calibration.
        let isStated = isCard && !latency.shares.isEmpty
        let stored = profile.flatMap { isStated || $0.shares.isEmpty ? nil : $0.shares }
        return LatencyLedger(
            speaker: speaker.name, route: speaker.route,
            stated: stored ?? LatencyLedger.stated(latency, isCard: isCard), profile: profile,
            isPlaceKnown: !speaker.key.isEmpty)
    }

    private static func members(_ choice: SpeakerChoice, _ audioDevice: String?) throws(TalkieError)
        -> [(identity: OutputIdentity, latency: OutputLatency)]
    {
        let registry = OutputRegistry(card: SoundCardProvider(device: audioDevice), saying: .commands)
        let outputs = try registry.outputs(at: try registry.destinations(named: [choice.name]))
        return outputs.compactMap { output in
            if let card = output as? SoundCard {
                let latency = SoundCardProbe.latency(of: card)
                return (Self.card(card.device), latency)
            }
            return registry.identity(of: output).map { ($0, output.latency) }
        }
    }

    /// Returns the current identity of the card, by its sink.
    private static func card(_ device: String) -> OutputIdentity {
        let sink: SinkKnowledge
        do throws(OutputError) { sink = try SoundCardProbe.sink(of: device) } catch { sink = .unknown(error.message) }
        return SoundCardProvider.identity(at: sink, device: device)
    }

    /// Returns the speakers with stored profiles under this name or identifier.
    private static func kept(
        _ choice: SpeakerChoice, _ profiles: [LatencyProfile]
    ) -> [OutputIdentity] {
        guard case .named(let text) = choice else { return [] }
        var found: [OutputIdentity] = []
        for profile in profiles where profile.isOf(text) {
            let speaker = OutputIdentity(
                key: profile.key.speaker, name: profile.speakerName, query: text, route: profile.key.route)
            if !found.contains(speaker) { found.append(speaker) }
        }
        return found
    }
}

extension LatencyProfile {
    /// Whether the text is the profile's name, identifier or key.
    func isOf(_ text: String) -> Bool {
        speakerName.lowercased() == text.lowercased() || key.speaker.lowercased() == text.lowercased()
            || SpeakerID(text)?.digits == key.speaker || (text == "local" && key.route == OutputIdentity.cardRoute)
    }
}
