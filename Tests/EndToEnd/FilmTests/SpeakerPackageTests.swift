import Foundation
import MediaCore
import Sockets
import TalkieTestKit
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// A speaker of another package (Examples/Speaker), which uses public declarations only.
@Suite(.serialized, .timeLimit(.minutes(2)), .repeatedWhenTheMachineStalls) struct SpeakerPackageTests {
    /// Built next to the test bundle (`make test` does so).
    private static func built(_ name: String) throws -> String {
        let path = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: name).path
        try #require(
            FileManager.default.isExecutableFile(atPath: path),
            "build it: swift build --build-tests --package-path Examples/Speaker --scratch-path .build")
        return path
    }

    @Test func itKeepsThePublishedContract() throws {
        let result = try Program.run(
            try Self.built("SpeakerPackageTests.xctest"), ["--testing-library", "swift-testing"], atMost: 60)
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect("\(result.output)\(result.errors)".contains("1 test in 1 suite passed"))
    }

    @Test func itPlaysInAGroupInSyncWithANetworkSpeaker() throws {
        let film = try TestClips.make(
            "speaker-package.mp4",
            ["-f", "lavfi", "-i", "testsrc2=s=64x36:r=25:d=6"]
                + ["-f", "lavfi", "-i", "aevalsrc='0.5*sin(2*PI*1000*t)*lt(mod(t,1),0.05)':s=48000:d=6"]
                + TestClips.arguments("-c:v mpeg4 -c:a aac"))
        let folder = try Scratch()
        let heard = folder.path("heard.wav")
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(
                address: NetworkAddress("127.0.0.37")!, port: 0, output: .file(path: heard), clock: .required))
        defer { speaker.stop() }
        let result = try Program.run(
            try Self.built("SpeakerDemo"), [film, "airplay://127.0.0.37:\(speaker.port)"],
            environment: ["XDG_STATE_HOME": folder.path("state"), "SDL_VIDEODRIVER": "dummy"], atMost: 60)
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        let played = result.output.split(separator: "\n").compactMap { line in
            line.hasPrefix("sound at ") ? Double(line.dropFirst(9)) : nil
        }
        speaker.stop()
        let received = Self.onsets(in: try OutputCapture(file: URL(fileURLWithPath: heard)))
        let offsets = zip(played, received).map { ($0 - $1) / 1e6 }
        print("outside speaker against the network speaker: \(offsets.map(RouteContract.rounded)) ms")
        #expect(played.count == 6 && received.count == 6, "\(result.output)\(received)")
        #expect(Bounds.areTogether(offsets, claim: 1), "\(offsets)")
    }

    /// Returns when sound followed 100 ms of silence, in host nanoseconds, as the demo does.
    private static func onsets(in recording: OutputCapture) -> [Double] {
        let least = Int(recording.rate / 10)
        var (onsets, silence) = ([Double](), least)
        for (index, sample) in recording.samples.enumerated() {
            if abs(sample) > 0.02, silence >= least { onsets.append(recording.instant(of: Double(index))) }
            silence = abs(sample) > 0.02 ? 0 : silence + 1
        }
        return onsets
    }
}
