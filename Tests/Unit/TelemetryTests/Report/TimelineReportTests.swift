import Foundation
import MediaCore
import TalkieTestKit
import Testing

@testable import Telemetry

@Suite struct TimelineReportTests {
    @Test func aKnownOffsetIsFoundWithItsSign() throws {
        var timeline = SyntheticTimeline()
        timeline.head()
        timeline.start(at: 1)
        timeline.play(from: 1, to: 31, pictureMs: 2) { _ in 7 }
        let report = try TimelineReport(text: timeline.text)
        let route = try #require(report.routes.first)
        // Audio 7 ms late and video 2 ms late: audio is 5 ms later than video.
        #expect(route.offset.quantities.quantiles([0.05, 0.5, 0.95]) == [5, 5, 5])
        #expect(route.offset.quantities.worst == 5)
        #expect(route.offset.quantities.count == 750)
        #expect(route.offset.unmatched == 0)
        #expect(report.videoError.quantiles([0.5]) == [2])
        #expect(route.error.quantiles([0.5]) == [7])
        #expect(report.frames == 750 && report.garbageLines == 0)
        #expect(report.text.contains("claimed"))
        #expect(report.text.contains("positive when sound is later than picture"))
        #expect(report.text.contains("offset    median +5.000 ms"))
    }

    @Test func aTimelineWhoseNameIsNotUTF8IsWrittenAndRead() throws {
        let folder = TemporaryFolder()
        let name = folder.path(FileName.text([0x63, 0x61, 0x66, 0xE9]))
        let now = HostInstant(nanoseconds: 1)
        var writer = TimelineWriter(file: try TimelineFile(creating: name), at: now)
        writer.finish(at: now)
        #expect(access(name.systemPath, F_OK) == 0)
        _ = try TimelineReport(reading: name)
    }

    @Test func aDriftIsFoundAndReadingsInBetweenAreInterpolated() throws {
        var timeline = SyntheticTimeline()
        timeline.start(at: 0)
        timeline.play(from: 0, to: 600, pictureMs: 0) { $0 / 60 * 0.3 }
        let report = try TimelineReport(text: timeline.text)
        let route = try #require(report.routes.first)
        let slope = try #require(route.offset.trend.slope(over: 10))
        #expect(abs(slope * 60 - 0.3) < 1e-6)
        // If values were held instead of interpolated, the median would be half a second's drift (2.5 µs) lower.
        let median = try #require(route.offset.quantities.quantiles([0.5])?.first)
        #expect(abs(median - 1.5) < 0.0015)
        #expect(report.text.contains("drifts +0.300 ms a minute"))
    }

    @Test func aRouteThatJoinsOrLeavesIsComparedOnlyWithThePicturesOfItsOwnTime() throws {
        var timeline = SyntheticTimeline()
        timeline.head()
        timeline.add("route", at: 0, #""route":0,"state":"opened","name":"card","kind":"soundCard""#)
        timeline.start(at: 0)
        timeline.play(from: 0, to: 10, pictureMs: 1) { _ in 1 }
        timeline.add(
            "route", at: 9.9, #""route":1,"state":"joined","film":10,"anchor_ns":\#(timeline.instant(10))"#)
        timeline.add("route", at: 9.9, #""route":0,"state":"left","film":10,"anchor_ns":\#(timeline.instant(10))"#)
        timeline.add("route", at: 9.95, #""route":1,"state":"opened","name":"Kitchen","kind":"bufferedSpeaker""#)
        for second in 10..<20 {
            timeline.drift(at: Double(second), errorMs: 5, route: 1)
            for index in 0..<25 { timeline.frame(due: Double(second) + Double(index) / 25, lateMs: 1) }
        }
        timeline.drift(at: 20, errorMs: 5, route: 1)
        let report = try TimelineReport(text: timeline.text)
        #expect(report.routes.map(\.name) == ["card", "Kitchen"])
        #expect(report.routes[0].offset.quantities.count == 250 && report.routes[0].offset.quantities.worst == 0)
        #expect(report.routes[1].offset.quantities.count == 250)
        #expect(report.routes[1].offset.quantities.quantiles([0.5]) == [4])
        #expect(report.routes.allSatisfy { $0.offset.unmatched == 0 })
        #expect(report.text.contains("change    'Kitchen' is heard from 00:10 of the film"))
        #expect(report.text.contains("change    'card' is silent from 00:10 of the film"))
        #expect(report.garbageLines == 0)
    }

    @Test func aStallAndASeekDoNotChangeTheOffset() throws {
        var timeline = SyntheticTimeline()
        timeline.start(at: 0, rate: 0)
        // Presented while film time is stopped: due at any time.
        timeline.frame(due: 0.1, lateMs: 400)
        timeline.start(at: 1, announced: 0.6)
        timeline.frame(due: 0.7, lateMs: 100)
        timeline.play(from: 1, to: 11, pictureMs: 0) { _ in 1 }
        timeline.start(at: 11.5, rate: 0)
        timeline.frame(due: 12, lateMs: 900)
        timeline.start(at: 20, film: 300)
        timeline.play(from: 20, to: 30, pictureMs: 0) { _ in 3 }
        let report = try TimelineReport(text: timeline.text)
        let route = try #require(report.routes.first)
        #expect(report.frames == 503)
        #expect(route.offset.quantities.count == 500)
        #expect(route.offset.quantities.quantiles([0.25, 0.75]) == [1, 3])
        #expect(route.offset.quantities.worst == 3)
        #expect(report.runningAnchors == 2)
        #expect(report.text.contains("2 starts, 1 re-anchor"))
    }

    @Test func theFirstStartIsATableOfItsPhases() throws {
        var timeline = SyntheticTimeline()
        timeline.head()
        timeline.add("route", at: 0, #""route":1,"state":"opened","name":"Kitchen","kind":"bufferedSpeaker""#)
        timeline.add("state", at: 0.1, #""phase":"opening""#)
        timeline.add("wait", at: 0.125, #""cause":"picture""#)
        timeline.add("wait", at: 0.15, #""cause":"opening","route":1"#)
        timeline.add("wait", at: 0.25, #""cause":"clock","route":1"#)
        // Announced, withdrawn and announced again.
        timeline.start(at: 1.5, announced: 1)
        timeline.add("wait", at: 1.25, #""cause":"clock","route":1"#)
        timeline.start(at: 2, announced: 1.5)
        timeline.play(from: 2, to: 12, pictureMs: 0) { _ in 0 }
        // A later start is another one.
        timeline.start(at: 12, rate: 0)
        timeline.add("wait", at: 12, #""cause":"sound","route":1"#)
        timeline.start(at: 13, film: 60, announced: 12.5)
        let report = try TimelineReport(text: timeline.text)
        #expect(
            report.text.contains(
                """
                start     0.025 s to open the film
                          0.025 s until the picture was ready
                          0.100 s until 'Kitchen' was open
                          1.000 s until the clock of 'Kitchen' was synchronized
                          0.750 s from the announcement to the start
                          1.900 s in all

                """), "\(report.text)")
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(report.json.formatted.utf8)) as? [String: Any])
        let phases = try #require(json["first_start"] as? [[String: Any]])
        #expect(phases.map { $0["phase"] as? String } == ["film", "picture", "opening", "clock", "lead"])
        #expect(phases.last?["ms"] as? Double == 750)
    }

    @Test func phasesWithoutEndOrWithExtremeTimesAreHarmless() throws {
        var start = ReportedStart()
        start.enter(.film, at: .min)
        for route in 0..<1000 { start.enter(.wait(cause: "clock", route: route), at: .max) }
        start.announce(perceivedAt: .min, at: .max)
        #expect(start.phases.count <= 32 && start.phases.allSatisfy { $0.duration >= 0 } && start.duration >= 0)
    }

    @Test func anOutputsClaimAboutItsFirstSoundCountsAsAReading() throws {
        var timeline = SyntheticTimeline()
        timeline.start(at: 1, film: 10, announced: 0.5)
        let heard = timeline.instant(1.504)
        timeline.add("anchor", at: 0.6, "\"film\":10.5,\"anchor_ns\":\(heard),\"route\":0")
        timeline.frame(due: 1.25, lateMs: 1)
        let report = try TimelineReport(text: timeline.text)
        let worst = try #require(report.routes.first?.offset.quantities.worst)
        #expect(abs(worst - 3) < 0.001)
    }

    @Test func picturesWithoutSoundNearAreSetAside() throws {
        var timeline = SyntheticTimeline()
        timeline.start(at: 0)
        timeline.drift(at: 0, errorMs: 5)
        timeline.frame(due: 9, lateMs: 0)
        timeline.frame(due: 11, lateMs: 0)
        let report = try TimelineReport(text: timeline.text)
        #expect(report.routes.first?.offset.quantities.count == 1)
        #expect(report.routes.first?.offset.unmatched == 1)
        #expect(report.text.contains("1 picture had no sound"))
    }

    @Test func aSpeakersTimelineHoldsUntilItsAudioRestarts() throws {
        var timeline = SyntheticTimeline()
        timeline.start(at: 0)
        let anchorInstant = timeline.instant(0)
        timeline.add(
            "anchor", at: 0, "\"film\":0,\"anchor_ns\":\(anchorInstant),\"ptp_ns\":\(anchorInstant),\"route\":0")
        // More frames than may wait for the next record.
        for index in 0..<15_000 { timeline.frame(due: 1 + Double(index) / 25, lateMs: 2) }
        timeline.add("route", at: 602, "\"route\":0,\"state\":\"lost\"")
        timeline.frame(due: 603, lateMs: 0)
        let report = try TimelineReport(text: timeline.text)
        let offset = try #require(report.routes.first?.offset)
        #expect(offset.quantities.count == 15_000 && offset.unmatched == 1)
        #expect(offset.quantities.quantiles([0.5]) == [-2])
    }

    @Test func everyOutputIsComparedForItself() throws {
        var timeline = SyntheticTimeline()
        timeline.add("route", at: 0, "\"route\":0,\"state\":\"opened\",\"name\":\"card\",\"kind\":\"soundCard\"")
        timeline.start(at: 0)
        for second in 0..<10 {
            for index in 0..<25 { timeline.frame(due: Double(second) + Double(index) / 25, lateMs: 0) }
            timeline.drift(at: Double(second + 1), errorMs: 1)
            timeline.drift(at: Double(second + 1), errorMs: -4, route: 3)
        }
        timeline.add("underrun", at: 10, "\"missing\":0.02,\"route\":3")
        timeline.add("route", at: 10, "\"route\":3,\"state\":\"lost\"")
        let report = try TimelineReport(text: timeline.text)
        #expect(report.routes.map(\.index) == [0, 3])
        #expect(report.routes.map { $0.offset.quantities.quantiles([0.5]) } == [[1], [-4]])
        #expect(report.routes.map(\.underruns) == [0, 1])
        #expect(report.routes.map(\.losses) == [0, 1])
        #expect(report.routes.map(\.offset.quantities.count) == [250, 250])
        #expect(report.routes[0].name == "card")
    }

    @Test func dropsAreCountedByTheirReason() throws {
        var timeline = SyntheticTimeline()
        timeline.head()
        timeline.add("drop", at: 1, "\"count\":3,\"film\":1,\"reason\":\"late\"")
        timeline.add("drop", at: 2, "\"count\":2,\"film\":1,\"reason\":\"skipped\"")
        timeline.add("drop", at: 2, "\"count\":9223372036854775807,\"reason\":\"skipped\"")
        timeline.add("drop", at: 2, "\"count\":-5,\"reason\":\"late\"")
        timeline.add("delay", at: 2, "\"wanted\":0.1")
        timeline.add("lost", at: 3, "\"count\":17")
        let report = try TimelineReport(text: timeline.text)
        #expect(report.droppedLate == 3)
        #expect(report.skippedBeforeDecoding == .max)
        #expect(report.lostEvents == 17)
        #expect(report.text.contains("an audio delay of +100 ms was requested"))
    }

    @Test func garbageIsSkippedAndCounted() throws {
        var timeline = SyntheticTimeline()
        timeline.head()
        timeline.start(at: 0)
        let garbage = [
            "", "null", "[]", "{}", "{\"event\":\"frame\"}", "{\"event\":\"frame\",\"host_ns\":1e300,\"target_ns\":1}",
            "{\"event\":\"frame\",\"host_ns\":-1,\"target_ns\":0,\"presented_ns\":0}",
            "{\"event\":\"frame\",\"host_ns\":\(timeline.origin),\"target_ns\":-9223372036854775807,\"presented_ns\":9223372036854775807}",
            "{\"event\":\"drift\",\"host_ns\":9223372036854775807,\"error\":1}",
            "{\"event\":\"drift\",\"host_ns\":\(timeline.origin),\"error\":0.1,\"route\":-1}",
            "\u{0}\u{1}", "{\"event\":\"state\",\"host_ns\":\(timeline.origin)",
            "{\"a\":" + String(repeating: "[", count: 5000),
            "{\"event\":\"note\",\"host_ns\":\(timeline.origin)}trailing",
            "{\"event\":\"x\",\"host_ns\":\(timeline.origin),\"n\":\"" + String(repeating: "y", count: 70_000) + "\"}",
        ]
        // Events of a later version do not count as garbage.
        for _ in 0..<10 { timeline.add("later", at: 1, "\"x\":{\"y\":[1,2]}") }
        let text = timeline.text + garbage.joined(separator: "\n") + "\n"
        let report = try TimelineReport(text: text)
        #expect(report.garbageLines == garbage.count)
        #expect(report.understoodLines == 12)
        #expect(report.frames == 0)
        #expect(!report.isCutOff)
    }

    @Test func excessRoutesAreNotKept() throws {
        var timeline = SyntheticTimeline()
        for route in 0..<1000 { timeline.drift(at: 1, errorMs: 1, route: route) }
        let report = try TimelineReport(text: timeline.text)
        #expect(report.routes.count == TimelineContext.maxRoutes)
        #expect(report.garbageLines == 1000 - TimelineContext.maxRoutes)
    }

    @Test func aTruncatedLastLineIsReportedAndTheRestCounts() throws {
        var timeline = SyntheticTimeline()
        timeline.head()
        timeline.start(at: 0)
        timeline.play(from: 0, to: 2, pictureMs: 0) { _ in 0 }
        let report = try TimelineReport(text: String(timeline.text.dropLast(20)))
        #expect(report.isCutOff && report.garbageLines == 0)
        #expect(report.text.contains("the last line is cut off"))
        #expect(report.frames == 50)
        // A missing final newline is not a truncation.
        #expect(!(try TimelineReport(text: String(timeline.text.dropLast(1)))).isCutOff)
    }

    @Test(arguments: ["", "\n\n", "just text\n", "{}\n", String(repeating: "x", count: 300_000)])
    func whatHoldsNoTimelineIsRefused(text: String) {
        let failure = #expect(throws: TalkieError.self) { try TimelineReport(text: text) }
        #expect(failure?.code == .cannotOpen)
        #expect(failure?.message.contains("is not a timeline") == true)
    }

    @Test func theResultsForProgramsAreJSONWithUnitsInTheirNames() throws {
        var timeline = SyntheticTimeline()
        timeline.head()
        timeline.add("film", at: 0, "\"name\":\"caf\\u00e9 \\ud83c\\udfac \\\"x\\\"\\u001b\"")
        timeline.start(at: 0)
        timeline.play(from: 0, to: 20, pictureMs: 1) { _ in -2 }
        let data = Data(try TimelineReport(text: timeline.text).json.formatted.utf8)
        let results = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(results["claimed"] as? Bool == true)
        #expect(results["films"] as? [String] == ["café 🎬 \"x\"\u{FFFD}"])
        let route = try #require((results["routes"] as? [[String: Any]])?.first)
        #expect((route["offset_ms"] as? [String: Any])?["median"] as? Double == -3)
        #expect(route["drift_ms_per_minute"] as? Double == 0)
        #expect(results["frames"] as? Int == 500)
    }

    @Test func thePlotOfALongFilmStaysSmallAndIsWellFormed() throws {
        var timeline = SyntheticTimeline()
        timeline.head()
        timeline.add("film", at: 0, "\"name\":\"<a> & 'b'\"")
        timeline.start(at: 0)
        // Decimation is by time: two hours with a frame every five seconds.
        for second in stride(from: 0, to: 7200, by: 5) {
            timeline.frame(due: Double(second), lateMs: second % 2 == 0 ? 8 : -8)
            timeline.drift(at: Double(second) + 0.5, errorMs: Double(second) / 1000)
            if second % 100 == 0 { timeline.add("drop", at: Double(second), "\"count\":1,\"reason\":\"late\"") }
        }
        let folder = TemporaryFolder()
        try TimelineReport(text: timeline.text).plot(to: folder.path("plot.svg"))
        let svg = folder.read("plot.svg")
        #expect(svg.utf8.count < 400_000)
        #expect(svg.contains("&lt;a&gt; &amp; 'b'"))
        #expect(XMLCounter.openElements(in: svg) == 0)
        #expect(throws: TalkieError.self) {
            try TimelineReport(text: timeline.text).plot(to: "/no/such/folder/p.svg")
        }
        #expect(throws: TalkieError.self) { try TimelineReport(text: timeline.text).plot(to: "/dev/full") }
    }
}

/// A minimal XML check that every opened element is closed.
enum XMLCounter {
    static func openElements(in text: String) -> Int {
        var open = 0
        for tag in text.split(separator: "<") {
            guard let end = tag.firstIndex(of: ">") else { return -1 }
            if tag.hasPrefix("/") { open -= 1 } else if !tag[..<end].hasSuffix("/") { open += 1 }
            if open < 0 { return -1 }
        }
        return open
    }
}
