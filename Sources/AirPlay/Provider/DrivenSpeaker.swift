package import PTP

/// A speaker in use: what was chosen, and the output that drives it.
package struct DrivenSpeaker: Sendable {
    package let chosen: ChosenSpeaker
    package let output: AirPlaySpeaker
    private let lessons: SpeakerLessons

    /// - Parameters:
    ///   - sender, clocks: the same for all speakers of one run, which share one identity and one clock on each address.
    ///   - network: where the speaker is found again when it has moved.
    ///   - phrases: how the application says what can be done about its errors.
    package init(
        _ chosen: ChosenSpeaker, knowledge: SpeakerKnowledge, sender: SenderIdentity, clocks: PTPDirectory,
        network: (any SpeakerSource)? = nil, phrases: RemedyPhrases = RemedyPhrases()
    ) {
        var configuration = chosen.configuration(knowledge, sender: sender)
        configuration.network = network
        configuration.phrases = phrases
        self.chosen = chosen
        output = AirPlaySpeaker(name: chosen.name, configuration: configuration, clocks: clocks, route: chosen.route)
        lessons = configuration.lessons
    }

    /// Keeps for the next start what this run has taught. Losing it costs that start a second, so failures are silent.
    package func remember(in knowledge: SpeakerKnowledge) {
        guard let id = chosen.speaker.id,
            let memory = RouteMemory.after(
                lessons.learned, on: chosen.route, role: chosen.role,
                sourceVersion: chosen.speaker.traits.sourceVersion, before: chosen.memory)
        else { return }
        // ignored: the route is found again at the next start, at the cost of a second.
        try? knowledge.routes.remember(memory, of: id)
    }
}
