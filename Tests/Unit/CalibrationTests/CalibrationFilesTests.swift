import MediaCore
import ScreenOutput
internal import SyncRendering
import Testing

@testable import Calibration
@testable import Profiles
@testable import Storage

@Suite struct CalibrationFilesTests {
    @Test func whatWasPlayedIsReadBackWhole() throws {
        var record = SyntheticRoom(speakers: 2).record
        record.events[3].flashed = nil
        record.display?.statedDelay = .milliseconds(38)
        record.shares = [[LatencyLedger.Share("queue", 1, source: "reported", note: "\"a\"\n")], []]
        let read = try CalibrationRecord(reading: Array(record.json.formatted.utf8))
        #expect(read.events == record.events)
        #expect(read.speakers == record.speakers)
        #expect(read.display == record.display)
        #expect(read.run == record.run)
    }

    @Test(arguments: [
        "", "{", "{}", "[1]", "{\"talkie_calibration_events\":1}", "{\"talkie_calibration_events\":2,\"events\":[]}",
        "{\"talkie_calibration_events\":1,\"speakers\":[{\"key\":\"../x\",\"name\":\"\",\"route\":\"\"}],\"events\":[]}",
        "{\"talkie_calibration_events\":1,\"speakers\":[{\"key\":\"A\",\"name\":\"A\",\"route\":\"card\"}],\"events\":[{\"speaker\":9,\"sound\":{\"code\":0,\"host_ns\":1},\"flash\":{}}]}",
        "{\"talkie_calibration_events\":1,\"speakers\":[{\"key\":\"A\",\"name\":\"A\",\"route\":\"card\"}],\"events\":[{\"speaker\":0,\"sound\":{\"code\":0,\"host_ns\":1},\"flash\":{}},{\"speaker\":0,\"sound\":{\"code\":0,\"host_ns\":4611686018427387904},\"flash\":{}}]}",
    ])
    func whatIsNoEventsFileIsRefusedWithASentence(text: String) {
        #expect(throws: FileFailure.self) { try CalibrationRecord(reading: Array(text.utf8)) }
    }

    @Test(arguments: [(1, 16), (1, 24), (1, 32), (3, 32)])
    func samplesOfEveryUsualKindAreRead(tag: Int, bits: Int) throws {
        let values: [Float] = [0, 0.5, -0.5, 0.25]
        var bytes = Array("RIFF\0\0\0\0WAVEfmt ".utf8)
        bytes.append(littleEndian: UInt32(16))
        bytes.append(littleEndian: UInt16(tag))
        bytes.append(littleEndian: UInt16(1))
        bytes.append(littleEndian: UInt32(44100))
        bytes.append(littleEndian: UInt32(44100 * bits / 8))
        bytes.append(littleEndian: UInt16(bits / 8))
        bytes.append(littleEndian: UInt16(bits))
        bytes += Array("LIST".utf8)
        bytes.append(littleEndian: UInt32(3))
        bytes += [1, 2, 3, 0]
        bytes += Array("data".utf8)
        bytes.append(littleEndian: UInt32(values.count * bits / 8))
        for value in values {
            switch (tag, bits) {
            case (3, _): bytes.append(littleEndian: value.bitPattern)
            case (_, 16): bytes.append(littleEndian: UInt16(bitPattern: Int16(value * 32767)))
            case (_, 24):
                let raw = UInt32(bitPattern: Int32(value * 8_388_607))
                bytes += [UInt8(raw & 255), UInt8(raw >> 8 & 255), UInt8(raw >> 16 & 255)]
            default: bytes.append(littleEndian: UInt32(bitPattern: Int32(Double(value) * 2_147_483_647)))
            }
        }
        let recording = try WaveFile.read(bytes)
        #expect(recording.sampleRate == 44100)
        #expect(zip(recording.channels[0], values).allSatisfy { abs($0 - $1) < 1e-4 })
        // Any truncation is read as far as possible or rejected, without traps.
        for end in bytes.indices { _ = try? WaveFile.read(Array(bytes[..<end])) }
    }

    @Test func aRecordingOfOursIsReadBack() throws {
        let recording = SyntheticRoom(events: 10).recording()
        var read = try WaveFile.read(WaveFile.bytes(recording))
        let sidecar = try #require(RecordingSidecar.read(Array(RecordingSidecar.text(recording).utf8)))
        read.anchors = sidecar.anchors
        #expect(read.channels == recording.channels)
        #expect(read.anchors == recording.anchors)
        #expect(sidecar.sampleRate == 48000)
    }

    @Test func theLabsSidecarIsUnderstood() throws {
        let text = """
            {"wav": "a.wav", "rate": 48000, "sample_rate": 48000, "channels": 2, "points": [[0, 1, 2], [3, 4, 5]],
             "anchors": [{"frame": 0, "realtime_ns": 5, "monotonic_ns": 1000}, {"frame": 48000.5, "monotonic_ns": 1000001000}]}
            """
        let content = try #require(RecordingSidecar.read(Array(text.utf8)))
        #expect(content.sampleRate == 48000)
        #expect(content.anchors.map(\.frame) == [0, 48001])
    }

    @Test func aRecordersJitterAndOneWildAnchorDoNotMoveItsClock() throws {
        var recording = SyntheticRoom(events: 10).recording()
        var numbers = SeededNumbers(state: 5)
        for index in recording.anchors.indices {
            let jitter = Int64.random(in: -40_000...40_000, using: &numbers)
            recording.anchors[index].instant = recording.anchors[index].instant.advanced(by: .nanoseconds(jitter))
        }
        recording.anchors[4].instant = recording.anchors[4].instant.advanced(by: .milliseconds(80))
        let clock = try #require(RecordingClock(recording))
        let room = SyntheticRoom(events: 10)
        #expect(abs(clock.nanoseconds(of: 240_000, since: room.origin.advanced(by: .seconds(5)))) < 40_000)
        #expect(abs(clock.rate - 48000) < 0.5)
    }

    @Test func aDisplaysStatedLatencyIsFoundInItsWords() throws {
        var bytes = [UInt8](repeating: 0, count: 256)
        bytes.replaceSubrange(0..<8, with: [0, 255, 255, 255, 255, 255, 255, 0])
        bytes.replaceSubrange(72..<90, with: [0, 0, 0, 0xFC, 0] + Array("LG TV\n       ".utf8))
        bytes[126] = 1
        bytes[128] = 2
        bytes[130] = 20
        // A vendor block of ten bytes: HDMI's number, address, flags, clock, latencies present, 26 → 50 ms, 31 → 60 ms.
        bytes.replaceSubrange(132..<143, with: [0x6A, 0x03, 0x0C, 0, 0x10, 0, 0, 0, 0x80, 26, 31])
        let display = try #require(DisplayIdentification(bytes))
        #expect(display.name == "LG TV")
        #expect(display.videoLatency == .milliseconds(50))
        bytes[141] = 0
        #expect(try #require(DisplayIdentification(bytes)).videoLatency == nil)
        for end in bytes.indices { _ = DisplayIdentification(Array(bytes[..<end])) }
    }

    @Test(
        arguments: [
            // Preferred timing, IT formats, CE formats: two bits each.
            (0b00_01_00_00, true), (0b00_00_00_01, true), (0b00_10_00_01, false), (0b00_11_00_01, false),
            (0b00_00_01_00, false), (0b00_00_00_00, false), (0b00_00_00_10, false),
        ] as [(UInt8, Bool)]) func aDisplayStatesWhetherItHidesTheEdges(flags: UInt8, isOverscanning: Bool) throws
    {
        var bytes = [UInt8](repeating: 0, count: 256)
        bytes.replaceSubrange(0..<8, with: [0, 255, 255, 255, 255, 255, 255, 0])
        bytes[126] = 1
        bytes.replaceSubrange(128..<132, with: [2, 3, 9, 0])
        // Preceded by an audio block of one byte.
        bytes.replaceSubrange(132..<137, with: [0x21, 0x09, 0xE2, 0, flags])
        #expect(try #require(DisplayIdentification(bytes)).isOverscanning == isOverscanning)
        for end in bytes.indices { _ = DisplayIdentification(Array(bytes[..<end])) }
    }

    // MARK: Eye and ear

    @Test func whatAFingerIsLateByCancelsOutBetweenBothSides() throws {
        // The outputs add 70 ms. An observer who starts from late presses 20 ms of drift after the match, and likewise
        // from early.
        let judgement = try #require(EyeAndEarJudgement(late: [-92, -88], early: [-52, -48]))
        #expect(abs(judgement.offset - 70) < 1e-9)
        #expect(abs(judgement.hysteresis - 20) < 1e-9)
        #expect(judgement.sigma < 4)
        #expect(EyeAndEarJudgement(late: [1], early: [2, 3]) == nil)
    }

    @Test func aPassageLeadsFromOneSideThroughTheMatchToTheOther() {
        let trial = EyeAndEarTrial.fine(around: -70, fromLate: true)
        let plan = trial.plan
        #expect(plan.events.first?.audioDelay == .milliseconds(80))
        #expect(plan.events.last?.audioDelay == .milliseconds(-220))
        #expect(abs(trial.delay(at: plan.events[15].time) + 70) < 1e-6)
        #expect(plan.duration.duration < .seconds(60))
    }

    @Test func aPressThatComesTooSoonIsAskedForAgain() throws {
        let trial = EyeAndEarTrial.coarse(fromLate: true)
        let flashes = trial.plan.events.map(\.time)
        var guide = EyeAndEarGuide(passage: 2, of: 6)
        let asking = guide.text
        #expect(asking.contains("Passage 2 of 6") && asking.contains("SPACE"))
        // Before the passage, before its first flash, and after only two flashes.
        for time in [nil, .zero, flashes[0], flashes[1]] {
            let answer = guide.evaluate(pressAt: time, in: trial)
            #expect(answer == nil)
            #expect(guide.text.hasSuffix(asking) && guide.text.contains("Too early"))
        }
        let answer = guide.evaluate(pressAt: flashes[20], in: trial)
        #expect(answer == trial.delay(at: flashes[20]))
        #expect(EyeAndEarGuide.warning.contains("flash"))
    }

    // MARK: Plan and answer

    @Test(arguments: 1...4)
    func everyRunHasEnoughEventsAndEndsWithinAMinute(speakers: Int) {
        for seed in 0..<20 {
            var numbers = SeededNumbers(state: UInt64(seed))
            let plan = StimulusPlan(speakers: speakers, perSpeaker: 12, using: &numbers)
            #expect(plan.duration.duration <= .seconds(60))
            for speaker in 0..<speakers { #expect(plan.events.count { $0.speaker == speaker } >= 10) }
            let gaps = zip(plan.events, plan.events.dropFirst()).map { ($1.time - $0.time).seconds }
            #expect(gaps.allSatisfy { $0 > 0.7 })
            #expect(Set(gaps).count > gaps.count / 2)
        }
    }

    @Test func theAnswerHasTheKeysThatScriptsRead() throws {
        let text = try SyntheticRoom().answer().json(isStored: true).formatted
        for key in [
            "offset_ms", "sigma_ms", "ci95_ms", "events_used", "events_rejected", "drift_ppm", "verdict", "stored",
        ] { #expect(text.contains("\"\(key)\":")) }
        let svg = CalibrationPlot(answer: try SyntheticRoom(speakers: 2).answer()).svg
        #expect(svg.hasPrefix("<svg") && svg.contains("<circle"))
    }

    @Test(arguments: [(0, "good"), (-16, "unnoticed"), (60, "unnoticed"), (130, "noticeable"), (-95, "unacceptable")])
    func offsetsAreJudgedByWhatTheRecommendationsSay(offset: Double, word: String) {
        #expect(LipSyncVerdict(offset: offset).name == word)
    }
}
