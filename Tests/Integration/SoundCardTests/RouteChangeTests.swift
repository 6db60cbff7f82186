import AirPlay
import AirPlayTransport
import CardOutput
import MediaCore
import Testing

@testable import RouteTestSupport

extension SoundCardTests {
    /// Audio that moves from a real sound card to software speakers and back; each output is recorded.
    @Suite(
        .serialized, .timeLimit(.minutes(2)),
        .enabled(if: PulseServer.isWanted, "needs pulseaudio, python3 and ALSA's pulse plugin"))
    struct RouteChangeTests {
        @Test func theOldOutputFallsSilentWhereTheNewOneIsHeard() async throws {
            let server = try PulseServer()
            defer { server.stop() }
            let speakers = try SoftwareSpeakers([.buffered, .realtime], ports: ClockPorts.pair(2))
            defer { speakers.stop() }
            let card = SoundCard(device: "pulse")
            var recorder: PulseServer.Recorder?
            let chain = try await RouteChain.play(
                [card, speakers.outputs[0], speakers.outputs[1], card], each: .seconds(2)
            ) { recorder = try server.record() }
            let recording = try #require(recorder).finish()
            let heard = RouteChain.Heard(recording)
            try chain.check(
                ["card", "buffered", "realtime", "card"],
                [heard] + speakers.heard + [heard])
            let back = try #require(chain.changes.last).at
            let offset = try #require(
                chain.offset(recording, from: back.advanced(by: .seconds(1)), to: back.advanced(by: .seconds(2))))
            print("back on the card the film is heard \(RouteContract.rounded(offset)) ms late")
            #expect(Bounds.isNear(offset, claim: 2))
        }
    }
}
