import Foundation
import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import Telemetry

/// Rotation of the flight recorder's files: when a file starts, its first lines, and a full disk.
@Suite struct TimelineRotationTests {
    private let folder = TemporaryFolder()
    private let clock = ManualClock()
    private var path: String { folder.path("t.jsonl") }

    /// A disk with limited free space.
    private final class Disk: Sendable {
        let room = Lock(Int.max)

        var write: LineBuffer.Write {
            { descriptor, bytes, count in
                let taken = self.room.withLock { room in
                    let taken = min(room, count)
                    if room != .max { room -= taken }
                    return taken
                }
                guard taken > 0 else {
                    errno = ENOSPC
                    return -1
                }
                return Glibc.write(descriptor, bytes, taken)
            }
        }
    }

    private func writer(_ rotation: TimelineRotation?, disk: Disk = Disk()) throws -> TimelineWriter {
        TimelineWriter(file: try TimelineFile(creating: path, rotation: rotation), at: clock.now, write: disk.write)
    }

    private func entry(_ event: RenderEvent) -> EventLog.Entry {
        let log = EventLog(clock: clock)
        log.append(event)
        return log.removeFirst()!
    }

    private func frame(_ number: Int) -> EventLog.Entry {
        entry(.frame(pts: MediaTime(value: Int64(number), timescale: 24), target: clock.now, presented: clock.now))
    }

    private func lines(_ name: String) -> [[String: Any]] {
        folder.read(name).split(separator: "\n").map {
            (try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) ?? ["event": "garbage"]
        }
    }

    private func events(_ name: String) -> [String] { lines(name).compactMap { $0["event"] as? String } }

    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    @Test func anotherFileBeginsWithWhatAReaderHasToKnow() throws {
        var writer = try writer(TimelineRotation(maxAge: .seconds(60), keep: 3))
        writer.write(.film("old.mkv"), at: clock.now)
        writer.write(.gaplessBoundary(name: "film.mkv", at: .zero, origin: .zero), at: clock.now)
        writer.write(.route(index: 0, name: "Hall", kind: "bufferedSpeaker"), at: clock.now)
        writer.write(entry(.anchor(media: .zero, host: clock.now, rate: 1, generation: 1)))
        writer.write(
            entry(
                .speakerAnchored(
                    media: .zero, host: clock.now, clock: PTPInstant(nanoseconds: 7), output: OutputID(0))))
        writer.write(frame(1))
        clock.advance(by: .seconds(59))
        writer.performDueWork(at: clock.now)
        #expect(names == ["t.jsonl"])
        clock.advance(by: .seconds(1))
        writer.performDueWork(at: clock.now)
        writer.write(frame(2))
        writer.finish(at: clock.now)
        #expect(names == ["t.jsonl", "t.jsonl.1"])
        #expect(
            events("t.jsonl.1") == ["timeline", "film", "film", "route", "anchor", "anchor", "frame", "end"])
        #expect(lines("t.jsonl.1").first?["part"] as? Int == 1 && lines("t.jsonl.1").last?["next"] as? Int == 2)
        #expect(events("t.jsonl") == ["timeline", "film", "route", "anchor", "anchor", "frame", "end"])
        let again = lines("t.jsonl").map { $0["again"] as? Int }
        #expect(again == [nil, 1, 1, 1, 1, nil, nil])
        #expect(lines("t.jsonl").first?["part"] as? Int == 2)
        #expect(lines("t.jsonl")[1]["name"] as? String == "film.mkv")
    }

    @Test func aFileStaysWithinItsLimitAndTheOldestIsDeleted() throws {
        var writer = try writer(TimelineRotation(maxSize: TimelineRotation.minSizeLimit, keep: 2))
        for second in 0..<40 {
            for number in 0..<200 { writer.write(frame(second * 200 + number)) }
            clock.advance(by: .seconds(1))
            writer.performDueWork(at: clock.now)
        }
        writer.finish(at: clock.now)
        #expect(names == ["t.jsonl", "t.jsonl.1", "t.jsonl.2"])
        for name in names {
            let size = folder.read(name).utf8.count
            #expect(size < TimelineRotation.minSizeLimit + 64 * 1024, "\(name): \(size)")
        }
    }

    @Test func theSetIsReadAsOneRecordWhateverTheOrder() throws {
        func record(_ rotation: TimelineRotation?) throws {
            var writer = try writer(rotation)
            writer.write(.film("film.mkv"), at: clock.now)
            writer.write(.route(index: 0, name: "Hall", kind: "bufferedSpeaker"), at: clock.now)
            writer.write(entry(.anchor(media: .zero, host: clock.now, rate: 1, generation: 1)))
            for second in 0..<30 {
                for _ in 0..<24 {
                    clock.advance(by: .milliseconds(40))
                    writer.write(frame(second))
                }
                writer.write(entry(.audioDrift(error: .milliseconds(3), correctionPPM: 0, output: OutputID(0))))
                writer.performDueWork(at: clock.now)
            }
            writer.finish(at: clock.now)
        }
        try record(nil)
        let whole = try TimelineReport(reading: path)
        try FileManager.default.removeItem(atPath: path)
        try record(TimelineRotation(maxAge: .seconds(10), keep: 5))
        #expect(names == ["t.jsonl", "t.jsonl.1", "t.jsonl.2"])
        let set = try TimelineReport(reading: [path, path + ".2", path + ".1"])
        #expect(set.frames == whole.frames && set.films == ["film.mkv"] && set.garbageLines == 0)
        #expect(set.runningAnchors == 1 && set.routes.map(\.name) == ["Hall"])
        #expect(set.routes[0].offset.quantities.count == whole.routes[0].offset.quantities.count)
        #expect(abs(set.seconds - whole.seconds) < 0.001)
        // Each file alone contains film, output and timeline.
        let part = try TimelineReport(reading: path + ".1")
        #expect(part.films == ["film.mkv"] && part.routes.map(\.name) == ["Hall"])
        #expect(part.frames > 0 && part.routes[0].offset.quantities.worst == 3)
    }

    @Test func theRecordOfTheRunBeforeIsOneOfTheOlderOnes() throws {
        let rotation = TimelineRotation(maxSize: 1 << 20, keep: 2)
        for film in ["one", "two", "three", "four"] {
            var writer = try writer(rotation)
            writer.write(.film(film), at: clock.now)
            writer.flush(at: clock.now)
        }
        #expect(names == ["t.jsonl", "t.jsonl.1", "t.jsonl.2"])
        #expect(
            ["t.jsonl", "t.jsonl.1", "t.jsonl.2"].map { lines($0).last?["name"] as? String } == [
                "four", "three", "two",
            ])
    }

    @Test func withNoneToKeepThereIsOneFile() throws {
        var writer = try writer(TimelineRotation(maxAge: .seconds(1), keep: 0))
        for _ in 0..<5 {
            clock.advance(by: .seconds(1))
            writer.performDueWork(at: clock.now)
        }
        writer.finish(at: clock.now)
        #expect(names == ["t.jsonl"] && lines("t.jsonl").first?["part"] as? Int == 6)
    }

    @Test(arguments: [nil, TimelineRotation(maxSize: 1 << 20, keep: 2)])
    func aFileThatIsNoTimelineIsRefusedAndUnchanged(rotation: TimelineRotation?) throws {
        folder.write("a film", to: "t.jsonl")
        #expect(throws: TalkieError.self) { _ = try TimelineFile(creating: path, rotation: rotation) }
        #expect(names == ["t.jsonl"] && folder.read("t.jsonl") == "a film")
        folder.write("", to: "t.jsonl")
        _ = try TimelineFile(creating: path, rotation: rotation)
        _ = try TimelineFile(creating: "/dev/null", rotation: rotation)
    }

    @Test func anExistingFileIsRenamedOnlyOnce() throws {
        var writer = try writer(TimelineRotation(maxAge: .seconds(1), keep: 3))
        writer.flush(at: clock.now)
        // The file was removed, and another file has the name of the next one.
        try FileManager.default.removeItem(atPath: path)
        folder.write("mine", to: "t.jsonl.1")
        clock.advance(by: .seconds(1))
        writer.performDueWork(at: clock.now)
        #expect(names == ["t.jsonl", "t.jsonl.1"] && folder.read("t.jsonl.1") == "mine")
    }

    @Test func aFullDiskPausesTheRecordAndFreeSpaceResumesIt() throws {
        let disk = Disk()
        var writer = try writer(nil, disk: disk)
        writer.write(.film("film.mkv"), at: clock.now)
        writer.flush(at: clock.now)
        // The next write ends within a line.
        disk.room.withLock { $0 = 30 }
        writer.write(frame(1))
        writer.write(frame(2))
        writer.performDueWork(at: clock.now)
        let complaint = writer.consumeComplaint() ?? ""
        #expect(complaint.contains("No space left on device") && complaint.contains("when there is space"))
        writer.write(.film("next.mkv"), at: clock.now)
        writer.write(frame(3))
        for _ in 0..<3 {
            clock.advance(by: TimelineWriter.pause)
            writer.performDueWork(at: clock.now)
            let more = writer.consumeComplaint()
            #expect(more == nil, "complaintCount once")
        }
        disk.room.withLock { $0 = .max }
        clock.advance(by: .seconds(9))
        writer.performDueWork(at: clock.now)
        let early = writer.consumeComplaint()
        #expect(early == nil, "it is tried now and then")
        clock.advance(by: .seconds(1))
        writer.performDueWork(at: clock.now)
        let tooEarly = writer.consumeComplaint()
        #expect(tooEarly == nil, "a disk with room for one line is no news")
        clock.advance(by: TimelineWriter.relief)
        writer.performDueWork(at: clock.now)
        let relief = writer.consumeComplaint() ?? ""
        #expect(relief.contains("is written again; 4 events are missing"))
        writer.write(frame(4))
        writer.finish(at: clock.now)
        #expect(events("t.jsonl") == ["timeline", "film", "film", "lost", "frame", "end"])
        #expect(lines("t.jsonl")[2]["name"] as? String == "next.mkv", "what a reader has to know is not missing")
        #expect(lines("t.jsonl")[3]["count"] as? Int == 4)
    }

    @Test func aDiskThatIsFullFromTheBeginningLosesNoHead() throws {
        let disk = Disk()
        disk.room.withLock { $0 = 0 }
        var writer = try writer(TimelineRotation(maxAge: .seconds(60)), disk: disk)
        writer.write(.film("film.mkv"), at: clock.now)
        writer.write(.route(index: 0, name: "Hall", kind: "bufferedSpeaker"), at: clock.now)
        writer.performDueWork(at: clock.now)
        disk.room.withLock { $0 = .max }
        clock.advance(by: TimelineWriter.pause)
        writer.performDueWork(at: clock.now)
        // And again at the start of the next file.
        disk.room.withLock { $0 = 100 }
        clock.advance(by: .seconds(60))
        writer.performDueWork(at: clock.now)
        writer.write(.film("next.mkv"), at: clock.now)
        disk.room.withLock { $0 = .max }
        for _ in 0..<2 {
            clock.advance(by: TimelineWriter.pause)
            writer.performDueWork(at: clock.now)
        }
        writer.finish(at: clock.now)
        #expect(events("t.jsonl.1").prefix(4) == ["timeline", "film", "route", "lost"])
        #expect(events("t.jsonl").first == "timeline" && names == ["t.jsonl", "t.jsonl.1"])
        let set = try TimelineReport(reading: [path, path + ".1"])
        #expect(set.films == ["film.mkv", "next.mkv"] && set.routes.map(\.name) == ["Hall"] && set.garbageLines == 0)
    }

    @Test func anAlmostFullDiskIsReportedOnce() throws {
        let disk = Disk()
        var writer = try writer(nil, disk: disk)
        writer.flush(at: clock.now)
        var complaintCount = 0
        for second in 0..<600 {
            disk.room.withLock { $0 = second % 12 == 0 ? 150 : 0 }
            writer.write(frame(second))
            writer.performDueWork(at: clock.now)
            if writer.consumeComplaint() != nil { complaintCount += 1 }
            clock.advance(by: .seconds(1))
        }
        #expect(complaintCount == 1)
        disk.room.withLock { $0 = .max }
        for second in 0..<60 {
            writer.write(frame(second))
            writer.performDueWork(at: clock.now)
            if writer.consumeComplaint() != nil { complaintCount += 1 }
            clock.advance(by: .seconds(1))
        }
        writer.finish(at: clock.now)
        #expect(complaintCount == 2)
        #expect(!events("t.jsonl").contains("garbage") && events("t.jsonl").last == "end")
    }

    @Test func sizesAndAgesAreUnderstoodAsMpvWritesThem() throws {
        #expect(try TimelineRotation.size(parsing: "65536") == 65_536)
        #expect(try TimelineRotation.size(parsing: "64KiB") == 65_536)
        #expect(try TimelineRotation.size(parsing: "10MiB") == 10 << 20)
        #expect(try TimelineRotation.size(parsing: "1024GiB") == 1 << 40)
        for text in [
            "", "MiB", "1", "65535", "1.5MiB", "-1MiB", "10MB", "10 MiB", "1025GiB", "99999999999999999999GiB",
        ] {
            #expect(throws: ValueError.self, "\(text)") { try TimelineRotation.size(parsing: text) }
        }
        #expect(try TimelineRotation.age(seconds: 60) == .seconds(60))
        for seconds in [0, -1, .infinity, .nan, 1e12] {
            #expect(throws: ValueError.self) { try TimelineRotation.age(seconds: seconds) }
        }
        #expect(TimelineRotation(keep: 3).ifBounded == nil)
    }
}
