import Foundation
import Glibc
import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import VirtualSpeaker

/// Files of `talkie speaker`: their permissions, and a full disk.
@Suite struct RecordingFileTests {
    private let folder = TemporaryFolder()

    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    @Test func recordingsTheirTimesAndRecordsAreTheirOwnersOnly() throws {
        let path = folder.path("heard.wav")
        let file = try WAVFile(path: path, sampleRate: 44_100)
        file.write([0.5, 0.5], at: DeviceFrame(0))
        file.finish(frames: DeviceFrame(1), origin: .now)
        _ = try RecordJournal(path: folder.path("record.jsonl"))
        #expect(mode(path) == 0o600)
        #expect(mode(path + ".json") == 0o600)
        #expect(mode(folder.path("record.jsonl")) == 0o600)
    }

    @Test func aFullDiskDuringARecordingIsReportedOnce() throws {
        symlink("/dev/full", folder.path("heard.wav"))
        let errors = Lock<[String]>([])
        let file = try WAVFile(path: folder.path("heard.wav"), sampleRate: 44_100) { text in
            errors.withLock { $0.append(text) }
        }
        for frame in 0..<3 { file.write([0.5, 0.5], at: DeviceFrame(Int64(frame))) }
        #expect(errors.withLock { $0.count } == 1)
        #expect(errors.withLock { $0.first?.contains("No space left on device") } == true)
    }

    @Test func aRecordEndsAtItsLargestSizeAndSaysSo() throws {
        let path = folder.path("record.jsonl")
        let journal = try RecordJournal(path: path, maxBytes: 1 << 20)
        for _ in 0..<40_000 { journal.write(.paused, at: .now) }
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        #expect(try #require(size) <= 1 << 20 && size! > 1 << 19)
        #expect(try String(contentsOfFile: path, encoding: .utf8).hasSuffix("}\n"), "whole lines only")
        #expect(journal.consumeFailure()?.contains("has reached 1 MiB") == true)
        #expect(journal.consumeFailure() == nil)
    }

    @Test func aPipeThatNoProgramReadsIsRefusedAndOneThatIsNotReadDropsLines() throws {
        let path = folder.path("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        do throws(SpeakerError) {
            _ = try RecordJournal(path: path)
            Issue.record("it was opened")
        } catch { #expect(error.message.contains("is a pipe that no program reads")) }
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let journal = try RecordJournal(path: path)
        for _ in 0..<5000 { journal.write(.paused, at: .now) }
        #expect(journal.consumeFailure()?.contains("lines are missing") == true)
    }

    @Test func aFloodOfBadPacketsAndConnectionsIsReportedWithinLimits() {
        var limit = EventRateLimit()
        let start = HostInstant(nanoseconds: 0)
        var (admitted, summaries) = (0, [String]())
        // A thousand per second for a minute.
        for number in 0..<60_000 {
            let now = start.advanced(by: .milliseconds(number))
            let answer = limit.admit(
                number % 2 == 0 ? .damaged(reason: "bad") : .connected(from: "\(number)"), at: now)
            admitted += answer.isAdmitted ? 1 : 0
            summaries += answer.summaries
        }
        #expect(admitted == 6 * 2 * EventRateLimit.maxEvents)
        #expect(summaries.count == 10 && summaries[0] == "4960 more reports of bad packets within 10 s were omitted")
        #expect(limit.admit(.paused, at: start.advanced(by: .seconds(59))).isAdmitted)
        #expect(limit.removeSummaries(at: start.advanced(by: .seconds(59)), isLast: true).count == 2)
        #expect(limit.removeSummaries(at: start.advanced(by: .seconds(80))).isEmpty)
    }

    @Test func aFloodOfRequestsIsReportedWithinLimits() {
        var limit = EventRateLimit()
        let start = HostInstant(nanoseconds: 0)
        var (admitted, summaries) = (0, [String]())
        for number in 0..<20_000 {
            let request = SpeakerEvent.request(method: "GET", target: "/info", status: 200)
            let answer = limit.admit(request, at: start.advanced(by: .milliseconds(number)))
            admitted += answer.isAdmitted ? 1 : 0
            summaries += answer.summaries
        }
        #expect(admitted == 2 * EventRateLimit.maxRequests)
        #expect(summaries == ["9800 more reports of requests within 10 s were omitted"])
    }

    @Test func aFloodLeavesFewEntriesInTheRecord() {
        let record = SpeakerRecord()
        for _ in 0..<1000 { record.record(.damaged(reason: "a realtime packet failed authentication")) }
        record.record(.paused)
        record.close()
        #expect(record.events.count == EventRateLimit.maxEvents + 2)
        #expect(record.events.last == .damaged(reason: "960 more reports of bad packets within 10 s were omitted"))
    }

    @Test func aFullDiskDuringARecordIsReportedOnce() throws {
        let journal = try RecordJournal(path: "/dev/full")
        journal.write(.paused, at: .now)
        journal.write(.paused, at: .now)
        #expect(journal.consumeFailure()?.contains("No space left on device") == true)
        #expect(journal.consumeFailure() == nil)
    }
}
