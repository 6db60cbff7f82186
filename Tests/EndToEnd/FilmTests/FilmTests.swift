import Foundation
import Glibc
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// The program with a real window and a real sound server, measured externally.
@Suite(.serialized, .repeatedWhenTheMachineStalls) struct FilmTests {
    // feature: talkie play, guide: What users notice
    @Test(.timeLimit(.minutes(4))) func aFilmsSoundMeetsItsPictureSeenFromOutside() throws {
        let measured = try MeterRun(
            of: Program.media("flash-and-beep.mp4"), player: [Program.talkie, "play", "--really-quiet", "{clip}"])
        print("card: \(measured.figure)")
        #expect(measured.isWhole, "\(measured.figure)")
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

    @Test func theThreadsShareFewHeaps() throws {
        var heaps: Int?
        let played = try Program.run(
            Program.talkie, ["play", "--audio-device", "null", "--end", "3", Program.media("talking.mp4")],
            environment: ["SDL_VIDEODRIVER": "dummy"], atMost: 30,
            during: { pid in
                sleep(2)
                heaps = try? Program.heaps(of: pid)
            })
        #expect(played.status == 0, "\(played.errors)")
        #expect((1..<4).contains(try #require(heaps)))
    }

    @Test func theFlightRecorderAndItsReportAgreeThatTheFilmWasInSync() throws {
        let scratch = try Scratch()
        let timeline = scratch.path("film.jsonl")
        let played = try Program.run(
            Program.talkie,
            [
                "play", "--audio-device", "null", "--end", "3", "--timeline", timeline, Program.media("talking.mp4"),
            ], environment: ["SDL_VIDEODRIVER": "dummy"], atMost: 30)
        #expect(played.status == 0, "\(played.errors)")
        let report = try Program.run(Program.talkie, ["report", timeline, "--json"], atMost: 30)
        #expect(report.status == 0, "\(report.errors)")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(report.output.utf8)) as? [String: Any], "\(report.output)")
        let routes = try #require(object["routes"] as? [[String: Any]])
        #expect(object["claimed"] as? Bool == true && object["lost_events"] as? Int == 0, "\(report.output)")
        #expect(try #require(object["frames"] as? Int) > 60 && routes.count == 1, "\(report.output)")
        let offset = try #require(routes.first?["offset_ms"] as? [String: Any])
        // The dummy screen presents its first frames while the null card starts, so only the median is in step.
        #expect(abs(try #require(offset["median"] as? Double)) < 3, "\(offset)")
    }
}
