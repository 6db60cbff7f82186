import AirPlay
import Foundation
import MediaCore
import PTP
import VirtualSpeaker

/// Who plays: one body of a test for a receiver that others wrote and for ours, so that ours stays honest.
enum Receiver: CaseIterable {
    /// shairport-sync in the lab, heard by a recorder at its DAC.
    case foreign
    /// The speaker in software on an address of its own, which writes its recording itself.
    case software

    /// For tests whose body runs against the software speaker elsewhere too: both where time is no object.
    static var mostForeign: [Receiver] { Bounds.isTight ? allCases : [.foreign] }
}

/// A receiver that is ready to be played to, and what is heard of it.
final class Peer {
    let lab: Lab
    let host: String
    let port: UInt16
    private var recording: Lab.Recording?
    private var speaker: SoftwareSpeaker?
    private let file = FileManager.default.temporaryDirectory.appendingPathComponent("talkie-\(UUID().uuidString).wav")

    init(_ receiver: Receiver, _ tolerance: Lab.DriftTolerance = .asShipped) throws {
        switch receiver {
        case .foreign: (lab, host, port) = try Lab.freshSpeaker(tolerance)
        case .software:
            let speaker = try SoftwareSpeaker(
                SpeakerConfiguration(port: 0, output: .file(path: file.path), clock: .required))
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

    /// The speaker in software begins another file with each stream.
    private var parts: [URL] {
        let later = (2...9).map { URL(fileURLWithPath: "\(file.deletingPathExtension().path)-\($0).wav") }
        return [file] + later.filter { FileManager.default.fileExists(atPath: $0.path) }
    }

    /// Our sender's output that plays to it.
    func output(_ route: Route = .buffered) -> AirPlaySpeaker {
        let identity = SenderIdentity.random(name: "Talkie test")
        return AirPlaySpeaker(
            name: "Lab", configuration: .init(address: SpeakerAddress(host: host, port: port), identity: identity),
            clocks: PTPDirectory(identity: identity.clock), route: route)
    }

    /// Begins to record; returns when sound would be heard.
    func record(seconds: Int) throws {
        if speaker == nil { recording = try Lab.Recording(lab, seconds: seconds) }
    }

    /// The recording, which ends with this; nothing may play any more.
    func recorded() throws -> URL {
        if let recording {
            try recording.stop()
            return recording.file
        }
        speaker?.stop()
        return file
    }

    /// Everything that was heard, in however many sessions; as `recorded`.
    func heardSound() throws -> Recording {
        let first = try Recording(file: recorded())
        guard speaker != nil else { return first }
        return try parts.dropFirst().reduce(first) { $0.followed(by: try Recording(file: $1)) }
    }

    /// When each beep was heard, on CLOCK_MONOTONIC; the recording ends with this, and nothing may play any more.
    func heard() throws -> [Int64] { try lab.beeps(in: try recorded()) }
}
