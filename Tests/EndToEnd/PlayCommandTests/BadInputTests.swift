import Foundation
import Testing

/// Everything that can be wrong with what `talkie play` is told: one sentence, the promised status, and an end.
@Suite(.timeLimit(.minutes(10))) struct BadInputTests {
    private struct Outcome {
        var status: Int32
        var output: String
        var complaint: String
    }

    private func run(_ arguments: [String], input: FileHandle? = nil) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(filePath: TerminalProcess.talkie)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["SDL_VIDEODRIVER": "dummy", "SWIFT_BACKTRACE": "enable=no"]) { $1 }
        let (output, complaint) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = complaint
        process.standardInput = input ?? FileHandle.nullDevice
        try process.run()
        // Little is written; neither pipe can fill up.
        let errors = complaint.fileHandleForReading.readDataToEndOfFile()
        let words = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit)
        return Outcome(
            status: process.terminationStatus, output: String(decoding: words, as: UTF8.self),
            complaint: String(decoding: errors, as: UTF8.self))
    }

    /// Status and the one sentence of a film that must be refused.
    private func refusal(_ arguments: String..., input: FileHandle? = nil) throws -> (status: Int32, sentence: String) {
        let outcome = try run(["play", "--no-audio"] + arguments, input: input)
        #expect(outcome.output == "")
        let lines = outcome.complaint.split(separator: "\n")
        #expect(lines.count == 1, "\(outcome.complaint)")
        #expect(outcome.complaint.hasPrefix("talkie: "))
        // No escape sequences where nobody sees them.
        #expect(!outcome.complaint.contains("\u{1B}") && !outcome.complaint.contains("\r"))
        return (outcome.status, lines.first.map(String.init) ?? "")
    }

    private let folder = FileManager.default.temporaryDirectory.appending(path: "talkie-bad-\(UUID().uuidString)")

    private func file(_ name: String, _ content: Data) throws -> String {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appending(path: name).path
        #expect(FileManager.default.createFile(atPath: path, contents: content))
        return path
    }

    @Test func whatIsNoFilm() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try refusal("/no/such/film.mkv").status == 66)
        #expect(try refusal("/").status == 66)
        #expect(try refusal(file("empty.mp4", Data())).status == 66)
        #expect(try refusal(file("text.mp4", Data("just text\n".utf8))).status == 66)
        #expect(try refusal(file("zeros.mkv", Data(count: 100_000))).status == 66)
        let loop = try refusal(file("self.m3u", Data("self.m3u\n".utf8)))
        #expect(loop.status == 66 && loop.sentence.contains("contains itself"))
        #expect(try refusal(file("nothing.m3u", Data("#EXTM3U\n".utf8))).status == 66)
        #expect(try refusal("http://127.0.0.1:9/film.mp4").status == 66)
        #expect(try refusal("gopher://example.org/film.mp4").status == 66)
        #expect(try refusal("-").status == 66)
    }

    @Test func aFilmCutOffPlaysAsFarAsItGoesOrIsRefused() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let whole = try Data(contentsOf: URL(filePath: Clips.talking))
        for share in [2, 4, 10, 1000] {
            let path = try file("cut-\(share).mp4", whole.prefix(whole.count / share))
            let outcome = try run(["play", "--no-audio", path, "--end", "0.3"])
            #expect([0, 66].contains(outcome.status), "1/\(share): \(outcome)")
        }
    }

    @Test func devicesThatDoNotExist() throws {
        let screen = try refusal(Clips.talking, "--screen", "7")
        #expect(screen.status == 69 && screen.sentence.contains("--screen"))
        let card = try run(["play", "--no-video", "--audio-device", "no-such-card", Clips.talking])
        #expect(card.status == 69 && card.complaint.contains("no-such-card"))
        #expect(try refusal(Clips.talking, "--timeline", "/no/such/folder/t.jsonl").status == 1)
    }

    @Test func aFullDiskCostsTheRecordAndNotTheFilm() throws {
        let full = try refusal(Clips.talking, "--end", "0.3", "--timeline", "/dev/full")
        #expect(full.status == 0 && full.sentence.contains("No space left on device"))
    }

    @Test func theRecordOfAFilmCanBeReportedOn() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let record = try file("t.jsonl", Data())
        #expect(try run(["play", "--no-audio", Clips.talking, "--end", "1", "--timeline", record]).status == 0)
        let outcome = try run(["report", "--json", record])
        #expect(outcome.status == 0 && outcome.complaint == "")
        let results = try #require(
            try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
        #expect(results["frames"] as? Int ?? 0 > 10)
        #expect(results["starts"] as? Int == 1)
        #expect(results["lines_not_understood"] as? Int == 0)
    }

    @Test func aTimelineDoesNotDestroyTheFilm() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let film = try file("film.mp4", try Data(contentsOf: URL(filePath: Clips.talking)))
        let outcome = try refusal(film, "--timeline", film)
        #expect(outcome.status == 2)
        #expect(FileManager.default.contentsEqual(atPath: film, andPath: Clips.talking))
    }
}
