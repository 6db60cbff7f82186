import Foundation
import Testing

@testable import ProgramTestSupport

/// `--timeline`: what it records, and that a failing recording does not affect playback.
@Suite(.timeLimit(.minutes(5))) struct RecordTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func play(_ arguments: [String]) throws -> Program.Result {
        try Program.run(
            Program.talkie, ["play", "--no-audio", "--end", "1"] + arguments, environment: ["SDL_VIDEODRIVER": "dummy"])
    }

    @Test func everyPictureIsInTheRecord() throws {
        let record = scratch.path("t.jsonl")
        #expect(try play([Program.media("talking.mp4"), "--timeline", record]).status == 0)
        let report = try Program.run(Program.talkie, ["report", "--json", record])
        #expect(report.status == 0 && report.errors == "")
        let results = try #require(
            try JSONSerialization.jsonObject(with: Data(report.output.utf8)) as? [String: Any])
        let shown = try #require(results["frames"] as? Int)
        let dropped = try #require(results["dropped_late"] as? Int)
        // One second at 24000/1001.
        #expect((23...26).contains(shown + dropped))
        #expect(results["starts"] as? Int == 1)
        #expect(results["lines_not_understood"] as? Int == 0 && results["lost_events"] as? Int == 0)
    }

    @Test func aFullDiskCostsTheRecordAndNotTheFilm() throws {
        let full = try play([Program.media("talking.mp4"), "--timeline", "/dev/full"])
        #expect(full.status == 0)
        #expect(full.errorLines.count == 1 && full.errors.contains("No space left on device"))
    }

    @Test func aRecordThatCannotBeCreatedIsRefusedBeforeAnythingPlays() throws {
        let refused = try play([Program.media("talking.mp4"), "--timeline", "/no/such/folder/t.jsonl"])
        #expect(refused.status == 1 && refused.errorLines.count == 1)
    }

    @Test func aRecordDoesNotDestroyTheFilm() throws {
        let film = scratch.path("film.mp4")
        try FileManager.default.copyItem(atPath: Program.media("talking.mp4"), toPath: film)
        let refused = try play([film, "--timeline", film])
        #expect(refused.status == 2 && refused.errorLines.count == 1)
        #expect(FileManager.default.contentsEqual(atPath: film, andPath: Program.media("talking.mp4")))
    }

    @Test func whatIsNoRecordIsNotReportedOn() throws {
        for path in ["/no/such/record", "/", Program.media("talking.mp4"), "/dev/null"] {
            let refused = try Program.run(Program.talkie, ["report", path])
            #expect(refused.status == 66 && refused.errorLines.count == 1 && refused.output == "", "\(path)")
        }
    }
}
