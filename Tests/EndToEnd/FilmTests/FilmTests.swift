import Foundation
import Glibc
import Testing

/// The program on a real window and a real sound server, looked at from outside.
@Suite(.serialized) struct FilmTests {
    /// What the meter saw of one run.
    struct Measurement {
        let json: [String: Any]

        init(_ path: String) throws {
            let any = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: path)))
            let run = (any as? [[String: Any]])?.first ?? (any as? [String: Any])
            json = (run?["runs"] as? [[String: Any]])?.first ?? run ?? [:]
        }

        func number(_ keys: String...) -> Double? {
            var value: Any? = json
            for key in keys { value = (value as? [String: Any])?[key] }
            return value as? Double ?? (value as? Int).map(Double.init)
        }
    }

    func measure(_ clip: String, _ arguments: [String]) throws -> Measurement {
        let scratch = try Scratch()
        let report = scratch.path("report.json")
        let result = try Program.run(
            Program.root.appending(path: "Tools/meter/meter").path,
            ["run", "--clip", clip, "--json", report, "--", Program.talkie, "play", "--really-quiet"] + arguments
                + ["{clip}"], atMost: 120)
        try #require(result.status == 0, "\(result.output)\(result.errors)")
        return try Measurement(report)
    }

    @Test(.timeLimit(.minutes(4))) func aFilmsSoundMeetsItsPictureSeenFromOutside() throws {
        let measured = try measure(Program.media("flash-and-beep.mp4"), [])
        // Wide enough for a busy machine and a build without optimisation; docs/performance.md has the real figures.
        let median = try #require(measured.number("offset_ms", "median"))
        #expect(abs(median) < 15)
        let events = try #require(measured.number("offset_ms", "count"))
        #expect(events >= 5)
    }

    @Test func anInterruptEndsCleanlyWithItsStatus() throws {
        for (signal, status) in [(SIGINT, Int32(130)), (SIGTERM, 143)] {
            let result = try Program.run(
                Program.talkie,
                ["play", "--no-video", "--audio-device", "null", "--loop-file", "inf", Program.media("talking.mp4")],
                atMost: 20,
                during: { pid in
                    sleep(2)
                    kill(pid, signal)
                })
            #expect(result.status == status, "\(result.errors)")
        }
    }

    @Test func theFlightRecorderAndItsReportAgreeThatTheFilmWasInSync() throws {
        let scratch = try Scratch()
        let timeline = scratch.path("film.jsonl")
        let played = try Program.run(
            Program.talkie,
            [
                "play", "--no-video", "--audio-device", "null", "--end", "3", "--timeline", timeline,
                Program.media("talking.mp4"),
            ], atMost: 30)
        #expect(played.status == 0, "\(played.errors)")
        let report = try Program.run(Program.talkie, ["report", timeline, "--json"], atMost: 30)
        #expect(report.status == 0, "\(report.errors)")
        #expect(report.output.contains("claimed"))
    }
}
