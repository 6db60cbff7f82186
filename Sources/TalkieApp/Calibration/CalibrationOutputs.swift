internal import Calibration
internal import Glibc
internal import LocalOutput
internal import MediaCore
internal import Profiles
internal import Routing
internal import SyncRendering

/// The speakers of a run: found, and each with an output of its own.
struct CalibrationOutputs {
    let outputs: [any AudioOutput]
    /// As found before anything played.
    let speakers: [OutputIdentity]
    let warnings: [String]
    private let registry: OutputRegistry

    /// - Throws: as for films: 2 for a name that several have, 69 for what is not there, 77 for what wants to be paired. 69
    ///   for a card of which nobody says where it is heard, too: what would be measured could not be kept.
    init(
        _ arguments: CalibrateArguments, interruption: Interruption, notice: @escaping (String) -> Void
    ) throws(TalkieError) {
        let device = arguments.audioDevice ?? SoundCardProvider.defaultDevice
        registry = OutputRegistry([SoundCardProvider(device: device)] + SpeakerKinds.all())
        let places = try registry.places(
            named: arguments.speakers.map(\.name), until: interruption, notice: notice)
        let outputs = try registry.outputs(at: places)
        guard outputs.count <= StimulusPlan.mostSpeakers else {
            throw TalkieError(
                .invalidArgument, "one run takes \(StimulusPlan.mostSpeakers) speakers at most; name fewer")
        }
        var speakers: [OutputIdentity] = []
        for output in outputs {
            if let card = output as? SoundCard {
                // ignored: a card that does not open is reported when it is played on.
                let sink = try? SoundCardProbe.sink(of: device)
                if case .unknown(let reason)? = sink { throw Self.unknown(device, reason) }
                card.open()
                speakers.append(SoundCardProvider.identity(at: sink ?? card.sink, device: device))
            } else if let identity = registry.identity(of: output) {
                speakers.append(identity)
            }
        }
        self.outputs = outputs
        self.speakers = speakers
        warnings = registry.notes
        if let volume = arguments.volume {
            for output in outputs { output.setGain(VolumeCurve.gain(volume: volume)) }
        }
    }

    /// Keeps what was learned about the speakers. After they have been released.
    func remember() { registry.remember() }

    /// What a run measured belongs to the sinks that were found before it.
    ///
    /// - Parameter sinks: where the cards were heard at the end of the run, in the order of the outputs.
    /// - Throws: 69 when a card was heard elsewhere than before the run.
    func check(stillHeardAt sinks: [SinkKnowledge?]) throws(TalkieError) {
        for (sink, speaker) in zip(sinks, speakers) {
            guard let sink else { continue }
            guard sink.sink?.key == speaker.key else {
                throw TalkieError(
                    .unavailable,
                    "the sound was moved away from '\(speaker.name)' during the run; try again; nothing was stored")
            }
        }
    }

    private static func unknown(_ device: String, _ reason: String) -> TalkieError {
        TalkieError(
            .unavailable,
            "nobody says where the sound device \"\(device)\" is heard: \(reason); "
                + "name a card itself with --audio-device (aplay -L); nothing was stored")
    }
}
