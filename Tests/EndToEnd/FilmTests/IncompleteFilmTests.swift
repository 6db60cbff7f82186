import Foundation
import Glibc
import TalkieTestKit
import Testing

@testable import ProgramTestSupport

/// Films that cannot be played to the end: one sentence with cause and position, exit status 1, and the playlist
/// continues.
@Suite(.serialized, .timeLimit(.minutes(3))) struct IncompleteFilmTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    /// Creates a film of constantly changing video and audio, so that a share of the bytes is a share of the duration.
    private func film(_ ending: String, seconds: Int) throws -> Data {
        let path = try TestClips.make(
            "noise-\(seconds)." + ending,
            TestClips.arguments(
                "-f lavfi -i testsrc=s=320x180:r=25:d=\(seconds) -f lavfi -i anoisesrc=d=\(seconds):a=0.05:seed=1 "
                    + "-c:v libx264 -preset ultrafast -g 25 -b:v 300k -c:a aac")
                + (ending == "mp4" ? ["-movflags", "+faststart"] : []))
        return try Data(contentsOf: URL(filePath: path))
    }

    private func play(_ arguments: [String], during: (pid_t) -> Void = { _ in }) throws -> Program.Result {
        try Program.run(
            Program.talkie, ["play", "--audio-device", "null"] + arguments,
            environment: ["DISPLAY": nil, "WAYLAND_DISPLAY": nil], atMost: 60, during: during)
    }

    /// The sentences except those about the missing display.
    private func sentences(_ result: Program.Result) -> [String] {
        result.errorLines.filter { !$0.contains("no display can be reached") && !$0.contains("DISPLAY") }
    }

    private func expectOneSentence(
        _ result: Program.Result, _ part: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(result.status == 1, "\(result.errors)", sourceLocation: sourceLocation)
        let said = sentences(result)
        #expect(said.count == 1, "\(result.errors)", sourceLocation: sourceLocation)
        #expect(said.first?.contains(part) == true, "\(result.errors)", sourceLocation: sourceLocation)
    }

    @Test(arguments: ["mp4", "mkv"]) func aTruncatedFilmSaysWhereItEnds(ending: String) throws {
        let whole = try film(ending, seconds: 8)
        let path = try scratch.file("cut." + ending, whole.prefix(whole.count * 45 / 100))
        let result = try play([path])
        expectOneSentence(result, "of 00:00:08: the file is incomplete; copy or download it again")
        #expect((2...5).contains { sentences(result)[0].contains("ends at 00:00:0\($0) ") }, "\(result.errors)")
        // The undamaged film reports nothing.
        #expect(try play([try scratch.file("whole." + ending, whole), "--end", "1"]).status == 0)
    }

    @Test func theListContinuesAfterATruncatedFilm() throws {
        let whole = try film("mp4", seconds: 8)
        let cut = try scratch.file("cut.mp4", whole.prefix(whole.count * 45 / 100))
        let next = try scratch.file("next.mp4", whole)
        let result = try play([cut, next, "--speed", "4", "--log-level", "info"])
        #expect(result.status == 1)
        #expect(result.errorLines.contains { $0.contains("next.mp4") || $0.contains("(2/2)") }, "\(result.errors)")
    }

    @Test func aFilmThatIsTruncatedWhileItPlaysSaysSo() throws {
        let whole = try film("mp4", seconds: 20)
        let path = try scratch.file("shrinks.mp4", whole)
        let result = try play([path]) { _ in
            usleep(1_500_000)
            truncate(path, whole.count * 30 / 100)
        }
        expectOneSentence(result, "copy or download it again")
    }

    @Test func aServerThatEndsBeforeItsContentLengthIsNoEndOfTheFilm() throws {
        let server = try TinyWebServer(serving: scratch.folder.path)
        defer { server.stop() }
        _ = try scratch.file("film.mp4", try film("mp4", seconds: 8))
        let result = try play([server.url("short/film.mp4"), "--network-timeout", "2"])
        #expect(result.status == 1, "\(result.errors)")
        #expect(
            sentences(result).contains { $0.contains("film.mp4” ") && $0.contains(" at 00:00:0") }, "\(result.errors)")
    }

    @Test func aSegmentThatAServerDoesNotHaveIsReportedAndTheRestIsPlayed() throws {
        let whole = try scratch.file("noise.mp4", try film("mp4", seconds: 8))
        let playlist = scratch.folder.path + "/film.m3u8"
        try TestClips.run(
            "ffmpeg",
            TestClips.arguments(
                "-nostdin -v error -i \(whole) -c copy -f hls -hls_time 1 -hls_playlist_type vod \(playlist)"))
        let server = try TinyWebServer(serving: scratch.folder.path)
        defer { server.stop() }
        #expect(try play([server.url("film.m3u8"), "--end", "2"]).status == 0)
        unlink(scratch.folder.path + "/film4.ts")
        let begun = ContinuousClock.now
        let result = try play([server.url("film.m3u8")])
        expectOneSentence(result, "lacks a part from 00:00:0")
        #expect(result.errors.contains("the server has no \"\(server.url("film4.ts"))\" (404)"), "\(result.errors)")
        #expect(ContinuousClock.now - begun > .seconds(7), "what follows is played")
    }

    /// A tenth of the bytes is noise: undecodable audio is counted and reported once.
    @Test(arguments: ["mp4", "mkv"]) func soundThatCannotBeDecodedIsReportedOnceWithHowMuch(ending: String) throws {
        var bytes = try film(ending, seconds: 10)
        var state: UInt32 = 99
        for index in bytes.count * 40 / 100..<bytes.count * 50 / 100 {
            state = state &* 1_664_525 &+ 1_013_904_223
            bytes[index] = UInt8(truncatingIfNeeded: state >> 24)
        }
        let result = try play([try scratch.file("noise." + ending, bytes)])
        expectOneSentence(result, " s of sound of “noise.\(ending)” could not be decoded at 00:00:0")
    }

    /// The first packets of the second film are before its beginning.
    @Test func undecodableSoundBelongsToItsOwnFilm() throws {
        let good = try film("mp4", seconds: 3)
        var dead = good
        let media = try #require(dead.range(of: Data("mdat".utf8)))
        let length = dead[(media.lowerBound - 4)..<media.lowerBound].reduce(0) { $0 << 8 | Int($1) }
        let end = media.lowerBound - 4 + length
        dead.replaceSubrange(media.upperBound..<end, with: Data(count: end - media.upperBound))
        let result = try play([try scratch.file("good.mp4", good), try scratch.file("dead.mp4", dead)])
        #expect(result.errors.contains("dead.mp4") && !result.errors.contains("good.mp4"), "\(result.errors)")
    }

    /// After another film, its pictures are read and dropped without a start of its own.
    @Test func aFilmOfWhichNoPictureCanBeDecodedIsNamed() throws {
        let good = try TestClips.make(
            "good-pictures.mp4",
            TestClips.arguments("-f lavfi -i testsrc=s=320x180:r=25:d=2 -c:v libx264 -preset ultrafast -g 25"))
        var bytes = try Data(contentsOf: URL(filePath: good))
        let media = try #require(bytes.range(of: Data("mdat".utf8)))
        let length = bytes[(media.lowerBound - 4)..<media.lowerBound].reduce(0) { $0 << 8 | Int($1) }
        let end = media.lowerBound - 4 + length
        bytes.replaceSubrange(media.upperBound..<end, with: Data(count: end - media.upperBound))
        let dead = try scratch.file("dead.mp4", bytes)
        // A film that is opened alone may end before it starts.
        for films in [[good, dead, good], [dead]] {
            // The pictures are decoded for the dummy screen.
            let said = try Program.run(
                Program.talkie, ["play", "--audio-device", "null"] + films,
                environment: ["SDL_VIDEODRIVER": "dummy"], atMost: 60
            ).errors
            #expect(said.components(separatedBy: "no picture of it can be decoded").count == 2, "\(said)")
        }
    }
}
