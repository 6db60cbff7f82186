internal import AirPlayTransport
import PTP
internal import SyncRendering

/// A speaker in use and its output.
struct DrivenSpeaker: Sendable {
    let chosen: ChosenSpeaker
    let output: AirPlaySpeaker
    private let observations: SpeakerObservations
    /// Why the speaker has refused the last sessions.
    var refusals: SpeakerObservations.Refusals { observations.refusals }
    /// The identity for calibrations: the device identifier, otherwise the address; and the route in use.
    var identity: OutputIdentity {
        OutputIdentity(
            key: chosen.speaker.id?.digits ?? "host-" + OutputIdentity.key(from: chosen.address.description),
            name: chosen.name, query: chosen.query, route: output.route.rawValue, address: chosen.address.description)
    }

    /// Creates the output.
    ///
    /// - Parameters:
    ///   - sender, clocks: The same for all speakers of a process: one identity, and one clock per address.
    ///   - network: Finds the speaker again after an address change.
    ///   - remote: Receives the commands of all speakers.
    ///   - phrases: The application's wording of remedies.
    ///   - trace: Records the conversation.
    ///   - onRouteChange: Called after the route has changed.
    init(
        _ chosen: ChosenSpeaker, knowledge: SpeakerKnowledge, sender: SenderIdentity, clocks: PTPDirectory,
        network: (any SpeakerSource)? = nil, remote: RemoteControlServer? = nil,
        phrases: RemedyPhrases = RemedyPhrases(), trace: ConversationTrace? = nil,
        onRouteChange: @escaping @Sendable () -> Void = {}
    ) {
        var configuration = chosen.configuration(knowledge, sender: sender)
        configuration.network = network
        configuration.remote = remote
        configuration.phrases = phrases
        configuration.trace = trace
        configuration.onRouteChange = onRouteChange
        self.chosen = chosen
        output = AirPlaySpeaker(
            name: chosen.name, configuration: configuration, clocks: clocks, route: chosen.route,
            alternatives: chosen.alternatives, encoding: chosen.prefersAAC ? .aac : .lossless, bits: chosen.bits,
            channels: chosen.channels)
        observations = configuration.observations
    }

    /// Stores what this use has revealed. Failures are silent, since they cost the next start only a second.
    func remember(in knowledge: SpeakerKnowledge) {
        guard let id = chosen.speaker.id,
            let memory = RouteMemory.after(
                observations.learned, on: output.route, isGrouped: chosen.speaker.traits.group.isGrouped,
                sourceVersion: chosen.speaker.traits.sourceVersion, wanted: chosen.wanted,
                stated: observations.statedLatency, before: chosen.memory)
        else { return }
        // ignored: the route is determined again at the next start, which takes a second.
        try? knowledge.routes.remember(memory, of: id)
    }
}
