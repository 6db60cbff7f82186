internal import AirPlay
internal import LocalOutput
internal import MediaCodecs
package import MediaCore
package import SyncRendering

/// From what a person said about sound to the outputs that play it.
package struct SoundRoute: Sendable {
    /// Always a group, so that its members can change; nil when no sound is wanted.
    package let output: OutputGroup?
    /// What a person should read once.
    package let warnings: [String]
    /// Makes the outputs of places, also of those that are chosen later.
    package let outputs: RouteOutputs
    /// The places that were named, as the picker lists them.
    package let routes: [OfferedRoute]

    /// Finds the speakers that were named and makes their outputs; the local card begins to open.
    ///
    /// - Parameters:
    ///   - choices: what a person named; none is the card.
    ///   - device: ALSA's name of the card; nil is the system's default.
    ///   - replacesLostCards: false waits for a card that is lost instead of playing on another.
    ///   - notice: told what is waited for.
    /// - Throws: status 2, 69 or 77 for what cannot be driven. Whatever it throws after an interruption is of no
    ///   interest.
    package init(
        to choices: [SpeakerChoice], device: String?, playsAudio: Bool = true, replacesLostCards: Bool = true,
        interruption: Interruption, notice: @escaping (String) -> Void
    ) throws(TalkieError) {
        outputs = RouteOutputs(replacesLostCards: replacesLostCards)
        guard playsAudio else {
            (output, warnings, routes) = (nil, [], [])
            return
        }
        guard choices.contains(where: { $0 != .local }) else {
            output = OutputGroup(members: [Self.card(device, outputs)], codecs: FilmAudioCodecs())
            (warnings, routes) = ([], [.thisComputer(device: device)])
            return
        }
        let knowledge = outputs.knowledge
        var selection = SpeakerSelection.live(knowledge, interruption: interruption)
        selection.notice = notice
        let places = try selection.places(choices)
        // Several outputs as one; each keeps its own delay and its own way of taking sound.
        var members: [any AudioOutput] = []
        var routes: [OfferedRoute] = []
        var speakers: [DiscoveredSpeaker] = []
        for place in places {
            switch place {
            case .card:
                members.append(Self.card(device, outputs))
                routes.append(.thisComputer(device: device))
            case .speaker(let chosen):
                members.append(outputs.speaker(chosen).output)
                speakers.append(chosen.speaker)
            }
        }
        self.routes = routes + SpeakerEntry.entries(of: speakers).map { OfferedRoute.speaker($0) }
        output = members.isEmpty ? nil : OutputGroup(members: members, codecs: FilmAudioCodecs())
        warnings = knowledge.note.map { [$0] } ?? []
    }

    /// This computer's card, by the name that was asked for or the system's default. It begins to open in the
    /// background at once, so that it is ready when the film is.
    private static func card(_ device: String?, _ outputs: RouteOutputs) -> SoundCard {
        let card = outputs.card(device ?? RouteOutputs.defaultCard)
        card.open()
        return card
    }

    /// Keeps what was learned about the speakers. After they have been released.
    package func remember() { outputs.remember() }
}
