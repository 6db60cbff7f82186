internal import AirPlay
internal import Glibc
internal import LocalOutput
internal import MediaCore
internal import SyncRendering

/// The speakers of a run: found, and each with an output of its own.
struct CalibrationOutputs {
    let outputs: [any AudioOutput]
    let speakers: [CalibrationRecord.Speaker]
    let warnings: [String]
    private let made = RouteOutputs()

    /// - Throws: as for films: 2 for a name that several have, 69 for what is not there, 77 for what wants to be paired.
    init(
        _ arguments: CalibrateArguments, interruption: Interruption, notice: @escaping (String) -> Void
    ) throws(PlayerFailure) {
        let knowledge = made.knowledge
        var selection = SpeakerSelection.live(knowledge, interruption: interruption)
        selection.notice = notice
        let places = try selection.places(arguments.speakers)
        guard places.count <= StimulusPlan.mostSpeakers else {
            throw PlayerFailure(
                exitStatus: ExitStatus.usage,
                message: "one run takes \(StimulusPlan.mostSpeakers) speakers at most; name fewer")
        }
        var outputs: [any AudioOutput] = []
        var speakers: [CalibrationRecord.Speaker] = []
        for place in places {
            switch place {
            case .card:
                let card = made.card(arguments.audioDevice ?? RouteOutputs.defaultCard)
                card.open()
                outputs.append(card)
                speakers.append(Self.card(arguments.audioDevice))
            case .speaker(let chosen):
                outputs.append(made.speaker(chosen).output)
                speakers.append(chosen.calibrated)
            }
        }
        self.outputs = outputs
        self.speakers = speakers
        warnings = knowledge.note.map { [$0] } ?? []
        if let volume = arguments.volume {
            for output in outputs { output.setGain(VolumeCurve.gain(volume: volume)) }
        }
    }

    /// Keeps what was learned about the speakers. After they have been released.
    func remember() { made.remember() }

    /// What profiles of a card of this computer are kept under.
    static func card(_ device: String?) -> CalibrationRecord.Speaker {
        let name = device ?? "default"
        return CalibrationRecord.Speaker(
            key: "local-" + Self.plain(name), name: device ?? "sound card", query: "local", route: cardRoute)
    }

    static let cardRoute = "card"

    /// Only characters that a key may hold.
    fileprivate static func plain(_ text: String) -> String {
        let bytes = text.utf8.prefix(50).map { byte in
            LatencyProfile.Key.isSpeakerKey("x" + String(UnicodeScalar(byte))) ? byte : UInt8(ascii: "_")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension ChosenSpeaker {
    /// What calibrations know it by: its id, or where it does not say who it is, its address.
    var calibrated: CalibrationRecord.Speaker {
        CalibrationRecord.Speaker(
            key: speaker.id?.digits ?? "host-" + CalibrationOutputs.plain(address.description), name: name,
            query: query,
            route: route.rawValue, address: address.description)
    }
}
