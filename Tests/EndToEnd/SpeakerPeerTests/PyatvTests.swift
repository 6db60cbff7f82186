import Foundation
import MediaCore
import PTP
import Testing

@testable import VirtualSpeaker

/// True if pyatv is available. With `CI=true` the tests run and fail without it; elsewhere they are skipped.
private let canRun: Bool = {
    if ProcessInfo.processInfo.environment["CI"] == "true" { return true }
    do {
        _ = try ForeignSender.python()
        return true
    } catch {
        print("pyatv cannot be installed here, its tests are left out: \(error)")
        return false
    }
}()

@Suite(.serialized, .enabled(if: canRun), .timeLimit(.minutes(5))) struct PyatvTests {
    private static let seconds = 3
    private static let frames = 44100 * seconds
    /// pyatv ends the stream 1.5 s after it sent the last packet, which is audible 0.25 s later still.
    private static let heardFrames = frames - 44100 / 2

    /// Returns a sample of two-channel noise that depends only on its position.
    private static func sample(_ frame: Int, _ channel: Int) -> Int16 {
        let mixed = UInt32(truncatingIfNeeded: (frame * 2 + channel + 1)) &* 2_654_435_761
        return Int16(truncatingIfNeeded: Int32(bitPattern: mixed) >> 16)
    }

    private static func littleEndian<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    private func makeClip(in folder: URL) throws -> URL {
        var bytes: [UInt8] = Array("RIFF".utf8) + Self.littleEndian(UInt32(Self.frames * 4 + 36))
        bytes += Array("WAVEfmt ".utf8) + Self.littleEndian(UInt32(16)) + Self.littleEndian(UInt16(1))
        bytes += Self.littleEndian(UInt16(2)) + Self.littleEndian(UInt32(44100))
        bytes += Self.littleEndian(UInt32(44100 * 4)) + Self.littleEndian(UInt16(4)) + Self.littleEndian(UInt16(16))
        bytes += Array("data".utf8) + Self.littleEndian(UInt32(Self.frames * 4))
        for frame in 0..<Self.frames {
            for channel in 0..<2 { bytes += Self.littleEndian(Self.sample(frame, channel)) }
        }
        let file = folder.appendingPathComponent("clip.wav")
        try Data(bytes).write(to: file)
        return file
    }

    private func recorded(_ file: URL) throws -> [Int16] {
        let data = try Data(contentsOf: file).dropFirst(44)
        return data.withUnsafeBytes { raw in
            stride(from: 0, to: raw.count - 1, by: 2).map { raw.loadUnaligned(fromByteOffset: $0, as: Int16.self) }
        }
    }

    private struct Outcome: CustomStringConvertible {
        var description: String { "\(recording.count / 2) frames in \(spans.count) spans, \(events.count) events" }
        let recording: [Int16]
        let spans: [HeardSpan]
        let events: [SpeakerEvent]
        /// When the sender's stream clock started.
        let started: HostInstant
        /// The instant of the recording's frame 0.
        let origin: HostInstant
    }

    private func play(_ quirks: SpeakerQuirks = SpeakerQuirks()) throws -> Outcome {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("speaker-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let output = folder.appendingPathComponent("heard.wav")
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(port: 0, output: .file(path: output.path), clock: .never, quirks: quirks))
        let started = try ForeignSender.play(try makeClip(in: folder), to: "127.0.0.2", port: speaker.port)
        speaker.stop()
        let side = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: output.path + ".json")))
        let first = ((side as? [String: Any])?["first_frame_monotonic_ns"] as? NSNumber)?.int64Value ?? 0
        return Outcome(
            recording: try recorded(output), spans: speaker.record.spans, events: speaker.record.events,
            started: HostInstant(nanoseconds: started), origin: HostInstant(nanoseconds: first))
    }

    /// Returns the index at which the clip starts in the recording; nil if any of its samples is missing or wrong.
    private func clipStart(_ outcome: Outcome) -> Int? {
        let recording = outcome.recording
        let pattern = (0..<8).flatMap { [Self.sample($0, 0), Self.sample($0, 1)] }
        let begins = stride(from: 0, to: max(0, recording.count - Self.heardFrames * 2), by: 2)
        guard let start = begins.first(where: { Array(recording[$0..<($0 + pattern.count)]) == pattern }) else {
            return nil
        }
        for frame in 0..<Self.heardFrames {
            for channel in 0..<2 where recording[start + frame * 2 + channel] != Self.sample(frame, channel) {
                return nil
            }
        }
        return start / 2
    }

    @Test func aForeignSenderIsHeardWholeAndAtItsOwnTime() throws {
        let outcome = try play()
        let start = try #require(clipStart(outcome), "the clip is not in the recording sample for sample")
        // pyatv's stream starts 1.5 s ahead of its clock; receivers of this kind add 0.25 s.
        let due = outcome.started.advanced(by: .milliseconds(1750))
        let heard = outcome.origin.advanced(by: .nanoseconds(Int64(start) * 1_000_000_000 / 44100))
        #expect(abs((heard - due).inMilliseconds) < 3, "heard \((heard - due).inMilliseconds) ms after its time")
        print("pyatv: heard \((heard - due).inMilliseconds) ms after its time, in \(outcome.spans.count) spans")
        // The record agrees with the recording.
        let first = try #require(outcome.spans.first)
        #expect(abs((first.instant - heard).inMilliseconds) < 0.05)
        #expect(!outcome.events.contains { if case .damaged = $0 { true } else { false } })
    }

    @Test func lostPacketsAreAskedForAgainAndNothingIsMissing() throws {
        var quirks = SpeakerQuirks()
        quirks.packetLoss = 0.05
        let outcome = try play(quirks)
        #expect(outcome.events.contains { if case .resendRequested = $0 { true } else { false } })
        #expect(clipStart(outcome) != nil, "the clip is not in the recording sample for sample")
    }
}
