import AirPlay
import AirPlayTransport
import ClassicAirPlay
import Foundation
import MediaCore
import PTP
import VirtualSpeaker

/// The receiver that a test runs against: one body for shairport-sync and for the software speaker, so that both behave
/// alike.
enum Receiver: CaseIterable {
    /// shairport-sync in the lab, recorded at its DAC.
    case foreign
    /// The software speaker with a separate address; it writes its own recording.
    case software

    /// For tests whose body also runs against the software speaker elsewhere: all receivers only with tight bounds,
    /// because both take twice the time.
    static var defaultReceivers: [Receiver] { Bounds.isTight ? allCases : [.foreign] }
}

/// A running receiver and the recording of what it plays.
final class Peer {
    let lab: Lab
    let host: String
    let port: UInt16
    private let number: Int
    private var recording: Lab.Recording?
    private var speaker: SoftwareSpeaker?
    private let file = FileManager.default.temporaryDirectory.appendingPathComponent("talkie-\(UUID().uuidString).wav")

    /// - Parameter isClassic: Whether the receiver knows classic AirPlay only.
    init(_ receiver: Receiver, _ tolerance: Lab.DriftTolerance = .asShipped, isClassic: Bool = false) throws {
        number = isClassic ? Lab.classicSpeaker : 1
        switch receiver {
        case .foreign:
            (lab, host, port) = isClassic ? try Lab.freshClassicSpeaker(tolerance) : try Lab.freshSpeaker(tolerance)
        case .software:
            var configuration = SpeakerConfiguration(port: 0, output: .file(path: file.path), clock: .required)
            configuration.isClassic = isClassic
            let speaker = try SoftwareSpeaker(configuration)
            (lab, host, port) = (Lab(), "127.0.0.2", speaker.port)
            self.speaker = speaker
        }
    }

    deinit {
        speaker?.stop()
        for part in parts {
            try? FileManager.default.removeItem(at: part)
            try? FileManager.default.removeItem(atPath: part.path + ".json")
        }
    }

    /// Recording files: the software speaker starts a new file for each stream.
    private var parts: [URL] {
        let later = (2...9).map { URL(fileURLWithPath: "\(file.deletingPathExtension().path)-\($0).wav") }
        return [file] + later.filter { FileManager.default.fileExists(atPath: $0.path) }
    }

    /// Returns a sender output that plays to this receiver.
    func output(_ route: Route = .buffered) -> AirPlaySpeaker {
        let identity = SenderIdentity.random(name: "Talkie test")
        return AirPlaySpeaker(
            name: "Lab", configuration: .init(address: SpeakerAddress(host: host, port: port), identity: identity),
            clocks: PTPDirectory(identity: identity.clock), route: route)
    }

    /// Returns a sender output that plays to this receiver by classic AirPlay.
    func classicOutput() -> ClassicSpeaker {
        ClassicSpeaker(
            name: "Lab", address: SpeakerAddress(host: host, port: port), identity: .random(name: "Talkie test"),
            serving: ServedTimeline())
    }

    /// Starts recording; returns when audio would be recorded.
    func record(seconds: Int) throws {
        if speaker == nil { recording = try Lab.Recording(lab, seconds: seconds, speaker: number) }
    }

    /// Ends the recording and returns its file. The caller has stopped playback.
    func recorded() throws -> URL {
        if let recording {
            try recording.stop()
            return recording.file
        }
        speaker?.stop()
        return file
    }

    /// Ends the recording and returns the audio of all sessions, joined with the silence between them.
    func heardSound() throws -> OutputCapture {
        let first = try OutputCapture(file: recorded())
        guard speaker != nil else { return first }
        return try parts.dropFirst().reduce(first) { $0.followed(by: try OutputCapture(file: $1)) }
    }

    /// Ends the recording and returns the instants at which the beeps were audible, on CLOCK_MONOTONIC, in nanoseconds.
    func heard() throws -> [Int64] { try lab.beeps(in: try recorded()) }
}
