import Foundation
import MediaCore
import Playback
import SyncRendering
import TalkieTestKit
import Testing

@testable import Telemetry

@Suite struct EventDistributorTests {
    let clock = ManualClock()
    let folder = TemporaryFolder()

    /// Logs events, stops, and returns the lines of the file as dictionaries.
    private func record(_ body: (EventLog, EventDistributor) -> Void) throws -> [[String: Any]] {
        let log = EventLog(clock: clock)
        let distributor = EventDistributor(log: log, clock: clock)
        try distributor.start(recordingTo: try TimelineFile(creating: folder.path("t.jsonl")))
        body(log, distributor)
        distributor.stop()
        let text = folder.read("t.jsonl")
        #expect(text.hasSuffix("\n"))
        let lines = text.split(separator: "\n")
        #expect(lines.last?.hasPrefix(#"{"event":"end","host_ns":"#) == true)
        return try lines.dropLast().map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    @Test func everyEventBecomesALineWithItsFields() throws {
        let instant = HostInstant(nanoseconds: 5_000_000_001)
        let film = MediaTime(value: 1001, timescale: 24000)
        let lines = try record { log, _ in
            log.append(
                .frame(pts: film, target: instant, presented: instant.advanced(by: .microseconds(1500))), at: instant)
            log.append(.framesDropped(count: 3, at: film, reason: .skippedDecoding), at: instant)
            log.append(.anchor(media: film, host: instant, rate: 1.25, generation: 7), at: instant)
            log.append(.audioAccepted(until: film, ahead: .milliseconds(-250), output: OutputID(1)), at: instant)
            log.append(.audioHeard(media: film, host: instant, output: OutputID(0)), at: instant)
            log.append(.audioDrift(error: .microseconds(-12), correctionPPM: -3.5, output: OutputID(0)), at: instant)
            log.append(.latency(delay: .milliseconds(42), output: OutputID(0)), at: instant)
            log.append(.underrun(missing: .milliseconds(8), output: OutputID(0)), at: instant)
            log.append(.outputLost(output: OutputID(2)), at: instant)
            log.append(.outputRestored(output: OutputID(2)), at: instant)
            log.append(.outputMoved(output: OutputID(2)), at: instant)
            log.append(.clock(state: .probing, output: OutputID(3)), at: instant)
        }
        let kinds = lines.map { $0["event"] as? String }
        #expect(
            kinds == [
                "timeline", "frame", "drop", "anchor", "audio", "anchor", "drift", "latency", "underrun", "route",
                "route", "route", "clock",
            ])
        #expect(lines.dropFirst().allSatisfy { $0["host_ns"] as? Int == 5_000_000_001 })
        #expect(lines[0]["version"] as? Int == 1)
        #expect(lines[1]["pts"] as? Double == 0.041708333)
        #expect(lines[1]["target_ns"] as? Int == 5_000_000_001)
        #expect(lines[1]["presented_ns"] as? Int == 5_001_500_001)
        #expect(lines[2]["count"] as? Int == 3 && lines[2]["reason"] as? String == "skipped")
        #expect(lines[3]["rate"] as? Double == 1.25 && lines[3]["generation"] as? Int == 7 && lines[3]["route"] == nil)
        #expect(lines[4]["ahead"] as? Double == -0.25 && lines[4]["route"] as? Int == 1)
        #expect(lines[5]["anchor_ns"] as? Int == 5_000_000_001 && lines[5]["route"] as? Int == 0)
        #expect(lines[6]["error"] as? Double == -0.000012 && lines[6]["ppm"] as? Double == -3.5)
        #expect(lines[7]["delay"] as? Double == 0.042)
        #expect(lines[8]["missing"] as? Double == 0.008)
        #expect(lines[9]["state"] as? String == "lost" && lines[10]["state"] as? String == "restored")
        #expect(lines[11]["state"] as? String == "moved" && lines[11]["route"] as? Int == 2)
        #expect(lines[12]["state"] as? String == "probing" && lines[12]["route"] as? Int == 3)
    }

    @Test func remarksAreEscapedSoThatATitleCannotForgeALine() throws {
        let title = "a\"}\n{\"event\":\"drop\"}\\ \u{7F}\u{1B} é🎬"
        let lines = try record { _, distributor in
            distributor.record(.film(title))
            distributor.record(.phase(PlayerState.Phase.playing.rawValue))
            distributor.record(.audioDelay(.milliseconds(-80)))
            distributor.record(.route(index: 0, name: "default", kind: "soundCard"))
            distributor.record(.film(String(repeating: "\u{1}", count: 1_000_000)))
        }
        #expect(lines.count == 6)
        #expect(lines[1]["name"] as? String == title)
        #expect(lines[2]["phase"] as? String == "playing")
        #expect(lines[3]["wanted"] as? Double == -0.08)
        #expect(lines[4]["state"] as? String == "opened" && lines[4]["kind"] as? String == "soundCard")
        #expect(try #require(lines[5]["name"] as? String).count < 1000)
    }

    @Test func eventsThatFoundTheQueueFullAreCountedInTheRecord() throws {
        let log = EventLog(clock: clock, minimumCapacity: 8)
        for _ in 0..<20 { log.append(.underrun(missing: .zero, output: OutputID(0))) }
        let distributor = EventDistributor(log: log, clock: clock)
        try distributor.start(recordingTo: try TimelineFile(creating: folder.path("t.jsonl")))
        distributor.stop()
        #expect(
            folder.read("t.jsonl").contains("\"event\":\"lost\",\"host_ns\":\(clock.now.nanoseconds),\"count\":12}"))
        #expect(distributor.statistics.lostEvents == 12)
        #expect(distributor.statistics.underruns == 8)
    }

    @Test func aFullDiskIsReportedOnceAndCountingContinues() throws {
        let log = EventLog(clock: clock, minimumCapacity: 65536)
        let complaints = Lock<[String]>([])
        // Enough for several writes, each of which fails.
        for _ in 0..<20_000 { log.append(.underrun(missing: .zero, output: OutputID(0))) }
        let distributor = EventDistributor(log: log, clock: clock)
        try distributor.start(recordingTo: try TimelineFile(creating: "/dev/full")) { complaint in
            complaints.withLock { $0.append(complaint) }
        }
        distributor.stop()
        let reported = complaints.withLock { $0 }
        #expect(reported.count == 1)
        #expect(reported.first?.contains("No space left on device") == true)
        #expect(distributor.statistics.underruns == 20_000)
    }

    @Test func aFileThatCannotBeCreatedIsRefusedWithASentence() {
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        for path in ["/no/such/folder/t.jsonl", "/tmp", "", folder.path("pipe")] {
            do throws(TalkieError) {
                _ = try TimelineFile(creating: path)
                Issue.record("\(path) was accepted")
            } catch {
                #expect(error.code == .failed)
                #expect(error.message.contains("cannot be created"))
            }
        }
    }

    @Test func aLostAndARecoveredClockAreReportedOnceEach() throws {
        let log = EventLog(clock: clock)
        for state in [
            SpeakerClockState.cold, .ready, .stalled, .stalled, .doubted, .probing, .ready, .ready, .doubted, .ready,
        ] {
            log.append(.clock(state: state, output: OutputID(2)))
        }
        let reported = Lock<[SpeakerClockState]>([])
        let distributor = EventDistributor(log: log, clock: clock)
        try distributor.start(onClockEvent: { output, state in
            #expect(output == OutputID(2))
            reported.withLock { $0.append(state) }
        })
        distributor.stop()
        #expect(reported.withLock { $0 } == [.stalled, .doubted, .ready])
    }

    @Test func whatOtherClocksDoIsInTheRecord() throws {
        let (host, film) = (clock.now, MediaTime(value: 5, timescale: 1))
        let lines = try record { log, _ in
            log.append(.steered(media: film, host: host, rate: 1.00005, speed: 1, late: .microseconds(12)))
            log.append(.resumed(after: .seconds(600)))
            log.append(
                .speakerAnchored(
                    media: film, host: host, clock: PTPInstant(nanoseconds: 77), output: OutputID(1)))
        }
        #expect(lines[1]["event"] as? String == "steer" && lines[1]["rate"] as? Double == 1.00005)
        #expect(lines[1]["speed"] as? Double == 1 && lines[1]["late"] as? Double == 0.000012)
        #expect(lines[2]["event"] as? String == "resumed" && lines[2]["suspended"] as? Double == 600)
        #expect(lines[3]["event"] as? String == "anchor" && lines[3]["ptp_ns"] as? Int == 77)
    }

    @Test func withoutAFileTheStatisticsStillCount() throws {
        let log = EventLog(clock: clock)
        let distributor = EventDistributor(log: log, clock: clock)
        try distributor.start()
        log.append(.framesDropped(count: 2, at: .zero, reason: .late))
        distributor.stop()
        #expect(distributor.statistics.droppedFrames == 2)
    }

    @Test func anUnreadPipeDoesNotBlock() throws {
        let path = folder.path("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        let log = EventLog(clock: clock)
        let distributor = EventDistributor(log: log, clock: clock)
        let complaints = Lock<[String]>([])
        try distributor.start(
            recordingTo: try TimelineFile(creating: path), complain: { text in complaints.withLock { $0.append(text) } }
        )
        // F_SETPIPE_SZ (fcntl(2)), which glibc declares for _GNU_SOURCE only; the minimum is one page.
        #expect(fcntl(reader, 1031, 4096) == 4096)
        for _ in 0..<200 { distributor.record(.film("a film with a name")) }
        let asked = HostInstant.now
        distributor.stop()
        // The pipe is never read.
        #expect(HostInstant.now - asked < .seconds(30))
        #expect(complaints.withLock { $0 }.count == 1)
        #expect(complaints.withLock { $0 }.first?.contains("it has no reader") == true)
    }

    @Test func theRecordOfARunThatBrokeOffIsKeptBesideTheNewOne() throws {
        let path = folder.path("t.jsonl")
        func run() throws -> String? {
            let file = try TimelineFile(creating: path)
            let aside = file.setAside
            let distributor = EventDistributor(log: EventLog(clock: clock), clock: clock)
            try distributor.start(recordingTo: file)
            distributor.stop()
            return aside
        }
        #expect(try run() == nil)
        #expect(try run() == nil, "a record that ended is written over, as before")
        let text = folder.read("t.jsonl")
        folder.write(String(text.split(separator: "\n")[0]) + "\n", to: "t.jsonl")
        #expect(try run() == path + ".cut-off")
        #expect(folder.read("t.jsonl.cut-off").split(separator: "\n").count == 1)
        var status = stat()
        folder.write(#"{"event":"timeline","host_ns":1,"version":1}"# + "\n{\"event\":\"fra", to: "t.jsonl")
        #expect(try run() == path + ".cut-off-2")
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }
}
