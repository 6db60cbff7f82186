import AirPlay
import AirPlayTransport
import CardOutput
import MediaCore
import Testing

@testable import RouteTestSupport

extension SpeakerLabTests {
    /// Audio that moves from this computer's card to shairport-sync and back, both recorded.
    @Suite(.enabled(if: PulseServer.isWanted, "needs pulseaudio, python3 and ALSA's pulse plugin"))
    struct RouteChangeTests {
        @Test(.timeLimit(.minutes(2))) func fromTheCardToAForeignSpeakerAndBackPlaybackStaysInSync() async throws {
            let peer = try Peer(.foreign)
            let server = try PulseServer()
            defer { server.stop() }
            let card = SoundCard(device: "pulse")
            let speaker = peer.output()
            speaker.setGain(0.99)
            var recorder: PulseServer.Recorder?
            let chain = try await RouteChain.play([card, speaker, card], each: .seconds(4)) {
                recorder = try server.record()
                try peer.record(seconds: 12)
            }
            let atCard = try #require(recorder).finish()
            let atSpeaker = try OutputCapture(file: peer.recorded())
            try chain.check(
                ["card", "shairport-sync", "card"],
                [RouteChain.Heard(atCard), RouteChain.Heard(atSpeaker), RouteChain.Heard(atCard)],
                slack: Bounds.isTight ? 60 : 150)
            let (out, back) = (chain.changes[0].at, chain.changes[1].at)
            #expect(back - chain.changes[1].asked < .seconds(1))
            // A receiver that joins a running timeline needs a few seconds to synchronize.
            let away = try #require(
                chain.offset(atSpeaker, from: out.advanced(by: .seconds(2)), to: out.advanced(by: .seconds(4))))
            let home = try #require(
                chain.offset(atCard, from: back.advanced(by: .seconds(1)), to: back.advanced(by: .seconds(4))))
            print(
                "the film is heard \(RouteContract.rounded(away)) ms late at the speaker, "
                    + "\(RouteContract.rounded(home)) ms late back at the card")
            #expect(Bounds.isNear(away, claim: 5))
            #expect(Bounds.isNear(home, claim: 2))
        }
    }
}
