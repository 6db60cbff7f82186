import Foundation
import Glibc
import Testing

@testable import ProgramTestSupport

/// Without threads, descriptors or disk space the program reports the true cause, or plays.
/// `Tools/experiments/exhaustion` tries every limit.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ExhaustionTests {
    /// An unused user ID: process limits do not apply to root.
    private static let nobody: UInt32 = 64199
    private let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func play(_ before: [String], _ more: [String] = []) throws -> Program.Result {
        let words = ["play", "--audio-device", "null", "--end", "0.3"] + more + [Program.media("flash-and-beep.mp4")]
        let all = before + [Program.talkie] + words
        return try Program.run(
            "/usr/bin/env", all,
            environment: [
                "SDL_VIDEODRIVER": "dummy", "XDG_STATE_HOME": scratch.path("state"), "HOME": scratch.folder.path,
            ], atMost: 20)
    }

    /// Expects a documented exit status, and an error message unless it is 0. Termination by a signal (128 and more)
    /// fails.
    private func expectSentence(
        _ result: Program.Result, _ limit: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect([0, 1, 69].contains(result.status), "\(result.errors)", sourceLocation: sourceLocation)
        guard result.status != 0 else { return }
        #expect(result.errors.contains(limit), "\(result.errors)", sourceLocation: sourceLocation)
        #expect(!result.errors.contains("check the address"), sourceLocation: sourceLocation)
    }

    @Test(arguments: [5, 7, 9, 12, 13, 14])
    func exhaustedDescriptorsAreReportedAsTheCause(limit: Int) throws {
        expectSentence(try play(["prlimit", "--nofile=\(limit):\(limit)"]), "ulimit -n")
    }

    @Test(
        .enabled(if: PlainUser.isWanted, "no plain user here: \(PlainUser.obstacle ?? "")"),
        arguments: [3, 9, 12])
    func exhaustedThreadsAreReportedAsTheCause(limit: Int) throws {
        let user = try PlainUser(Self.nobody)
        let words = ["play", "--audio-device", "null", "--end", "0.3", user.film]
        expectSentence(
            try user.run("talkie", words, through: "exec prlimit --nproc=\(limit):\(limit) \"$@\""), "ulimit -u")
    }

    @Test func aFileThatMayGrowNoFurtherCostsTheRecordAndNotTheFilm() throws {
        let file = scratch.path("t.jsonl")
        let limited = try play(["prlimit", "--fsize=1024:1024"], ["--no-audio", "--timeline", file])
        #expect(limited.status == 0, "\(limited.errors)")
        #expect(try Data(contentsOf: URL(filePath: file)).count <= 1024)
    }
}
