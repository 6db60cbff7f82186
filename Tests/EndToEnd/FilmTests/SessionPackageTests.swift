import Foundation
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// A program of another package (Examples/Session) with media keys, a list of outputs, and interruptions.
@Suite(
    .serialized, .timeLimit(.minutes(2)), .repeatedWhenTheMachineStalls,
    .enabled(if: PulseServer.isWanted, "needs pulseaudio, python3 and ALSA's pulse plugin"))
struct SessionPackageTests {
    /// Built next to the test bundle (`make test` does so).
    private static let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "SessionDemo").path

    @Test func aCallPausesAFilmAndItResumesWhereItStopped() throws {
        try #require(
            FileManager.default.isExecutableFile(atPath: Self.program),
            "build it: swift build --package-path Examples/Session --scratch-path .build")
        let server = try PulseServer()
        defer { server.stop() }
        let recorder = try server.record()
        let scratch = try Scratch()
        let song = try TestClips.make("session.flac", FeatureFilms.tone(400, 6) + ["-c:a", "flac"])
        let demo = TerminalProcess(
            [song], of: Self.program,
            environment: [
                "ALSA_CONFIG_PATH": try server.folder.asoundConfiguration(), "PULSE_SERVER": server.address,
                "DBUS_SESSION_BUS_ADDRESS": "", "XDG_STATE_HOME": scratch.path("state"),
            ])
        /// Returns the position that the program states.
        func position() throws -> Double {
            demo.discardOutput()
            demo.type("position\n")
            try #require(demo.see(" s\r\n"), "\(demo.output)")
            return try #require(demo.output.firstMatch(of: /at ([0-9.]+) s/).flatMap { Double($0.1) }, "\(demo.output)")
        }
        func wait(for time: Double) throws {
            let deadline = Date(timeIntervalSinceNow: 30)
            while try position() < time, Date() < deadline { usleep(20_000) }
        }
        try wait(for: 1.5)
        demo.type("outputs\n")
        #expect(demo.see("1 * This computer"), "\(demo.output)")
        demo.type("call\n")
        try #require(demo.see("interrupted: otherAudio"), "\(demo.output)")
        // Playback stops after the output's stop lead.
        var stopped = 0.0
        while try position() != stopped {
            stopped = try position()
            usleep(50_000)
        }
        usleep(2_000_000)
        #expect(try position() == stopped && stopped > 1.5)
        demo.type("hangup\n")
        try #require(demo.see("otherAudio is over"), "\(demo.output)")
        #expect(try position() < stopped + 1)
        #expect(demo.wait() == .status(0), "\(demo.output)")

        let tones = FeatureFilms.tones
        let heard = try recorder.finish().stretches(of: tones, above: 0.002).filter { $0.end - $0.start > 0.04 }
        let gaps = zip(heard, heard.dropFirst()).map { (before: $0, after: $1, length: $1.start - $0.end) }
        let silence = try #require(gaps.max { $0.length < $1.length }, "\(heard)")
        #expect(silence.length > 1.9 && gaps.count { $0.length > 0.5 } == 1, "\(heard)")
        // Neither skipped nor repeated.
        for (second, tone) in tones.enumerated() {
            let length = heard.filter { $0.hertz == tone }.reduce(0) { $0 + $1.end - $1.start }
            #expect(abs(length - 1) < 0.15, "second \(second): \(heard)")
        }
        #expect(zip(heard, heard.dropFirst()).allSatisfy { $0.hertz <= $1.hertz }, "\(heard)")
    }
}
