import MediaCore
import Profiles
import SyncRendering
import Testing

@testable import Calibration

/// A camera that films a `SyntheticRoom`: its microphone's recording without host times, and the light of its frames.
private struct SyntheticCamera {
    var room: SyntheticRoom
    var framesPerSecond = 30.0
    /// Seconds.
    var exposure = 0.02
    /// Cells that show the screen: eight rows, which a rolling shutter would light one after the other.
    var cells = (3..<11).flatMap { row in (4..<8).map { row * FilmedLight.columns + $0 } }
    /// Events that something covers.
    var covered: Set<Int> = []

    init(_ room: SyntheticRoom) {
        self.room = room
        // A display without a refresh rate: the phases of the frames differ.
        self.room.record.display = CalibrationRecord.Display(name: "TV", mode: "unpaced window")
    }

    func film() -> FilmedLight {
        var film = FilmedLight()
        let flashes = room.record.events.map { event in
            let on = (event.flashed! - room.origin).inSeconds
            return (on, on + event.flashLength.inSeconds)
        }
        let end = flashes.last!.1 + 1
        for number in 0..<Int(end * framesPerSecond) {
            let time = Double(number) / framesPerSecond
            var light = [Float](repeating: 0.1, count: FilmedLight.cellCount)
            var share = 0.0
            for (index, flash) in flashes.enumerated() where !covered.contains(index) {
                share += max(0, min(time + exposure, flash.1) - max(time, flash.0)) / exposure
            }
            for cell in cells { light[cell] = Float(0.05 + 0.6 * share) }
            film.append(light, at: time)
        }
        return film
    }

    func recording() -> Recording {
        var recording = room.recording()
        (recording.anchors, recording.film) = ([], film())
        return recording
    }

    func answer(_ references: [Int: LatencyProfile] = [:]) throws -> CalibrationAnswer {
        var analysis = CalibrationAnalysis(recording: recording(), record: room.record)
        analysis.references = references
        return try analysis.answer()
    }
}

@Suite struct FilmedRunTests {
    private func refusal(_ recording: Recording, _ record: CalibrationRecord) -> String {
        do {
            _ = try CalibrationAnalysis(recording: recording, record: record).answer()
            return "measured"
        } catch {
            return error.message
        }
    }

    @Test func theFlashesOfAVideoReplaceItsHostTimes() throws {
        var room = SyntheticRoom(events: 10)
        room.delays = [87]
        let answer = try SyntheticCamera(room).answer()
        let speaker = answer.speakers[0]
        #expect(answer.way == .video)
        #expect(speaker.screenShare == .inside)
        // Frames were shown 0.4 ms late.
        let width = try #require(speaker.randomHalfWidth)
        #expect(abs(speaker.offset - 86.6) < min(2, width), "\(speaker.offset) ± \(width)")
        // The phone's own offset and a metre of air.
        #expect(speaker.sigma > 20 && speaker.sigma < 25)
        #expect(speaker.interval.upperBound - speaker.interval.lowerBound > 78)
    }

    @Test func aCalibratedSpeakerInTheVideoIsTheReferenceOfTheOthers() throws {
        var room = SyntheticRoom(speakers: 2, events: 10)
        // The camera adds 25 ms.
        room.delays = [95, 37.5]
        room.record.speakers[1].route = OutputIdentity.cardRoute
        let camera = SyntheticCamera(room)
        var stored = LatencyProfile(
            key: .init(speaker: "A1", screen: "TV", mode: "unpaced window", route: "card"), speakerName: "Room 1")
        (stored.offset, stored.halfWidth, stored.audioRest, stored.screenRest) = (12.5, 0.5, 20, 7.5)
        stored.screenSource = "measured"
        let answer = try camera.answer([1: stored])
        #expect(answer.reference == 1)
        #expect(abs(answer.speakers[0].offset - 70) < 0.1)
        #expect(abs(answer.speakers[1].offset - 12.5) < 1e-9)
        let interval = answer.speakers[0].interval
        #expect((interval.upperBound - interval.lowerBound) / 2 < 0.6)
        #expect(abs(answer.speakers[0].audioRest - 77.5) < 0.1)
        #expect(answer.remarks.contains { $0.contains("'Room 1' is the reference") })
        #expect(abs(try #require(answer.speakers[1].behindFirst) + 57.5) < 0.1)
    }

    /// Frames of 60 per second that all begin at one phase of a display of 60 Hz, with an exposure of a tenth: the
    /// instant of a flash is known to a frame only.
    @Test func aCameraInStepWithTheDisplayHasAWideInterval() throws {
        var room = SyntheticRoom(events: 10)
        for index in room.record.events.indices {
            let since = (room.record.events[index].due - room.origin).inSeconds
            let refresh = (since * 60).rounded() / 60 + 0.009
            room.record.events[index].flashed = room.origin.advanced(by: .nanoseconds(Int64(refresh * 1e9)))
        }
        var camera = SyntheticCamera(room)
        (camera.framesPerSecond, camera.exposure) = (60, 0.0016)
        let speaker = try camera.answer().speakers[0]
        let width = try #require(speaker.randomHalfWidth)
        #expect(width > 4)
        #expect(abs(speaker.offset + 0.4) < width + 9)
    }

    @Test func aVideoWithHostTimesMeasuresTheScreenToo() throws {
        var room = SyntheticRoom(events: 10)
        room.delays = [60]
        var camera = SyntheticCamera(room)
        let anchors = room.recording().anchors
        // The light is 20 ms later than the system's report.
        var recording = camera.recording()
        for index in camera.room.record.events.indices {
            camera.room.record.events[index].flashed = camera.room.record.events[index].flashed?.advanced(
                by: .milliseconds(-20))
        }
        recording.anchors = anchors
        let answer = try CalibrationAnalysis(recording: recording, record: camera.room.record).answer()
        #expect(answer.speakers[0].screenShare == .measured)
        #expect(abs(answer.speakers[0].audioRest - 60) < 0.1)
        #expect(abs(answer.speakers[0].offset - 59.6) < 2)
    }

    @Test func whatIsNoVideoOfTheRunIsNamed() throws {
        var room = SyntheticRoom(events: 10)
        room.delays = [20]
        var camera = SyntheticCamera(room)
        let whole = camera.recording()
        // Without flashes.
        camera.covered = Set(0..<10)
        var dark = whole
        dark.film = camera.film()
        #expect(refusal(dark, camera.room.record).contains("flashes are not visible"))
        // Too few frames.
        camera.framesPerSecond = 12
        dark.film = camera.film()
        #expect(refusal(dark, camera.room.record).contains("12 frames per second"))
        // A cut: two seconds are missing in the middle.
        var cut = whole
        let (start, end) = (whole.frames / 2, whole.frames / 2 + 2 * whole.sampleRate)
        cut.channels[0].removeSubrange(start..<end)
        #expect(refusal(cut, camera.room.record).contains("has a cut near"))
        // Slow motion.
        var slow = whole
        slow.sampleRate = 48000
        slow.channels[0] = (0..<whole.frames * 4).map { index in
            let place = index / 4
            let share = Float(index % 4) / 4
            let next = whole.channels[0][min(place + 1, whole.frames - 1)]
            return whole.channels[0][place] * (1 - share) + next * share
        }
        #expect(refusal(slow, camera.room.record).contains("slow motion (4 times)"))
        // A run without a picture.
        var blind = camera.room.record
        blind.display = nil
        #expect(refusal(whole, blind).contains("had no picture"))
    }

    @Test func correctionsAndEndsOfFlashesAreReadBack() throws {
        var record = SyntheticRoom(speakers: 2).record
        record.corrections = [-81.25, 3]
        record.events[0].darkened = record.events[0].due.advanced(by: .milliseconds(101))
        let read = try CalibrationRecord(reading: Array(record.json.formatted.utf8))
        #expect(read.corrections == [-81.25, 3])
        #expect(read.events == record.events)
    }
}
