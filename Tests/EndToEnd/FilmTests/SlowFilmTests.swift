import Foundation
import Glibc
import MediaCore
import TalkieTestKit
import Testing
import Text
import VirtualSpeaker

@testable import ProgramTestSupport
@testable import RouteTestSupport
@testable import ScreenOutput

/// A film with video, audio and sparse subtitles from a web server that is too slow or disappears, as seen and heard.
@Suite(
    .serialized, .timeLimit(.minutes(4)), .repeatedWhenTheMachineStalls,
    .enabled(
        if: PulseServer.isWanted && VirtualDisplay.isWanted, "needs Xvfb, pulseaudio, python3 and ALSA's pulse plugin"))
struct SlowFilmTests {
    private static let seconds = Array(0..<6)
    private static let screen = PixelSize(width: 640, height: 360)
    /// The seconds of the film that have a subtitle.
    private static let lines: Set<Int> = [2, 4]
    /// Audio minus video: the screen is sampled and the recording analysed in steps of 20 ms.
    private static let offset = -0.1...0.1
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    // MARK: The film and its server

    /// The colours and tones of `FeatureFilms`. The upper half is noise, which gives the file its bit rate; subtitles
    /// are shown in the plain lower half.
    private static let film = Result {
        let lines = Self.lines.sorted().map { SubtitleFiles.Cue($0 * 1000 + 200, $0 * 1000 + 800, "MMM") }
        let (inputs, picture) = FeatureFilms.picture(seconds)
        return try TestClips.make(
            "slow.mkv",
            inputs + FeatureFilms.tone(400, seconds.count) + [
                "-i", try SubtitleFiles.write(SubtitleFiles.srt(lines), as: "srt"), "-filter_complex",
                "\(picture),split[a][b];[a]crop=iw:ih/2:0:0,noise=alls=10:allf=t[c];[b]crop=iw:ih/2:0:ih/2[d];[c][d]vstack[e]",
                "-map", "[e]", "-map", "6", "-map", "7", "-c:v", "mpeg4", "-q:v", "4", "-g", "25", "-c:a", "aac",
                "-c:s",
                "srt", "-disposition:s:0", "default",
            ])
    }

    /// A local server of the film that runs until `deinit`.
    private final class Server {
        let process: ChildProcess
        let address: String

        /// - Parameters:
        ///   - share: of the film's bit rate.
        ///   - seconds: the duration of the film; nil: `SlowFilmTests.film`.
        init(share: Double, of film: String? = nil, seconds: Int = SlowFilmTests.seconds.count) throws {
            let film = URL(filePath: try film ?? SlowFilmTests.film.get())
            let rate = Double(try Data(contentsOf: film).count) / Double(seconds)
            process = try ChildProcess(
                "/usr/bin/python3",
                [
                    Program.root.appending(path: "Tools/lab/slow-server").path, film.deletingLastPathComponent().path,
                    String(Int(rate * share)),
                ], keepsOutput: true)
            var (port, byte) = ("", UInt8(0))
            while read(process.output, &byte, 1) == 1, byte != 10 { port.append(Character(Unicode.Scalar(byte))) }
            let number = try #require(Int(port), "no server")
            address = "http://127.0.0.1:\(number)/\(film.lastPathComponent)"
        }

        func stopServing() { kill(process.pid, SIGUSR1) }
        func resumeServing() { kill(process.pid, SIGUSR2) }
    }

    // MARK: Observation

    /// Collects what the screen showed in addition to the film.
    ///
    /// `@unchecked Sendable`: used by the thread that samples the screen until that has ended, then by the test.
    private final class Watch: @unchecked Sendable {
        /// Seconds of the film in which a subtitle was shown, and those in which at some moment none was.
        private(set) var withLine: Set<Int> = []
        private(set) var withoutLine: Set<Int> = []
        /// Seconds of the film in which at some moment no message was in the corner.
        private(set) var withoutWords: Set<Int> = []
        /// The screen at each change of its lower part, while a message was shown.
        private var pictures: [(second: Int, picture: DisplayPicture)] = []
        private let painter = TextPainter()

        func sample(_ picture: DisplayPicture) {
            guard let second = FeatureFilms.second(of: Self.ground(of: picture)) else { return }
            func isLit(_ columns: Range<Int>, _ rows: Range<Int>) -> Bool {
                rows.contains { y in
                    columns.count { x in
                        let color = picture.color(x, y)
                        return min(color.red, color.green, color.blue) > 220
                    } > 3
                }
            }
            if isLit(290..<350, 290..<350) { withLine.insert(second) } else { withoutLine.insert(second) }
            guard isLit(450..<630, 330..<350) else {
                withoutWords.insert(second)
                return
            }
            let count = 40 * picture.rowBytes
            if pictures.last?.picture.bytes.suffix(count) != picture.bytes.suffix(count) {
                pictures.append((second, picture))
            }
        }

        private static func ground(of picture: DisplayPicture) -> DisplayPicture.Color {
            picture.color(picture.width / 2 + 10, picture.height / 2 + 5)
        }

        /// Returns the seconds of the film in which a text was in the corner of the screen, compared by pixels.
        func seconds(showing text: String) -> [Int] {
            guard let painter,
                let image = MessageDrawing(painter: painter).overlay(text, in: SlowFilmTests.screen, at: .corner)
            else { return [] }
            return pictures.filter { Self.shows(image, on: $0.picture) }.map(\.second)
        }

        private static func shows(_ image: OverlayImage, on picture: DisplayPicture) -> Bool {
            let (rect, ground) = (image.rect, ground(of: picture).green)
            var wrong = 0
            for index in 0..<(rect.width * rect.height) {
                let (ink, cover) = (Int(image.pixels[index * 4 + 1]), Int(image.pixels[index * 4 + 3]))
                let wanted = (ink * cover + ground * (255 - cover)) / 255
                let (x, y) = (rect.x + index % rect.width, rect.y + index / rect.width)
                if abs(picture.color(x, y).green - wanted) > 60 { wrong += 1 }
                // More pixels than that differ between two digits.
                if wrong > 8 { return false }
            }
            return true
        }
    }

    // MARK: Playing

    private struct Played {
        var run: ObservedPlayback
        var watch: Watch
        /// The lines of `--timeline`.
        var events: [[String: Any]]

        /// The number of waits after the start.
        var waits: Int {
            events.count { $0["event"] as? String == "state" && $0["phase"] as? String == "buffering" } - 1
        }
    }

    /// Plays the film from a server.
    ///
    /// - Parameter each: called for each sample of the screen.
    private func play(
        _ server: Server, _ options: [String] = [], each: @escaping (ObservedPlayback) -> Void = { _ in }
    ) throws -> Played {
        let (watch, record) = (Watch(), scratch.path("t.jsonl"))
        var setup = ObservedPlayback.Setup(screen: "\(Self.screen.width)x\(Self.screen.height)")
        setup.words = ["--fs", "--timeline", record] + options + [server.address]
        setup.isOver = { playback in
            if let picture = playback.screen { watch.sample(picture) }
            each(playback)
            return false
        }
        let run = try ObservedPlayback.play([setup])[0]
        let events = try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n").compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
        return Played(run: run, watch: watch, events: events)
    }

    /// Expects each second to be seen and heard once, in step, and the subtitles in their seconds.
    private func expectWhole(_ played: Played) throws {
        let (run, watch) = (played.run, played.watch)
        run.expect(seconds: Self.seconds, offset: Self.offset)
        let offsets = Self.seconds.map { run.offset(of: $0) ?? .nan }
        print("sound minus picture: \(offsets)")
        let sound = try #require(run.sound)
        for tone in FeatureFilms.tones {
            let stretches = sound.stretches(of: FeatureFilms.tones, above: 0.002).filter { $0.hertz == tone }
            let length = stretches.reduce(0) { $0 + $1.end - $1.start }
            #expect((0.88...1.12).contains(length), "\(tone) Hz for \(length) s")
        }
        #expect(watch.withLine == Self.lines && watch.withoutLine == Set(Self.seconds), "lines in \(watch.withLine)")
        #expect(!played.events.contains { $0["event"] as? String == "underrun" })
    }

    /// Expects the waits that a server of half the bit rate requires, and no others.
    private func expectWaits(_ played: Played) throws {
        let (run, watch) = (played.run, played.watch)
        let percentages = (0..<100).filter { !watch.seconds(showing: "Waiting for the network: \($0) %").isEmpty }
        let (first, last) = (try #require(run.seen.first), try #require(run.seen.last))
        let length = last.to - first.from
        print("half the rate: \(length) s, \(played.waits) waits, shown \(percentages) %")
        #expect(percentages.count >= 3, "\(percentages)")
        #expect(watch.withoutWords.count >= 4, "words only while it waits: \(watch.withoutWords)")
        // Reserves of 1 and 2 s last for 6 s of film at this rate.
        #expect((2...3).contains(played.waits), "\(played.waits) waits")
        // 12 s of transfer, some of it before the first frame; the last reserve is played afterwards.
        #expect((8...17).contains(length), "\(length) s")
    }

    // feature: a server of half the film's rate, guide: Sound on this computer
    @Test func aFilmFromAServerOfHalfItsRateIsSeenAndHeardWholeOnTheCard() throws {
        let played = try play(Server(share: 0.5))
        try expectWhole(played)
        try expectWaits(played)
    }

    // feature: a server of half the film's rate, guide: Sound on AirPlay speakers
    @Test func aFilmFromAServerOfHalfItsRateIsSeenAndHeardWholeOnASpeaker() throws {
        let recording = scratch.path("heard.wav")
        let speaker = try ObservedPlayback.speaker(61, output: .file(path: recording))
        defer { speaker.stop() }
        let played = try play(Server(share: 0.5), ["--speaker", "airplay://127.0.0.61:\(speaker.port)"])
        #expect(played.run.heard().isEmpty, "nothing on the card")
        speaker.stop()
        played.run.sound = try OutputCapture(file: URL(filePath: recording))
        try expectWhole(played)
        try expectWaits(played)
    }

    /// Plays from a server that is away for six seconds after the first second of the film.
    private func playWhileAway(_ server: Server, _ options: [String] = []) throws -> Played {
        var (left, isBack) = (Double?.none, false)
        return try play(server, options) { playback in
            guard let last = playback.looks.last, let second = last.second, second >= 1, !isBack else { return }
            if let left, last.at - left > 6 {
                isBack = true
                server.resumeServing()
            } else if left == nil {
                left = last.at
                server.stopServing()
            }
        }
    }

    // feature: a server that is away for a while
    @Test func aLostServerIsAskedAgainAndNothingOfTheFilmIsLost() throws {
        let server = try Server(share: 1.3)
        let played = try playWhileAway(server)
        try expectWhole(played)
        let (run, watch) = (played.run, played.watch)
        #expect(!watch.seconds(showing: "Reconnecting to 127.0.0.1").isEmpty)
        #expect(watch.seconds(showing: "Reconnecting to 127.0.0.2").isEmpty, "messages are distinguished")
        #expect(run.result.errors.contains("was lost; reconnecting"), "\(run.result.errors)")
        let (first, last) = (try #require(run.seen.first), try #require(run.seen.last))
        let length = last.to - first.from
        print("a server away for 6 s: \(length) s, \(played.waits) waits")
        #expect((1...2).contains(played.waits))
        // The server is retried every 4 s; up to 2 s of reserve are read before the film continues.
        #expect((10...19).contains(length), "\(length) s")
    }

    /// The film is read ahead at six times its rate for six seconds; then its server is away for seven. After that the
    /// server is tried within another half second, and the tracks read up to eleven seconds ahead of the film.
    // feature: --demuxer-max-bytes, --cache-secs
    @Test func aServerThatIsAwayWhileTheFilmIsReadAheadIsNotNoticed() throws {
        let film = try TestClips.make(
            "slow-long.mkv", ["-stream_loop", "7", "-i", try Self.film.get(), "-c", "copy", "-t", "48"])
        let server = try Server(share: 6, of: film, seconds: 48)
        var (left, isBack) = (Double?.none, false)
        let options = ["--demuxer-max-bytes", "100MiB", "--cache-secs", "600", "--end", "26"]
        let played = try play(server, options) { playback in
            guard let first = playback.looks.first(where: { $0.second != nil })?.at, let now = playback.looks.last?.at,
                !isBack
            else { return }
            if let left, now - left > 7 {
                isBack = true
                server.resumeServing()
            } else if left == nil, now - first > 6 {
                left = now
                server.stopServing()
            }
        }
        #expect(isBack && played.run.result.status == 0, "\(played.run.result.errors)")
        #expect(played.waits == 0 && !played.run.result.errors.contains("reconnecting"), "\(played.run.result.errors)")
        #expect(!played.events.contains { $0["event"] as? String == "underrun" })
        let (first, last) = (try #require(played.run.seen.first), try #require(played.run.seen.last))
        #expect((25...27.5).contains(last.to - first.from), "\(last.to - first.from) s")
    }

    /// Without reading ahead, the same absence is noticed.
    // feature: --cache-secs
    @Test func aServerThatIsAwayIsNoticedWithoutReadingAhead() throws {
        let server = try Server(share: 3)
        let played = try playWhileAway(server, ["--cache-secs", "0"])
        try expectWhole(played)
        #expect(played.waits >= 1)
    }

    // feature: exit status 1
    @Test func aServerThatStaysAwayIsAFailureAndNotTheEnd() throws {
        let server = try Server(share: 1.3)
        let played = try play(server, ["--network-timeout", "2"]) { playback in
            if playback.looks.last?.second == 1 { server.stopServing() }
        }
        #expect(played.run.result.status == 1, "\(played.run.result.errors)")
        #expect(played.run.result.errors.contains("sends no data"), "\(played.run.result.errors)")
    }
}
