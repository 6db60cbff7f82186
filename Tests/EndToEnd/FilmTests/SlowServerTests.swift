import Foundation
import Glibc
import TalkieTestKit
import Testing

@testable import RouteTestSupport

/// Films with picture and sound from a web server that is slower than they are, or goes away, as a person plays them.
@Suite(
    .serialized, .timeLimit(.minutes(3)), .repeatedWhenTheMachineStalls,
    .enabled(if: PulseServer.isWanted, "needs pulseaudio, python3 and ALSA's pulse plugin"))
struct SlowServerTests {
    /// One tone for each second of the film.
    private static let seconds = 6
    private static let tones = (0..<seconds).map { 400 + 100 * $0 }
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func film() throws -> (path: String, bytesPerSecond: Int) {
        let path = scratch.path("film.mkv")
        try TestClips.make(
            at: path,
            [
                "-f", "lavfi", "-i",
                "testsrc=s=640x360:r=25:d=\(Self.seconds),noise=alls=20:allf=t", "-f",
                "lavfi", "-i", "aevalsrc='0.4*sin(2*PI*(400+100*floor(t))*t)':s=48000:d=\(Self.seconds)", "-c:v",
                "mpeg4", "-g", "25", "-b:v", "1000k", "-maxrate", "1000k",
                "-bufsize", "500k", "-c:a", "aac",
            ])
        return (path, try Data(contentsOf: URL(filePath: path)).count / Self.seconds)
    }

    /// Plays the film over a server of a share of its rate.
    ///
    /// - Parameter during: called with the server's process number as soon as the film is heard.
    private func play(rate: Double, options: [String] = [], during: (pid_t) -> Void = { _ in }) throws -> (
        heard: Recording, result: Program.Result, lines: [[String: Any]]
    ) {
        let (path, bytesPerSecond) = try film()
        let sound = try PulseServer()
        defer { sound.stop() }
        let server = try ChildProcess(
            "/usr/bin/python3",
            [
                Program.root.appending(path: "Tools/lab/slow-server").path, scratch.folder.path,
                String(Int(Double(bytesPerSecond) * rate)),
            ], keepsOutput: true)
        defer { server.end() }
        let port = try #require(portNumber(of: server), "no server")
        let record = scratch.path("t.jsonl")
        let recorder = try sound.record()
        let result = try Program.run(
            Program.talkie,
            ["play", "--audio-device", "pulse", "--timeline", record] + options + [
                "http://127.0.0.1:\(port)/\(URL(filePath: path).lastPathComponent)"
            ],
            environment: ["SDL_VIDEODRIVER": "dummy", "XDG_STATE_HOME": scratch.path("state")], atMost: 60
        ) { _ in
            let limit = Date(timeIntervalSinceNow: 20)
            while Date() < limit, !hasBegun(record) { usleep(50_000) }
            during(server.pid)
        }
        usleep(500_000)
        return (try recorder.finish(), result, try lines(record))
    }

    /// The first line that the server writes.
    private func portNumber(of server: ChildProcess) -> Int? {
        var (line, byte) = ("", UInt8(0))
        while read(server.output, &byte, 1) == 1, byte != 10 { line.append(Character(Unicode.Scalar(byte))) }
        return Int(line)
    }

    private func lines(_ record: String) throws -> [[String: Any]] {
        try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n").compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
    }

    private func hasBegun(_ record: String) -> Bool {
        (try? lines(record))?.contains { $0["event"] as? String == "state" && $0["phase"] as? String == "playing" }
            ?? false
    }

    /// Each tone is heard once and for its second, in order; how long was silence between the first and the last.
    private func check(_ heard: Recording) -> Double {
        let stretches = heard.stretches(of: Self.tones)
        var order: [Int] = []
        for stretch in stretches where order.last != stretch.hertz { order.append(stretch.hertz) }
        #expect(order == Self.tones, "\(stretches)")
        for tone in Self.tones {
            let length = stretches.filter { $0.hertz == tone }.reduce(0) { $0 + $1.end - $1.start }
            #expect((0.88...1.12).contains(length), "\(tone) Hz for \(length) s: \(stretches)")
        }
        return (stretches.last?.end ?? 0) - (stretches.first?.start ?? 0) - Double(Self.seconds)
    }

    private func waits(_ lines: [[String: Any]]) -> Int {
        lines.count { $0["event"] as? String == "state" && $0["phase"] as? String == "buffering" }
    }

    @Test func aServerThatIsTooSlowIsWaitedForAndEverySecondIsHeardOnce() throws {
        let (heard, result, lines) = try play(rate: 0.5)
        #expect(result.status == 0, "\(result.errors)")
        let silence = check(heard)
        #expect(silence > 1, "\(silence) s")
        #expect((2...9).contains(waits(lines)), "\(waits(lines)) waits")
        #expect(!lines.contains { $0["event"] as? String == "underrun" })
    }

    @Test func aServerThatIsAwayForSixSecondsLosesNothing() throws {
        let (heard, result, lines) = try play(rate: 4) { server in
            kill(server, SIGUSR1)
            sleep(6)
            kill(server, SIGUSR2)
        }
        #expect(result.status == 0, "\(result.errors)")
        let silence = check(heard)
        #expect((2...12).contains(silence), "\(silence) s")
        #expect(waits(lines) >= 2)
        #expect(result.errors.contains("broke off"), "\(result.errors)")
    }

    @Test func aServerThatStaysAwayIsAFailureAndNotTheEnd() throws {
        let (_, result, _) = try play(rate: 4, options: ["--network-timeout", "2"]) { kill($0, SIGUSR1) }
        #expect(result.status == 1, "\(result.errors)")
        #expect(result.errors.contains("sends nothing"), "\(result.errors)")
    }
}
