internal import MediaCore
internal import SyncRendering

@testable import Calibration
@testable import Profiles
@testable import ScreenOutput

/// User-provided inputs of a calibration: recordings, their timestamps, events files, exported profiles, and a
/// display's EDID. The first byte selects the parser.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCalibration(_ start: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    guard let start, size > 0 else { return 0 }
    let bytes = Array(UnsafeBufferPointer(start: start + 1, count: size - 1))
    switch start[0] {
    case UInt8(ascii: "W"):
        guard var recording = try? WaveFile.read(bytes) else { return 0 }
        precondition(recording.channels.count <= Recording.maxChannels)
        // A clock with one anchor, so that the whole analysis runs.
        recording.anchors = [Recording.Anchor(frame: 0, instant: .init(nanoseconds: 1_000_000_000))]
        if recording.frames < 40_000 { _ = try? analysis(recording, shortRun).answer() }
    case UInt8(ascii: "S"):
        guard let content = RecordingSidecar.read(bytes) else { return 0 }
        let recording = Recording(
            sampleRate: 16000, channels: [[Float](repeating: 0.1, count: 20_000)], anchors: content.anchors)
        _ = RecordingClock(recording).map { $0.frame(at: .init(nanoseconds: 5)) }
        _ = try? analysis(recording, shortRun).answer()
    case UInt8(ascii: "E"):
        guard let record = try? CalibrationRecord(reading: bytes) else { return 0 }
        precondition(record.speakers.count <= StimulusPlan.maxSpeakers)
        _ = record.json.formatted
        let first = record.events[0].due
        var recording = Recording(
            sampleRate: 16000, channels: [[Float](repeating: 0, count: 20_000)],
            anchors: [Recording.Anchor(frame: 0, instant: first)])
        for event in record.events.prefix(4) { event.code.add(to: &recording.channels[0], onset: 100, rate: 16000) }
        _ = try? analysis(recording, record).answer()
    case UInt8(ascii: "P"):
        guard let profiles = try? ProfileExchange.read(bytes) else { return 0 }
        let again = ProfileExchange.json(profiles).formatted
        precondition((try? ProfileExchange.read(Array(again.utf8)))?.count == profiles.count)
        for profile in profiles {
            _ = profile.text
            _ = ProfileChoice(
                for: [.init(speaker: profile.key.speaker, route: profile.key.route)], screen: nil, mode: nil,
                among: profiles)
        }
    default: _ = DisplayIdentification(bytes)
    }
    return 0
}

private func analysis(_ recording: Recording, _ record: CalibrationRecord) -> CalibrationAnalysis {
    CalibrationAnalysis(recording: recording, record: record, suspectsLabel: false)
}

private let shortRun = CalibrationRecord(
    run: "1", speakers: [.init(key: "A", name: "A", query: "A", route: "card")], display: nil,
    events: (0..<3).map { number in
        .init(
            speaker: 0, code: ChirpCode.all[number % 2], isLong: number % 2 == 1,
            due: .init(nanoseconds: 1_000_000_000 + Int64(number) * 500_000_000), flashed: nil)
    })
