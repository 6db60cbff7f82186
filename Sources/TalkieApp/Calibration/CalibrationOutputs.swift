internal import Calibration
internal import CardOutput
internal import Glibc
internal import MediaCore
internal import Profiles
internal import Routing
internal import SyncRendering
internal import Talkie

/// The speakers of a run and their outputs.
struct CalibrationOutputs {
    let outputs: [any AudioOutput]
    /// The identities before the run.
    private let found: [OutputIdentity]
    /// The identities: a speaker that has refused a route plays on another one. Cards keep that before the run.
    var speakers: [OutputIdentity] {
        zip(outputs, found).map { $0 is SoundCard ? $1 : registry.identity(of: $0) ?? $1 }
    }
    let warnings: [String]
    private let registry: OutputRegistry

    /// Finds the speakers, creates their outputs and opens sound cards. May block for seconds.
    ///
    /// - Parameter registry: The outputs of a running program; nil: those of this computer.
    /// - Throws: `invalidArgument` for an ambiguous name, `unavailable` for a missing speaker, `notPermitted` for one
    ///   that requires pairing. `unavailable` also for a card with unknown sink, since its result could not be stored.
    init(
        _ arguments: CalibrateArguments, in registry: OutputRegistry? = nil, interruption: Interruption,
        notice: @escaping (String) -> Void
    ) throws(TalkieError) {
        let device = arguments.audioDevice ?? SoundCardProvider.defaultDevice
        let registry = registry ?? OutputRegistry(card: SoundCardProvider(device: device), saying: .commands)
        self.registry = registry
        let destinations = try registry.destinations(
            named: arguments.speakers.map(\.name), until: interruption, notice: notice)
        let outputs = try registry.outputs(at: destinations)
        guard outputs.count <= StimulusPlan.maxSpeakers else {
            throw TalkieError(
                .invalidArgument, "one run supports \(StimulusPlan.maxSpeakers) speakers at most; choose fewer")
        }
        var speakers: [OutputIdentity] = []
        for output in outputs {
            if let card = output as? SoundCard {
                // ignored: a card that cannot be opened is reported by `open`.
                let sink = try? SoundCardProbe.sink(of: card.device)
                if case .unknown(let reason)? = sink { throw Self.unknown(card.device, reason) }
                card.open()
                speakers.append(SoundCardProvider.identity(at: sink ?? card.sink, device: card.device))
            } else if let identity = registry.identity(of: output) {
                speakers.append(identity)
            }
        }
        self.outputs = outputs
        found = speakers
        warnings = registry.notes
        if let volume = arguments.volume {
            for output in outputs { output.setGain(VolumeCurve.gain(volume: volume)) }
        }
    }

    /// Stores what was learned about the speakers. Call it after their release.
    func remember() { registry.remember() }

    /// Checks that the sound cards still play to the sinks found before the run.
    ///
    /// - Parameter sinks: The sinks at the end of the run, in the order of the outputs; nil for other outputs.
    /// - Throws: `unavailable` if a sink has changed.
    func check(stillHeardAt sinks: [SinkKnowledge?]) throws(TalkieError) {
        for (sink, speaker) in zip(sinks, speakers) {
            guard let sink else { continue }
            guard sink.sink?.key == speaker.key else {
                throw TalkieError(
                    .unavailable,
                    "the sound of '\(speaker.name)' was moved to another output during the run; try again; nothing was stored"
                )
            }
        }
    }

    private static func unknown(_ device: String, _ reason: String) -> TalkieError {
        TalkieError(
            .unavailable,
            "the sink of the sound device \"\(device)\" is unknown: \(reason); "
                + "choose a card with --audio-device (aplay -L); nothing was stored")
    }
}
