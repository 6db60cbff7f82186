import AirPlay
import Foundation
import MediaCore
import TalkieTestKit
import Testing

@testable import Profiles
@testable import Storage
@testable import TalkieApp
@testable import Telemetry

/// Reads copies of files that commit b004e64 wrote (Tests/Fixtures/state-version-1).
@Suite struct StateVersionTests {
    private static let fixture = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Fixtures/state-version-1")

    private let folder = TemporaryFolder()
    private var files: StateFolder { StateFolder(path: folder.path("talkie")) }
    private var profiles: ProfileStore { ProfileStore(files) }
    private var receiver: SoftwareSpeakerStore { SoftwareSpeakerStore(name: "Küche", folder: files) }

    init() throws {
        try FileManager.default.copyItem(
            atPath: Self.fixture.appending(path: "talkie").path, toPath: folder.path("talkie"))
    }

    private func spoil(_ name: String) throws -> [UInt8] {
        var bytes = try #require(try files.read(name))
        bytes[bytes.count / 2] ^= 1
        try files.write(name, bytes)
        return bytes
    }

    private static let kitchen = "profiles/3EA790B32481.e6f6d7eb00cb23ea"
    private static let kitchenReceiver = "receivers/4BC3BC636865"

    // MARK: Calibrations

    @Test func calibrationsHoldAsTheyWereMeasured() throws {
        let (found, notes) = profiles.all()
        #expect(notes.isEmpty && found.map(\.speakerName) == ["Küche", "Salon"])
        let (kitchen, salon) = (found[0], found[1])
        #expect(
            kitchen.key
                == .init(speaker: "3EA790B32481", screen: "0", mode: "unpaced full-screen", route: "buffered"))
        #expect(kitchen.offset == -2.586019 && kitchen.sigma == 0.000023 && kitchen.halfWidth == 0.000015)
        #expect(kitchen.audioRest == 0.007093 && kitchen.screenRest == 2.593113 && kitchen.screenSource == "unknown")
        #expect(kitchen.events == 12 && kitchen.way == "microphone" && kitchen.measuredAt == 1_795_345_467)
        #expect(kitchen.room == nil)
        #expect(kitchen.shares.map(\.name) == ["queue", "network", "speaker"])
        #expect(kitchen.shares.map(\.source) == ["reported", "measured", "assumed"])
        #expect(kitchen.shares[1].uncertainty == 0.002 && kitchen.shares[1].note == "its way, less the correction")
        #expect(
            salon.key
                == .init(
                    speaker: "0673FDC91C6A", screen: "DELL U2720Q 27\"", mode: "60-Hz full-screen",
                    route: "realtime-ntp"))
        #expect(salon.offset == -81.25 && salon.room?.run == "1795345376-1" && salon.room?.behindFirst == 12.125)
        #expect(salon.shares.map(\.note) == ["a | b"])
    }

    @Test func anExportOfThatTimeIsTakenInWhole() throws {
        let other = ProfileStore(StateFolder(path: folder.path("other")))
        _ = try ProfileCommands(store: other).importProfiles(from: Self.fixture.appending(path: "profiles.json").path)
        #expect(other.all().profiles == profiles.all().profiles)
    }

    @Test func aDamagedCalibrationIsSetAsideAndReported() throws {
        let bytes = try spoil(Self.kitchen)
        let (found, notes) = profiles.all()
        #expect(found.map(\.speakerName) == ["Salon"])
        #expect(notes.count == 1 && notes[0].contains("\(Self.kitchen).damaged"))
        #expect(try files.read("\(Self.kitchen).damaged") == bytes)
    }

    @Test func aNewerCalibrationIsKeptAndReported() throws {
        let known = profiles.all().profiles
        let newer = Array("talkie profile 2\n{}\n".utf8)
        try files.write(Self.kitchen, newer)
        #expect(profiles.all().notes.contains { $0.contains("newer Talkie (version 2)") })
        #expect(throws: TalkieError.self) { try profiles.store(known) }
        #expect(try files.read(Self.kitchen) == newer)
    }

    @Test func aNewerExportIsRefusedWithAReason() throws {
        let export = folder.write(#"{"talkie_profiles": 2, "profiles": []}"#, to: "newer.json")
        let failure = #expect(throws: TalkieError.self) {
            try ProfileCommands(store: profiles).importProfiles(from: export)
        }
        #expect(failure?.message.contains("newer Talkie") == true)
    }

    // MARK: Software speaker

    @Test func aSpeakerInSoftwareStillKnowsItsSenders() throws {
        let content = try #require(receiver.read().content)
        #expect(content.seed.prefix(4) == [0x01, 0x86, 0x76, 0x32] && content.seed.count == 32)
        #expect(content.senders.map { String(decoding: $0.name, as: UTF8.self) } == ["BA043F7386869DCE"])
        #expect(content.senders[0].key.prefix(4) == [0x59, 0xCC, 0x67, 0x55])
    }

    @Test func aDamagedReceiverIsSetAsideANewerOneKeptAndBothReported() throws {
        let content = try #require(receiver.read().content)
        let bytes = try spoil(Self.kitchenReceiver)
        let (lost, note) = receiver.read()
        #expect(lost == nil && note?.contains("\(Self.kitchenReceiver).damaged") == true)
        #expect(try files.read("\(Self.kitchenReceiver).damaged") == bytes)
        let newer = Array("talkie receiver 2\n{}\n".utf8)
        try files.write(Self.kitchenReceiver, newer)
        let (unread, unreadNote) = receiver.read()
        #expect(unread == nil && unreadNote?.contains("newer Talkie (version 2)") == true)
        #expect(receiver.write(content)?.contains("newer Talkie (version 2)") == true)
        #expect(try files.read(Self.kitchenReceiver) == newer)
    }

    @Test func aReceiverWithoutAKeyIsDamagedToo() throws {
        try files.write(Self.kitchenReceiver, StateRecord(kind: "receiver", version: 1).encoded())
        let (content, note) = receiver.read()
        #expect(content == nil && note?.contains("\(Self.kitchenReceiver).damaged") == true)
        #expect(receiver.read().note == nil, "once")
    }

    // MARK: Flight recorder

    @Test func aTimelineAndTheSpeakersRecordSayWhatTheySaidThen() throws {
        let report = try TimelineReport(
            reading: Self.fixture.appending(path: "timeline.jsonl").path,
            speakerRecord: Self.fixture.appending(path: "speaker-record.jsonl").path)
        #expect(report.program == "talkie 0.1.0" && report.films == ["flash-and-beep.mp4"])
        #expect(report.understoodLines == 75 && report.garbageLines == 0 && !report.isCutOff)
        #expect(report.frames == 49 && report.droppedLate == 0 && report.runningAnchors == 1)
        #expect(report.screenMode == "unpaced, window memory on dummy")
        let route = try #require(report.routes.first)
        #expect(report.routes.count == 1 && route.name == "Küche" && route.kind == "bufferedSpeaker")
        // As printed by `talkie report` of b004e64.
        func near(_ sketch: QuantileSketch, _ expected: Double) -> Bool {
            sketch.quantiles([0.5]).map { abs($0[0] - expected) < 0.0006 } ?? false
        }
        #expect(route.offset.quantities.count == 48 && near(route.offset.quantities, -1.192))
        #expect(route.error.count == 20 && near(route.error, 0.004))
        #expect(report.videoError.count == 48 && near(report.videoError, 0.832))
    }

    @Test func aTimelineOfANewerTalkieIsRefusedWithAReason() throws {
        let newer = try String(contentsOf: Self.fixture.appending(path: "timeline.jsonl"), encoding: .utf8)
            .replacing(#""version":1"#, with: #""version":2"#, maxReplacements: 1)
        let path = folder.write(newer, to: "newer.jsonl")
        let failure = #expect(throws: TalkieError.self) { try TimelineReport(reading: path) }
        #expect(failure?.code == .cannotOpen && failure?.message.contains("newer Talkie (version 2)") == true)
    }

    @Test func aDamagedTimelineSaysHowMuchOfItWasNotUnderstood() throws {
        var lines = try String(contentsOf: Self.fixture.appending(path: "timeline.jsonl"), encoding: .utf8)
            .split(separator: "\n").map(String.init)
        lines[40] = String(lines[40].dropLast(9))
        let report = try TimelineReport(reading: folder.write(lines.joined(separator: "\n"), to: "t.jsonl"))
        #expect(report.understoodLines == 74 && report.garbageLines == 1)
        #expect(report.text.contains("invalid and ignored"))
    }
}
