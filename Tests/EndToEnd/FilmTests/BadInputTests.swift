import Foundation
import Testing

@testable import ProgramTestSupport

/// Invalid input: each case prints one sentence, returns the documented exit status, and causes no crash, hang or
/// leftover files.
@Suite(.serialized) struct BadInputTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    /// Plays without devices: no window, and ALSA's null device, which accepts everything at once.
    func play(_ arguments: [String], atMost seconds: Int = 30) throws -> Program.Result {
        try Program.run(
            Program.talkie, ["play", "--no-video", "--audio-device", "null"] + arguments,
            environment: ["DISPLAY": nil, "WAYLAND_DISPLAY": nil], atMost: seconds)
    }

    func expectOneSentence(_ result: Program.Result, status: Int32, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(result.status == status, "\(result.errors)", sourceLocation: sourceLocation)
        #expect(result.errorLines.count == 1, "\(result.errors)", sourceLocation: sourceLocation)
        #expect(result.output.isEmpty, sourceLocation: sourceLocation)
    }

    // feature: exit status 66
    @Test func aFileThatIsNotThere() throws {
        expectOneSentence(try play([scratch.path("missing.mp4")]), status: 66)
    }

    /// The sample plays "film.mkv" of its working directory.
    @Test func theSampleOfTheReadmeEndsWithTheReasonWhenItsFileIsMissing() throws {
        let sample = URL(filePath: Program.talkie).deletingLastPathComponent().appending(path: "README1").path
        try #require(
            FileManager.default.isExecutableFile(atPath: sample),
            "build it: Tools/samples, and swift build --package-path .build/samples --scratch-path .build")
        let result = try Program.run(
            "/bin/sh", ["-c", "cd \"$1\" && exec \"$2\"", "sh", scratch.folder.path, sample],
            environment: ["SDL_VIDEODRIVER": "dummy", "XDG_STATE_HOME": scratch.path("state")], atMost: 30)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("film.mkv"), "\(result.output)")
    }

    @Test func aFolder() throws { expectOneSentence(try play([scratch.folder.path]), status: 66) }

    @Test func anEmptyFile() throws {
        expectOneSentence(try play([try scratch.file("empty.mp4", Data())]), status: 66)
    }

    @Test func textNamedLikeAFilm() throws {
        let text = Data(String(repeating: "This is not a film. ", count: 500).utf8)
        expectOneSentence(try play([try scratch.file("text.mp4", text)]), status: 66)
    }

    @Test func aFilmCutOffBeforeItsIndex() throws {
        let whole = try Data(contentsOf: URL(filePath: Program.media("flash-and-beep.mp4")))
        // Enough to contain the index at the front, without most of the film.
        let result = try play([try scratch.file("cut.mp4", whole.prefix(whole.count / 3))])
        #expect([0, 1, 66].contains(result.status), "\(result.errors)")
        #expect(result.errorLines.count <= 1, "\(result.errors)")
    }

    @Test func aHeaderWithAWrongSize() throws {
        var lying = try Data(contentsOf: URL(filePath: Program.media("flash-and-beep.mp4")))
        // The second box claims a size of 4 GB.
        let first = Int(lying[0]) << 24 | Int(lying[1]) << 16 | Int(lying[2]) << 8 | Int(lying[3])
        for offset in 0..<4 { lying[first + offset] = 0xFF }
        // Reads the whole file despite the box size, at speed 4 to take a quarter of the time.
        let result = try play([try scratch.file("lies.mp4", lying), "--speed", "4"])
        #expect([0, 1, 66].contains(result.status), "\(result.errors)")
    }

    /// Returns a copy of a seed of the demuxer's fuzz target, with everything after a share of it overwritten by one
    /// byte.
    private func spoiled(_ name: String, from share: Double, with byte: UInt8) throws -> String {
        let seed = Program.root.appending(path: "Tests/Fixtures/Fuzz/Demux").appending(path: name)
        let whole = try Data(contentsOf: seed)
        let kept = Int(Double(whole.count) * share)
        return try scratch.file(
            "spoiled-" + name, whole.prefix(kept) + Data(repeating: byte, count: whole.count - kept))
    }

    @Test(arguments: [("a.flac", 0.1, 0), ("h264-opus.mkv", 0.25, 255)] as [(String, Double, UInt8)])
    func aFilmOfWhichNothingCanBeDecodedIsRefused(name: String, share: Double, byte: UInt8) throws {
        expectOneSentence(try play([try spoiled(name, from: share, with: byte)], atMost: 20), status: 66)
    }

    @Test func aFilmOfWhichNothingCanBeDecodedIsPassedOverInAList() throws {
        let result = try play([
            try spoiled("a.flac", from: 0.1, with: 0), "--end", "0.5", Program.media("flash-and-beep.mp4"),
        ])
        expectOneSentence(result, status: 66)
    }

    @Test func anUnknownOptionGetsASentenceAndAUsageLine() throws {
        let result = try play(["--frobnicate", Program.media("flash-and-beep.mp4")])
        #expect(result.status == 2)
        #expect(result.errorLines.count == 2, "\(result.errors)")
    }

    @Test func aSoundCardThatDoesNotExist() throws {
        let result = try Program.run(
            Program.talkie,
            ["play", "--no-video", "--audio-device", "hw:NoSuchCard", Program.media("flash-and-beep.mp4")], atMost: 30)
        expectOneSentence(result, status: 69)
    }

    @Test func noScreenIsSaidWithItsRemedy() throws {
        let result = try Program.run(
            Program.talkie, ["play", "--audio-device", "null", "--end", "1", Program.media("flash-and-beep.mp4")],
            environment: ["DISPLAY": nil, "WAYLAND_DISPLAY": nil, "SDL_VIDEODRIVER": "x11"], atMost: 30)
        #expect(result.errors.contains("The sound plays without a picture."), "\(result.errors)")
        #expect(!result.errors.contains("--no-video"), "it does that already: \(result.errors)")
        #expect(result.status == 0)
    }

    @Test func aPlaylistThatContainsItself() throws {
        let path = scratch.path("circle.m3u")
        try Data("circle.m3u\n".utf8).write(to: URL(filePath: path))
        expectOneSentence(try play([path]), status: 66)
    }

    @Test func anAddressWithoutAServer() throws {
        // Port 9 (discard) on loopback is closed.
        expectOneSentence(try play(["http://127.0.0.1:9/film.mp4"]), status: 66)
    }

    @Test func aFilmIsNotOverwrittenByATimeline() throws {
        let film = scratch.path("film.mp4")
        try FileManager.default.copyItem(atPath: Program.media("flash-and-beep.mp4"), toPath: film)
        expectOneSentence(try play(["--timeline", film, Program.media("flash-and-beep.mp4")]), status: 2)
        #expect(FileManager.default.contentsEqual(atPath: film, andPath: Program.media("flash-and-beep.mp4")))
    }

    @Test(arguments: [("> /dev/full", Int32(1)), (">&-", 1), ("| true", 0)])
    func whatCannotBeWrittenToStandardOutputIsAFailure(redirection: String, status: Int32) throws {
        let result = try Program.run(
            "/bin/bash", ["-o", "pipefail", "-c", "'\(Program.talkie)' profile list \(redirection)"], atMost: 30)
        #expect(result.status == status, "\(result.errors)")
        #expect(result.errors.contains("standard output") == (status == 1), "\(result.errors)")
    }

    @Test func aFullDiskUnderTheTimelineCostsTheRecordAndNotTheFilm() throws {
        let result = try play(["--timeline", "/dev/full", "--end", "2", Program.media("flash-and-beep.mp4")])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.contains("timeline"), "\(result.errors)")
    }
}
