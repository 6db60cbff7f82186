internal import AirPlay
internal import PTP

/// A speaker in use: what was chosen, and the output that drives it.
struct DrivenSpeaker: Sendable {
    let chosen: ChosenSpeaker
    let output: AirPlaySpeaker

    /// The speakers of one run share one identity and one clock on each address.
    ///
    /// - Throws: 69 for a route that cannot be driven.
    static func all(_ chosen: [ChosenSpeaker], knowledge: SpeakerKnowledge) throws(PlayerFailure) -> [DrivenSpeaker] {
        let sender = knowledge.sender
        let clocks = PTPDirectory(identity: sender.clock)
        var driven: [DrivenSpeaker] = []
        for speaker in chosen {
            guard speaker.route == .buffered else {
                throw PlayerFailure(
                    exitStatus: ExitStatus.unavailable,
                    message:
                        "'\(speaker.name)' needs the \(speaker.route) route (\(speaker.reason)), which is not supported yet"
                )
            }
            let output = AirPlaySpeaker(
                name: speaker.name, configuration: speaker.configuration(knowledge, sender: sender), clocks: clocks)
            driven.append(DrivenSpeaker(chosen: speaker, output: output))
        }
        return driven
    }

    /// Keeps for the next start what this run has taught. Losing it costs that start a second, so failures are silent.
    func remember(in knowledge: SpeakerKnowledge) {
        guard let id = chosen.speaker.id,
            let memory = RouteMemory.after(
                output.experience, on: chosen.route, role: chosen.role,
                sourceVersion: chosen.speaker.traits.sourceVersion, before: chosen.memory)
        else { return }
        try? knowledge.routes.remember(memory, of: id)
    }
}
