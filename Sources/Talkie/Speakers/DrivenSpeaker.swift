internal import AirPlay
internal import PTP

/// A speaker in use: what was chosen, and the output that drives it.
struct DrivenSpeaker: Sendable {
    let chosen: ChosenSpeaker
    let output: AirPlaySpeaker
    private let lessons: SpeakerLessons

    /// The speakers of one run share one identity and one clock on each address.
    static func all(_ chosen: [ChosenSpeaker], knowledge: SpeakerKnowledge) -> [DrivenSpeaker] {
        let sender = knowledge.sender
        let clocks = PTPDirectory(identity: sender.clock)
        return chosen.map { speaker in
            let configuration = speaker.configuration(knowledge, sender: sender)
            return DrivenSpeaker(
                chosen: speaker,
                output: AirPlaySpeaker(
                    name: speaker.name, configuration: configuration, clocks: clocks, route: speaker.route),
                lessons: configuration.lessons)
        }
    }

    /// Keeps for the next start what this run has taught. Losing it costs that start a second, so failures are silent.
    func remember(in knowledge: SpeakerKnowledge) {
        guard let id = chosen.speaker.id,
            let memory = RouteMemory.after(
                lessons.learned, on: chosen.route, role: chosen.role,
                sourceVersion: chosen.speaker.traits.sourceVersion, before: chosen.memory)
        else { return }
        try? knowledge.routes.remember(memory, of: id)
    }
}
