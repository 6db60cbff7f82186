import Foundation
import MediaCore
import PTP
import Sockets
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// A speaker that disappears during playback.
@Suite(
    .serialized, .timeLimit(.minutes(3)), .repeatedWhenTheMachineStalls,
    .enabled(if: PulseServer.isWanted, "needs pulseaudio, python3 and ALSA's pulse plugin"))
struct LostRouteTests {
    /// Plays to a speaker that is switched off after two seconds of sound. Returns the recording of the card, the
    /// instant of the switch-off, and the program's result.
    private func play(
        _ policy: String, recording: (PulseServer) throws -> PulseServer.Recorder
    ) throws -> (heard: OutputCapture, off: HostInstant, result: Program.Result) {
        let server = try PulseServer()
        defer { server.stop() }
        let recorder = try recording(server)
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(address: NetworkAddress("127.0.0.31")!, port: 0, clock: .required))
        defer { speaker.stop() }
        var off: HostInstant?
        let result = try Program.run(
            Program.talkie,
            [
                "play", "--no-video", "--log-level", "info", "--speaker", "airplay://127.0.0.31:\(speaker.port)",
                "--audio-device", "pulse", "--lost-route", policy, "--end", "9", Program.media("talking.mp4"),
            ], atMost: 40
        ) { _ in
            let isHeard = speaker.record.wait(until: .now.advanced(by: .seconds(15))) { record in
                record.spans.reduce(0) { $0 + $1.frames } > 2 * 44100
            }
            guard isHeard else { return }
            off = .now
            speaker.stop()
        }
        return (try recorder.finish(), try #require(off, "\(result.errors)"), result)
    }

    @Test func thisComputersOwnSoundTakesOverWhenThatIsWanted() throws {
        let (heard, off, result) = try play("local") { try $0.record() }
        #expect(result.status == 0, "\(result.errors)")
        let lost = result.errorLines.filter { $0.contains("is silent") }
        #expect(lost.count == 1, "\(result.errors)")
        #expect(result.errorLines.contains { $0.contains("Sound: This computer") }, "\(result.errors)")
        let first = try #require(heard.onset(above: 0.01), "nothing was heard of the card; \(result.errors)")
        let wait = heard.instant(of: Double(first)) / 1e9 - off.secondsOfHost
        print("the card is heard \(wait) s after the speaker was switched off")
        #expect(wait > 0 && wait < 4)
        let rest = Double(heard.samples.count - first) / heard.rate
        #expect(rest > 2, "it falls silent again")
    }

    @Test func elseTheSpeakerIsWaitedForAndTheCardStaysSilent() throws {
        let (heard, _, result) = try play("wait") { try $0.record() }
        #expect(result.status == 69, "\(result.errors)")
        #expect(result.errorLines.count { $0.contains("is silent") } == 1, "\(result.errors)")
        #expect(heard.onset(above: 0.01) == nil)
    }
}

extension HostInstant {
    fileprivate var secondsOfHost: Double { Double(nanoseconds) / 1e9 }
}
