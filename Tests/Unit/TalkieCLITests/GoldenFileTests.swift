import AirPlayWire
import ArgumentParser
import Foundation
import MediaCore
import PTP
import Playback
import Profiles
import Routing
import Sockets
import SyncRendering
import TalkieApp
import Testing

@testable import AirPlay
@testable import AirPlayTransport
@testable import Calibration
@testable import Kiosk
@testable import Storage
@testable import TalkieApp
@testable import TalkieCLI
@testable import Telemetry
@testable import VirtualSpeaker

/// Compares what other programs and later versions read with Tests/Golden: JSON, timeline, metrics, MQTT, state files,
/// help. After an intended change, run once with TALKIE_RECORD_GOLDEN=1 and review the difference in the commit.
@Suite struct GoldenFileTests {
    private let folder = NSTemporaryDirectory() + "talkie-golden-\(UUID().uuidString)"
    private let start = HostInstant(nanoseconds: 9_007_199_254_740_993)

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

    private func instant(_ seconds: Double) -> HostInstant { start.advanced(by: .seconds(seconds)) }

    private func expect(_ text: String, in name: String) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Golden/\(name)")
        // A release changes its number and nothing else.
        let text = text.replacing(Release.version, with: "VERSION").replacing(folder, with: "FOLDER")
        if ProcessInfo.processInfo.environment["TALKIE_RECORD_GOLDEN"] == "1" { try Data(text.utf8).write(to: file) }
        let expected = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let lines = zip(text.split(separator: "\n"), expected.split(separator: "\n"))
        let difference = lines.first { $0 != $1 }.map { "\($0) instead of \($1)" } ?? "another length"
        #expect(text == expected, "\(name): \(difference)")
    }

    private func read(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: folder + "/" + name) ?? Data(), as: UTF8.self)
    }

    // MARK: Help

    @Test func helpPages() throws {
        for command: any ParsableCommand.Type in [TalkieCommand.self] + TalkieCommand.configuration.subcommands {
            try expect(
                TalkieCommand.helpMessage(for: command, columns: 100) + "\n", in: "help-\(command._commandName).txt")
        }
    }

    // MARK: JSON

    private let shares = [
        LatencyLedger.Share("queue", 0, source: "reported", note: "a | \"b\""),
        LatencyLedger.Share("network", 1.25, uncertainty: 0.002, source: "measured", note: "note"),
    ]
    private let kitchen = OutputIdentity(
        key: "3EA790B32481", name: "Küche", query: "Küche", route: "buffered", address: "10.0.0.5")

    private var profile: LatencyProfile {
        var profile = LatencyProfile(
            key: .init(speaker: "3EA790B32481", screen: "TV", mode: "60-Hz full-screen", route: "buffered"),
            speakerName: "Küche")
        (profile.offset, profile.sigma, profile.halfWidth, profile.events) = (-81.25, 0.5, 0.25, 12)
        (profile.audioRest, profile.screenRest, profile.screenSource) = (-40, 41.25, "measured")
        (profile.way, profile.measuredAt, profile.shares) = (CalibrationMethod.light.rawValue, 1_795_345_467, shares)
        profile.room = .init(run: "1795345376-1", behindFirst: 12.125)
        return profile
    }

    private var answer: SpeakerAnswer {
        SpeakerAnswer(
            speaker: kitchen, offset: -2.5, sigma: 0.5, interval: -2.75 ... -2.25,
            readings: [
                .init(event: 0, time: 0, offset: -2.5), .init(event: 1, time: 1, offset: 90, rejection: "REASON"),
            ], drift: (1.5, 0.25), audioRest: 0.25, screenRest: 2.75, screenShare: .stated, behindFirst: 3,
            behindFirstHalfWidth: 0.125, isOffsetKnown: true)
    }

    private var roomAnswer: SpeakerAnswer {
        SpeakerAnswer(
            speaker: OutputIdentity(key: "sink-a", name: "Card", query: "local", route: "card"), offset: 0, sigma: 0,
            interval: 0...0, readings: [], audioRest: 0, screenRest: 0, screenShare: .unknown, isOffsetKnown: false)
    }

    private func calibrationRecord() throws -> CalibrationRecord {
        CalibrationRecord(
            run: "run", speakers: [kitchen],
            display: .init(name: "TV", mode: "60-Hz full-screen", statedDelay: .milliseconds(38)),
            events: [
                .init(speaker: 0, code: ChirpCode.all[3], isLong: true, due: instant(1), flashed: instant(1.002)),
                .init(speaker: 0, code: ChirpCode.all[0], isLong: false, due: instant(2)),
            ], shares: [shares])
    }

    private func listing(_ name: String, _ strings: [String]) throws -> SpeakerListing {
        let record = try TXTRecord(
            strings: (["model=Box", "srcvers=366.0"] + strings).map { Array($0.utf8) })
        let speaker = DiscoveredSpeaker(
            id: SpeakerID("02:00:00:00:00:01"), name: name, traits: SpeakerTraits(record),
            endpoints: [NetworkEndpoint(try #require(NetworkAddress("10.0.0.5")), port: 7000)])
        var listing = SpeakerListing(
            entry: SpeakerEntry.entries(of: [speaker])[0],
            decision: .decide(for: speaker, under: RouteConditions()), isPaired: true, hasPassword: true)
        listing.calibrations = [
            .init(route: "buffered", screen: "TV", mode: "60-Hz full-screen", offset: -81.25, text: "TEXT")
        ]
        return listing
    }

    @Test func jsonOutputs() throws {
        let ledger = LatencyLedger(speaker: "Küche", route: "buffered", stated: shares, profile: profile)
        let display = CalibrationRecord.Display(name: "TV", mode: "60-Hz full-screen")
        let box = try listing("Küche", ["features=0x405C4A00,0x5A340", "flags=0x4", "deviceid=02:00:00:00:00:01"])
        let restricted = try listing("TV", ["features=0x405C4A00,0x5A340", "flags=0x8"])
        let timeline = try recordTimeline()
        let recording = Recording(
            sampleRate: 48000, channels: [[0]], anchors: [.init(frame: 0, instant: start)])
        try expect(
            [
                ("latency --json", ledger.json.formatted),
                ("profile export", ProfileExchange.json([profile]).formatted),
                (
                    "calibrate --json",
                    CalibrationAnswer(way: .light, display: display, speakers: [answer], remarks: ["remark"])
                        .json(isStored: true).formatted
                ),
                (
                    "calibrate --json, several speakers",
                    CalibrationAnswer(way: .differences, speakers: [roomAnswer, answer]).json(isStored: false).formatted
                ),
                ("calibrate --emit", try calibrationRecord().json.formatted),
                ("calibrate, times of a recording", RecordingSidecar.text(recording)),
                ("report --json", try TimelineReport(reading: timeline).json.formatted),
                (
                    "doctor --json",
                    Doctor.json([Finding("display", .good, "text"), Finding("ports", .missing, "text", remedy: "do")])
                        .formatted
                ),
                ("speakers --json", SpeakerListing.json([box, restricted], note: "note")),
                ("speakers --json, none", SpeakerListing.json([], note: nil)),
                (
                    "speakers --watch --json",
                    [ListingChange.appeared(box), .changed(box), .vanished(box)].map { $0.json }.joined()
                ),
                ("speaker --output, times", try recordedTimes()),
            ].map { "== talkie \($0.0)\n\($0.1)" }.joined(), in: "json.txt")
    }

    /// The times beside a recording; those of the wall clock are set to 0.
    private func recordedTimes() throws -> String {
        let file = try WAVFile(path: folder + "/a.wav", sampleRate: 8000)
        file.finish(frames: DeviceFrame(8000), origin: start)
        return read("a.wav.json").replacing(/(realtime_ns":)\d+/) { "\($0.output.1)0" }
            .replacing(/\[(\d+),\d+,(\d+)\]/) { "[\($0.output.1),0,\($0.output.2)]" }
    }

    // MARK: Timeline

    /// Writes each event and remark once, and returns the path.
    private func recordTimeline() throws -> String {
        let path = folder + "/t.jsonl"
        let route = OutputID(0)
        let time = MediaTime(value: 25, timescale: 24)
        var writer = TimelineWriter(file: try TimelineFile(creating: path), at: start)
        let remarks: [TimelineRemark] =
            [
                .film("a \"film\".mkv"), .gaplessBoundary(name: "b.mkv", at: time, origin: .zero),
                .loop(at: time, origin: .zero),
                .audioDelay(.milliseconds(-80)), .screen("fixed 60.000 Hz"),
                .calibration(index: 0, correction: .milliseconds(81), isExact: true),
                .calibration(index: 0, correction: .milliseconds(81), isExact: false), .share(index: 0, shares[1]),
            ]
            + [AudioRouteKind.soundCard, .bufferedSpeaker, .realtimeSpeaker, .group].enumerated().map {
                .route(index: $0, name: "Küche", kind: $1.rawValue)
            }
            + [PlayerState.Phase.idle, .opening, .buffering, .playing, .paused, .ended, .failed].map {
                .phase($0.rawValue)
            }
        for remark in remarks { writer.write(remark, at: start) }
        let causes: [OutputWait.Cause] = [.opening, .clock, .ownDelay, .audio, .video, .material]
        let events: [RenderEvent] =
            [
                .anchor(media: .zero, host: instant(1), rate: 1, generation: 7),
                .audioHeard(media: .zero, host: instant(1), output: route),
                .speakerAnchored(
                    media: .zero, host: instant(1), clock: PTPInstant(nanoseconds: 7), output: route),
                .latency(delay: .milliseconds(90), output: route),
                .audioAccepted(until: time, ahead: .seconds(1), output: route),
                .audioDrift(error: .microseconds(250), correctionPPM: -1.5, output: route),
                .frame(pts: time, target: instant(1.5), presented: instant(1.502)),
                .audioDrift(error: .microseconds(250), correctionPPM: 2, output: route),
                .framesDropped(count: 2, at: time, reason: .late),
                .framesDropped(count: 3, at: time, reason: .skippedDecoding),
                .steered(media: time, host: instant(2), rate: 1.0001, speed: 1, late: .microseconds(10)),
                .resumed(after: .seconds(60)), .underrun(missing: .milliseconds(5), output: route),
                .outputLost(output: route), .outputRestored(output: route), .outputMoved(output: route),
                .outputJoined(output: OutputID(1), media: time, host: instant(2)),
                .outputLeft(output: route, media: time, host: instant(2)),
            ] + causes.map { .startWaits(cause: $0, output: route) } + [.startWaits(cause: .video, output: nil)]
            + SpeakerClockState.allCases.map { .clock(state: $0, output: route) }
        let log = EventLog(clock: MonotonicClock())
        for (number, event) in events.enumerated() {
            log.append(event, at: instant(1 + Double(number) / 10))
            if let entry = log.removeFirst() { writer.write(entry) }
        }
        writer.write(lost: 4, at: instant(9))
        writer.finish(at: instant(10))
        return path
    }

    @Test func timelineLines() throws {
        _ = try recordTimeline()
        try expect(read("t.jsonl"), in: "timeline.jsonl")
    }

    @Test func speakerRecordLines() throws {
        let events: [SpeakerEvent] = [
            .connected(from: "10.0.0.1"), .disconnected(from: "10.0.0.1", reason: "REASON"),
            .request(method: "GET", target: "/info", status: 200),
            .stream(.buffered, format: "AAC", sampleRate: 44100), .stream(.realtime, format: "ALAC", sampleRate: 44100),
            .clock(locked: true, offset: .nanoseconds(-5), grandmaster: 0xA0),
            .clock(locked: false, offset: .zero, grandmaster: nil),
            .anchor(
                position: RTPTimestamp(rawValue: 9), instant: PTPInstant(nanoseconds: 8), host: start, clock: 0xA0),
            .anchor(position: RTPTimestamp(rawValue: 9), instant: PTPInstant(nanoseconds: 8), host: nil, clock: nil),
            .paused, .flushed(from: 3, until: 4), .flushed(from: nil, until: 4), .volume(-12.5),
            .metadata(kind: "KIND", bytes: 5), .track(title: "a \"title\"", artist: "", album: "", duration: nil),
            .track(title: "TITLE", artist: "ARTIST", album: "ALBUM", duration: .seconds(60)),
            .progress(
                start: RTPTimestamp(rawValue: 1), now: RTPTimestamp(rawValue: 2), end: RTPTimestamp(rawValue: 3)),
            .late(packets: 1), .lost(packets: 2), .resendRequested(first: 7, count: 2), .damaged(reason: "REASON"),
            .underrun, .pressed(command: "paus"), .takenOver, .tornDown,
            .notAnnounced(reason: "REASON"), .died,
        ]
        let journal = try RecordJournal(path: folder + "/r.jsonl")
        for event in events { journal.write(event, at: start) }
        journal.write(
            HeardSpan(position: RTPTimestamp(rawValue: 9), frames: 352, instant: start, sampleRate: 44100))
        try expect(read("r.jsonl"), in: "speaker-record.jsonl")
    }

    // MARK: Kiosk

    private var health: KioskHealth {
        var health = KioskHealth(
            at: start, shown: .playing, uptime: .seconds(3600.5),
            configuration: .init(loaded: WallTime(seconds: 1_700_000_000)))
        (health.sinceFrame, health.sinceAudio) = (.milliseconds(20), .milliseconds(90))
        (health.offset, health.skew) = (.microseconds(-1250), .microseconds(300))
        (health.frames, health.dropped, health.restarts, health.skippedItems) = (90_000, 3, 1, 2)
        health.degradations = ["DEGRADED"]
        var hall = KioskHealth.Output("Hall")
        (hall.error, hall.buffered, hall.underruns, hall.clock) = (.microseconds(-100), .seconds(1.5), 2, .ready)
        var foyer = KioskHealth.Output("Foyer")
        foyer.isConnected = false
        health.outputs = [hall, foyer]
        for stage in RepairLadder.Stage.allCases { health.repairs["\(stage)"] = 1 }
        health.item = .init("a.mp4", index: 3, began: WallTime(seconds: 1_700_000_100), position: .zero)
        health.configuration.refusals = 1
        return health
    }

    @Test func metrics() throws {
        let shown: [KioskHealth.Shown] = [
            .playing, .waiting("the network: 'a.mp4'"), .paused, .slate, .off("REASON"), .nothing("REASON"),
        ]
        var text = MetricsText.metrics(health, at: start)
        for shown in shown {
            var health = health
            health.shown = shown
            let answer = MetricsText.healthz(health, at: start)
            text += "== /healthz: \(answer.status) \(answer.text)"
        }
        try expect(text, in: "metrics.txt")
    }

    @Test func mqttTopicsAndMessages() throws {
        var fleet = KioskConfiguration.Fleet(host: "10.0.0.2", name: "hall")
        fleet.prefix = "house/talkie"
        let topics = FleetTopics(fleet)
        var state = KioskStateMessage()
        (state.release, state.phase, state.title, state.item, state.items) = ("1.0", "playing", "Title", 2, 3)
        (state.position, state.duration) = (MediaTime(value: 5, timescale: 2), MediaTime(value: 60, timescale: 1))
        (state.dayPeriod, state.speakers, state.volume) = ("morning", ["Hall"], 40)
        (state.clock, state.wallOffset) = (WallStanding.synchronised.rawValue, .microseconds(-1500))
        (state.uptime, state.repairs, state.problems) = (.seconds(3600), 1, ["PROBLEM"])
        var again = FleetAnswer(id: "1", isDone: true, detail: "WORDS")
        again.isRepeated = true
        let clocks: [WallStanding] = [.unknown, .synchronised, .remembered, .system]
        try expect(
            """
            \(topics.state) \(state.json)
            \(topics.state) \(KioskStateMessage().json)
            \(topics.online) 1
            \(topics.answer) \(FleetAnswer(id: nil, isDone: false, detail: "WORDS").json)
            \(topics.answer) \(again.json)
            \(topics.command) \(FleetCommand.names.joined(separator: " "))
            \(topics.commandToAll)
            clock: \(clocks.map(\.rawValue).joined(separator: " "))

            """, in: "mqtt.txt")
    }

    @Test func journalFields() throws {
        let lines = Lock<[String]>([])
        let journal = try ServiceJournal(identifier: "talkie") { fields in
            lines.withLock { $0.append(fields.joined(separator: " ")) }
        }
        for event in KioskNote.Event.allCases {
            journal.write(.warning, "Sentence.", KioskNote(event, item: "a.mp4", stage: "STAGE"))
        }
        journal.close()
        try expect(lines.withLock { $0 }.joined(separator: "\n") + "\n", in: "journal.txt")
    }

    // MARK: State

    @Test func stateFiles() throws {
        let state = StateFolder(path: folder + "/talkie")
        var identity = StateRecord(kind: InstallationIdentity.kind, version: InstallationIdentity.version)
        identity["number"] = "0123456789ABCDEF"
        identity["seed"] = String(repeating: "5A", count: 32)
        try state.write(InstallationIdentity.file, identity.encoded())
        let speaker = try #require(SpeakerID("3EA790B32481"))
        try PairingStore(state, identity: InstallationIdentity.load(from: state).identity).store(
            SpeakerCredentials(
                accessory: PairedAccessory(identifier: Array("box".utf8), publicKey: .init(repeating: 7, count: 32)),
                password: "secret"), for: speaker,
            SpeakerContact(name: "Küche", address: SpeakerAddress("airplay://10.0.0.5"), query: .name("Kitchen")))
        try RouteStore(state).remember(
            RouteMemory(
                route: .buffered, role: .follower, isRoleOfGroup: false, hasProbed: true, sourceVersion: "366.0"),
            of: speaker)
        try ProfileStore(state).store([profile])
        #expect(
            SoftwareSpeakerStore(name: "Küche", folder: state).write(
                .init(
                    seed: .init(repeating: 1, count: 32),
                    senders: [.init(name: Array("BA04".utf8), key: .init(repeating: 2, count: 32))])) == nil)
        _ = try RouteHistory(state).append(.init(folder: 12345, hour: 20, minutes: 90, routes: ["card", "A1:B2"]))
        try ResumePositionStore(state).store(
            MediaTime(value: 90, timescale: 1), of: try #require(FilmKey(kept: "0123456789ABCDEF")))
        let places = KioskResumePositions(state, configuration: "/no/such/hall.toml") { _ in }
        try places.start()
        places.scheduleWrite(
            .init(
                position: .init(address: "https://example.org/a.mp4?b", position: MediaTime(value: 5, timescale: 2)),
                starts: 3, hasEndedWell: false))
        places.stop()
        var crashes = CrashHistory()
        crashes.recordOpening(CrashHistory.key(of: "a.mp4"), edition: "1 2 3")
        _ = crashes.begin(at: WallTime(seconds: 1_700_000_000), afterCrash: true)
        crashes.recordOpening(CrashHistory.key(of: "b.mp4"), edition: "4 5 6")
        try state.write("kiosk-items", crashes.record.encoded())
        let files = (FileManager.default.enumerator(atPath: state.path)?.allObjects as? [String] ?? []).filter {
            (try? FileManager.default.contentsOfDirectory(atPath: "\(state.path)/\($0)")) == nil
        }
        let texts = files.sorted().map { "== \($0)\n" + read("talkie/\($0)") }
        try expect(texts.joined(), in: "state.txt")
    }
}
