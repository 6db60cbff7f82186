import Foundation
import TalkieTestKit
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// Samples of the field: files that other players were reported to play wrongly, as seen and heard.
@Suite(
    .serialized, .timeLimit(.minutes(4)), .repeatedWhenTheMachineStalls,
    .enabled(if: PulseServer.isWanted && VirtualDisplay.isWanted, "needs Xvfb, pulseaudio and ALSA's pulse plugin"))
struct FieldTests {
    private typealias Setup = ObservedPlayback.Setup
    private let films: FeatureFilms
    init() throws { films = try FeatureFilms() }

    private static let video = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "25", "-bf", "0"]

    /// Returns a transport stream of some of the seconds.
    private func stream(_ name: String, _ seconds: ClosedRange<Int>, _ options: [String]) throws -> String {
        try films.part(name, seconds, Self.video + options)
    }

    private func join(_ parts: [String], to name: String) throws -> String {
        try films.scratch.file(name, parts.reduce(Data()) { try $0 + Data(contentsOf: URL(filePath: $1)) })
    }

    /// Seconds 0 to 2 with timestamps from 35 s on, then 3 to 5 with timestamps from 0 on.
    private func stepBack() throws -> String {
        let first = try stream("ahead.ts", 0...2, ["-c:a", "aac", "-output_ts_offset", "35"])
        return try join([first, try stream("behind.ts", 3...5, ["-c:a", "aac"])], to: "step-back.ts")
    }

    // MARK: Transport streams

    @Test func aTransportStreamIsTheSecondItemOfAListAndMayBeCutInTheMiddle() throws {
        let (first, whole) = (try films.part("first.mkv", 0...1), try stepBack())
        let bytes = try Data(contentsOf: URL(filePath: whole))
        let half = try films.scratch.file("half.ts", bytes.prefix(bytes.count / 2))
        let runs = try ObservedPlayback.play([Setup(first, whole), Setup(half)])
        runs[0].expect(seconds: [0, 1] + Array(0..<6))
        let (seen, heard) = (runs[1].seen.map(\.second), runs[1].heard().map(\.second))
        #expect(runs[1].result.status == 0, "\(runs[1].result.errors)")
        #expect(seen.count >= 2 && seen == Array(0..<seen.count) && heard.starts(with: [0, 1]), "\(seen) \(heard)")
    }

    @Test func aJoinedTransportStreamStartsBehindTheDurationThatItsTimestampsGive() throws {
        let film = try stepBack()
        let runs = try ObservedPlayback.play([
            Setup("--start", "4.5", film), Setup("--no-video", "--start", "50", film),
        ])
        runs[0].expect(seconds: [4, 5])
        #expect(runs[1].result.status == 66 && runs[1].result.errorLines.count == 1, "\(runs[1].result.errors)")
        #expect(runs[1].result.errors.contains("choose an earlier start"), "\(runs[1].result.errors)")
    }

    @Test func aChangeOfCodecOrPacketIdentifierIsNamedAsTheCauseOfSilence() throws {
        let first = try stream("one.ts", 0...2, ["-c:a", "ac3"])
        let codec = try stream("codec.ts", 0...5, ["-c:a", "aac"])
        let identifier = try stream("identifier.ts", 0...5, ["-c:a", "ac3", "-streamid", "1:400"])
        let runs = try ObservedPlayback.play([
            Setup(try join([first, codec], to: "codecs.ts")),
            Setup(try join([first, identifier], to: "identifiers.ts")),
        ])
        for run in runs {
            run.expect(seconds: Array(0..<3) + Array(0..<6), heard: Array(0..<3), status: 1)
            #expect(run.result.errors.contains("packet identifier (PID)") && run.result.errorLines.count == 1)
        }
    }

    @Test func joinedTransportStreamsAreHeardOnASpeaker() throws {
        let recording = films.scratch.path("speaker.wav")
        let speaker = try ObservedPlayback.speaker(46, output: .file(path: recording))
        defer { speaker.stop() }
        let run = try ObservedPlayback.play([
            Setup("--speaker", "airplay://127.0.0.46:\(speaker.port)", try stepBack())
        ])[0]
        speaker.stop()
        run.sound = try OutputCapture(file: URL(filePath: recording))
        run.expect(seconds: Array(0..<6))
    }

    // MARK: Other containers

    @Test func anEditListThatEndsEarlyEndsPictureAndSound() throws {
        let whole = try films.part("whole.mp4", 0...5, Self.video + ["-g", "250", "-c:a", "aac"])
        let cut = films.scratch.path("cut.mp4")
        try TestClips.run(
            "ffmpeg", ["-nostdin", "-v", "error", "-y", "-ss", "1", "-t", "3", "-i", whole, "-c", "copy", cut])
        let run = try ObservedPlayback.play([Setup(cut)])[0]
        run.expect(seconds: [1, 2, 3])
    }

    @Test func aChainedOggFileOfAnotherRateNamesTheRate() throws {
        let songs = try [("48.ogg", 0...2, "48000"), ("44.ogg", 3...5, "44100")].map { name, seconds, rate in
            let path = films.scratch.path(name)
            try TestClips.run(
                "ffmpeg",
                ["-nostdin", "-v", "error", "-y", "-i", try films.part(name + ".mkv", seconds)]
                    + ["-vn", "-c:a", "libvorbis", "-ar", rate, path])
            return path
        }
        let run = try ObservedPlayback.play([Setup(try join(songs, to: "chained.ogg"))])[0]
        #expect(run.heard().map(\.second).starts(with: [0, 1, 2]), "\(run.result.errors)")
        #expect(run.result.errors.contains("44100 Hz instead of 48000 Hz") && run.result.errorLines.count == 1)
    }

    // MARK: HLS

    /// Writes segments of a second, and returns the lines of their playlist from the first segment on.
    private func segments(_ name: String, _ seconds: ClosedRange<Int>, _ options: [String]) throws -> [String] {
        let film = try films.part(name + ".mkv", seconds)
        let folder = films.scratch.folder.path
        try TestClips.run(
            "ffmpeg",
            ["-nostdin", "-v", "error", "-y", "-i", film] + Self.video + ["-c:a", "aac"] + options + [
                "-f", "hls", "-hls_time", "1", "-hls_playlist_type", "vod", "-hls_segment_filename",
                folder + "/\(name)%d", folder + "/\(name).m3u8",
            ])
        let text = try String(contentsOfFile: folder + "/\(name).m3u8", encoding: .utf8)
        return text.split(separator: "\n").map(String.init).filter {
            $0.hasPrefix("#EXTINF") || $0.hasPrefix("#EXT-X-MAP") || !$0.hasPrefix("#")
        }
    }

    private func playlist(_ name: String, _ lines: [String]) throws {
        let head = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:2", "#EXT-X-PLAYLIST-TYPE:VOD"]
        let text = (head + lines + ["#EXT-X-ENDLIST", ""]).joined(separator: "\n")
        _ = try films.scratch.file(name, Data(text.utf8))
    }

    @Test func partsOfOtherSizesAndSegmentsWithoutANameExtensionArePlayed() throws {
        let parts = try [("a", 0...2, "320x180"), ("b", 3...5, "640x360")].map { name, seconds, size in
            try segments(
                name, seconds,
                ["-s", size, "-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "\(name)-init.mp4"])
        }
        try playlist("sizes.m3u8", parts[0] + ["#EXT-X-DISCONTINUITY"] + parts[1])
        try playlist("plain.m3u8", try segments("c", 0...5, ["-hls_segment_type", "mpegts"]))
        let folder = films.scratch.folder.path
        let runs = try ObservedPlayback.play([Setup(folder + "/sizes.m3u8"), Setup(folder + "/plain.m3u8")])
        for run in runs { run.expect(seconds: Array(0..<6)) }
    }

    // feature: interstitials
    @Test func anInterstitialIsPlayedInsideTheFilm() throws {
        let film = try segments("film", 0...3, ["-hls_segment_type", "mpegts"])
        try playlist("break.m3u8", try segments("break", 4...5, ["-hls_segment_type", "mpegts"]))
        try playlist(
            "film.m3u8",
            [
                "#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00.000Z",
                "#EXT-X-DATERANGE:ID=\"1\",CLASS=\"com.apple.hls.interstitial\",START-DATE=\"2026-01-01T00:00:02.500Z\","
                    + "DURATION=2,X-ASSET-URI=\"break.m3u8\",X-RESUME-OFFSET=0",
            ] + film)
        let server = try TinyWebServer(serving: films.scratch.folder.path)
        defer { server.stop() }
        let run = try ObservedPlayback.play([Setup(server.url("film.m3u8"))])[0]
        run.expect(seconds: [0, 1, 2, 4, 5, 2, 3])
    }
}
