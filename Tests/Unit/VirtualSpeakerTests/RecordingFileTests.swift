import Foundation
import Glibc
import MediaCore
import SyncRendering
import Testing

@testable import VirtualSpeaker

/// What `talkie speaker` writes: who may read it, and a disk that takes no more.
@Suite struct RecordingFileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "talkie-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    @Test func recordingsTheirTimesAndRecordsAreTheirOwnersOnly() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/heard.wav"
        let file = try WAVFile(path: path, sampleRate: 44_100)
        file.write([0.5, 0.5], at: DeviceFrame(0))
        file.finish(frames: DeviceFrame(1), origin: .now)
        _ = try RecordJournal(path: folder + "/record.jsonl")
        #expect(mode(path) == 0o600)
        #expect(mode(path + ".json") == 0o600)
        #expect(mode(folder + "/record.jsonl") == 0o600)
    }

    @Test func aFullDiskUnderARecordingIsToldOnce() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        symlink("/dev/full", folder + "/heard.wav")
        let told = Lock<[String]>([])
        let file = try WAVFile(path: folder + "/heard.wav", sampleRate: 44_100) { text in
            told.withLock { $0.append(text) }
        }
        for frame in 0..<3 { file.write([0.5, 0.5], at: DeviceFrame(Int64(frame))) }
        #expect(told.withLock { $0.count } == 1)
        #expect(told.withLock { $0.first?.contains("No space left on device") } == true)
    }

    @Test func aFullDiskUnderARecordIsToldOnce() throws {
        let journal = try RecordJournal(path: "/dev/full")
        journal.write(.paused, at: .now)
        journal.write(.paused, at: .now)
        #expect(journal.takeFailure()?.contains("No space left on device") == true)
        #expect(journal.takeFailure() == nil)
    }
}
