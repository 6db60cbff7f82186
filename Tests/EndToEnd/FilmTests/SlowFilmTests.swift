import Foundation
import Glibc
import MediaCore
import Sockets
import TalkieTestKit
import Testing
import Text
import VirtualSpeaker

@testable import LocalOutput
@testable import RouteTestSupport

/// Films with picture, sound and a line of subtitles now and then, from a web server that is too slow or goes away: what is seen and heard.
@Suite(
    .serialized, .timeLimit(.minutes(4)),
    .enabled(
        if: PulseServer.isWanted && VirtualDisplay.isWanted, "needs Xvfb, pulseaudio, python3 and ALSA's pulse plugin"))
struct SlowFilmTests {
    private static let screen = (width: 640, height: 360)
    /// The seconds of the film that have a line of subtitles.
    private static let lines: Set<Int> = [2, 4]
    let films: FeatureFilms
    init() throws { films = try FeatureFilms() }

    private func film() throws -> (name: String, bytesPerSecond: Int) {
        let plain = try films.part("plain.mkv", 0...5)
        let words = Self.lines.sorted().map { "\($0)\n00:00:0\($0),200 --> 00:00:0\($0),800\nMMM\n" }.joined(separator: "\n")
        let made = try Program.run(
            "/usr/bin/ffmpeg",
            [
                "-nostdin", "-v", "error", "-i", plain, "-i", try films.scratch.file("lines.srt", Data(words.utf8)),
                "-vf", "noise=alls=8:allf=t", "-c:v", "mpeg4", "-q:v", "2", "-g", "25", "-c:a", "copy", "-c:s", "srt",
                "-disposition:s:0", "default", films.scratch.path("film.mkv"),
            ])
        try #require(made.status == 0, "\(made.errors)")
        return ("film.mkv", try Data(contentsOf: URL(filePath: films.scratch.path("film.mkv"))).count / 6)
    }

    private func server(_ bytesPerSecond: Double) throws -> (process: ChildProcess, address: String) {
        let script = Program.root.appending(path: "Tools/lab/slow-server").path
        let process = try ChildProcess(
            "/usr/bin/python3", [script, films.scratch.folder.path, String(Int(bytesPerSecond))], keepsOutput: true)
        var (port, byte) = ("", UInt8(0))
        while read(process.output, &byte, 1) == 1, byte != 10 { port.append(Character(Unicode.Scalar(byte))) }
        return (process, "http://127.0.0.1:\(port)/")
    }

    /// What the screen showed beside the film, gathered by the thread that looks at it.
    private final class Watch: @unchecked Sendable {
        /// Seconds of the film in which a line of subtitles was on the screen, and those in which none was.
        private(set) var withLine: Set<Int> = []
        private(set) var withoutLine: Set<Int> = []
        /// Screens with letters in the corner.
        private var unread: [DisplayPicture] = []
        private let painter = TextPainter()

        func look(_ playback: ObservedPlayback) {
            guard let picture = try? playback.display.picture(),
                let second = FeatureFilms.second(of: picture.color(screen.width / 2 + 10, screen.height / 2 + 5))
            else { return }
            func isLit(_ columns: Range<Int>) -> Bool {
                (290..<350).contains { y in
                    columns.count { x in
                        let color = picture.color(x, y)
                        return min(color.red, color.green, color.blue) > 220
                    } > 3
                }
            }
            if isLit(290..<350) { withLine.insert(second) } else { withoutLine.insert(second) }
            if isLit(400..<640), unread.count < 200 { unread.append(picture) }
        }

        /// Whether words were in the corner of the screen, pixel by pixel.
        func saw(_ text: String) -> Bool {
            guard let painter,
                let image = MessageDrawing(painter: painter).overlay(
                    text, in: PixelSize(width: screen.width, height: screen.height), at: .corner)
            else { return false }
            let rect = image.rect
            return unread.contains { picture in
                var (wrong, letters) = (0, 0)
                let ground = picture.color(screen.width / 2 + 10, screen.height / 2 + 5)
                for y in 0..<rect.height {
                    for x in 0..<rect.width {
                        let at = (y * rect.width + x) * 4
                        let (ink, cover) = (Int(image.pixels[at + 1]), Int(image.pixels[at + 3]))
                        if ink > 220, cover > 220 { letters += 1 }
                        let wanted = (ink * cover + ground.green * (255 - cover)) / 255
                        if abs(picture.color(rect.x + x, rect.y + y).green - wanted) > 60 { wrong += 1 }
                    }
                    if wrong * 50 >= rect.width * rect.height { return false }
                }
                return letters > 200
            }
        }
    }

    private func setup(_ words: [String], _ watch: Watch, each: @escaping (ObservedPlayback) -> Void = { _ in })
        -> ObservedPlayback.Setup
    {
        var setup = ObservedPlayback.Setup(screen: "\(Self.screen.width)x\(Self.screen.height)")
        setup.words = ["--fs"] + words
        setup.isOver = { playback in
            watch.look(playback)
            each(playback)
            return false
        }
        return setup
    }

    private func expectLines(_ watch: Watch, _ name: String) {
        #expect(watch.withLine == Self.lines, "\(name): lines in \(watch.withLine.sorted())")
    }

    // feature: a server of half the film's rate
    @Test func aFilmFromAServerOfHalfItsRateIsSeenAndHeardWholeOnTheCardAndOnASpeaker() throws {
        let (name, rate) = try film()
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(address: .init(rawValue: 0x7F00_0000 | 61), port: 0, clock: .required))
        defer { speaker.stop() }
        let servers = try [server(Double(rate) * 0.5), server(Double(rate) * 0.5)]
        defer { for server in servers { server.process.end() } }
        let watches = [Watch(), Watch()]
        let runs = try ObservedPlayback.play([
            setup([servers[0].address + name], watches[0]),
            setup(["--speaker", "airplay://127.0.0.61:\(speaker.port)", servers[1].address + name], watches[1]),
        ])
        runs[0].expect(seconds: Array(0..<6), offset: -0.3...0.3)
        runs[1].expect(seconds: Array(0..<6), heard: [])
        for (run, watch) in zip(runs, watches) {
            expectLines(watch, "\(run === runs[0] ? "card" : "speaker")")
            #expect((0..<100).contains { watch.saw("Waiting for the network: \($0) %") })
            let (first, last) = (try #require(run.seen.first), try #require(run.seen.last))
            #expect(last.to - first.from > 7.5, "six seconds of film at half its rate, after a reserve")
        }
        // Each part continues the film where the last one ended; the packet in which film time stopped is heard from its beginning.
        let seen = Dictionary(runs[1].seen.map { ($0.second, $0) }) { first, _ in first }
        let (spans, middles) = (speaker.record.spans, (0..<6).map { Double($0) + 0.5 })
        var heard = 0.0
        for span in spans {
            let length = Double(span.frames) / Double(span.sampleRate)
            for middle in middles where (heard..<heard + length).contains(middle) {
                let at = Double(span.instant.nanoseconds) / 1e9 + middle - heard
                let stretch = try #require(seen[Int(middle)])
                #expect((stretch.from...stretch.to + 0.1).contains(at), "\(middle): \(at) in \(stretch)")
            }
            heard += length
        }
        #expect((5.95...6.1 + 0.03 * Double(spans.count)).contains(heard), "\(heard) s in \(spans.count) parts")
    }

    // feature: a server that is away for a while
    @Test func theScreenSaysThatALostServerIsAskedAgainAndNothingOfTheFilmIsLost() throws {
        let (name, rate) = try film()
        let server = try server(Double(rate) * 1.3)
        defer { server.process.end() }
        let (watch, left) = (Watch(), Lock<Double?>(nil))
        let pid = server.process.pid
        let runs = try ObservedPlayback.play([
            setup([server.address + name], watch) { playback in
                guard let last = playback.seen.last, last.second >= 1 else { return }
                left.withLock { left in
                    if left == nil {
                        left = last.to
                        kill(pid, SIGUSR1)
                    } else if let since = left, last.to - since > 6 {
                        left = .infinity
                        kill(pid, SIGUSR2)
                    }
                }
            }
        ])
        runs[0].expect(seconds: Array(0..<6), offset: -0.3...0.3)
        expectLines(watch, "card")
        #expect(watch.saw("Reconnecting to 127.0.0.1"))
        #expect(!watch.saw("Reconnecting to 127.0.0.2"), "words are told apart")
        let (first, last) = (try #require(runs[0].seen.first), try #require(runs[0].seen.last))
        #expect((8...30).contains(last.to - first.from), "it waited for the server")
    }
}
