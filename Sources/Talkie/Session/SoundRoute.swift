internal import AirPlay
internal import LocalOutput
internal import MediaCodecs
internal import SyncRendering

/// From what a person said about sound to the output that plays it.
struct SoundRoute: Sendable {
    /// Nil when no sound is wanted.
    let output: (any AudioOutput)?
    /// What a person should read once.
    let warnings: [String]
    /// The speakers in the order of the output's members, as calibrations know them.
    let members: [CalibrationRecord.Speaker]
    private let speakers: [DrivenSpeaker]
    private let knowledge: SpeakerKnowledge?

    /// Finds the speakers that were named and makes their outputs; the local card begins to open.
    ///
    /// - Parameter notice: told what is waited for.
    /// - Throws: status 2, 69 or 77 for what cannot be driven. Whatever it throws after an interruption is of no
    ///   interest.
    init(
        for arguments: PlayArguments, interruption: Interruption, notice: @escaping (String) -> Void
    ) throws(PlayerFailure) {
        let choices = arguments.speakers
        guard arguments.options.playsAudio, choices.contains(where: { $0 != .local }) else {
            output = arguments.options.playsAudio ? Self.card(arguments.options) : nil
            members = output == nil ? [] : [CalibrationOutputs.card(arguments.options.audioDevice)]
            (warnings, speakers, knowledge) = ([], [], nil)
            return
        }
        let knowledge = SpeakerKnowledge()
        var selection = SpeakerSelection.live(knowledge, interruption: interruption)
        selection.notice = notice
        let places = try selection.places(choices)
        speakers = DrivenSpeaker.all(
            places.compactMap { if case .speaker(let chosen) = $0 { chosen } else { nil } }, knowledge: knowledge)
        let card = places.contains { if case .card = $0 { true } else { false } } ? Self.card(arguments.options) : nil
        output = Self.joined((card.map { [$0] } ?? []) + speakers.map(\.output))
        members =
            (card == nil ? [] : [CalibrationOutputs.card(arguments.options.audioDevice)])
            + speakers.map(\.chosen.calibrated)
        warnings = knowledge.note.map { [$0] } ?? []
        self.knowledge = knowledge
    }

    /// Several outputs as one; each keeps its own delay and its own way of taking sound.
    private static func joined(_ outputs: [any AudioOutput]) -> (any AudioOutput)? {
        outputs.count > 1 ? SpeakerGroup(members: outputs, codecs: FilmAudioCodecs()) : outputs.first
    }

    /// Keeps what was learned about the speakers. After they have been released.
    func remember() {
        guard let knowledge else { return }
        for speaker in speakers { speaker.remember(in: knowledge) }
    }

    /// This computer's card, by the name that was asked for or the system's default. It begins to open in the
    /// background at once, so that it is ready when the film is.
    private static func card(_ options: PlayerOptions) -> SoundCard {
        let card = SoundCard(device: options.audioDevice ?? "default")
        card.open()
        return card
    }
}
