import AirPlayWire
import MediaCore
import SpeakerTestSupport
import Testing

@testable import VirtualSpeaker

/// The session logic of the software speaker's classic mode.
@Suite struct ClassicSessionTests {
    private static let description =
        "v=0\r\nm=audio 0 RTP/AVP 96\r\na=rtpmap:96 AppleLossless\r\na=fmtp:96 352 0 16 40 10 14 2 255 0 0 44100\r\n"
    private static let transport: RTSPHeaders = [
        "Transport": "RTP/AVP/UDP;unicast;interleaved=0-1;mode=record;control_port=6001;timing_port=6002"
    ]

    private func backend(_ change: (inout SpeakerConfiguration) -> Void = { _ in }) -> NotedBackend {
        var configuration = SpeakerConfiguration()
        configuration.isClassic = true
        change(&configuration)
        return NotedBackend(configuration, offersPTP: false)
    }

    private func status(
        _ session: inout ClassicSpeakerSession, _ method: String, _ target: String = "rtsp://192.0.2.1/1",
        headers: RTSPHeaders = [:], body: String = ""
    ) -> Int {
        session.handle(RTSPRequest(method, target, headers: headers, body: Array(body.utf8))).response.status
    }

    @Test func requestsAreAnsweredInTheirOrderOnly() {
        let backend = backend()
        var session = ClassicSpeakerSession(backend: backend)
        #expect(status(&session, "SETUP", "*", headers: Self.transport) == 451)
        #expect(status(&session, "RECORD") == 451)
        #expect(status(&session, "OPTIONS", "*") == 200)
        #expect(status(&session, "GET", "/info") == 404)
        #expect(status(&session, "ANNOUNCE", "*", body: Self.description) == 200)
        #expect(status(&session, "SETUP", "*", headers: ["Transport": "control_port=6001"]) == 451)
        #expect(status(&session, "SETUP", "*", headers: Self.transport) == 200)
        #expect(status(&session, "RECORD") == 200)
        #expect(status(&session, "FLUSH", "*", headers: ["RTP-Info": "seq=1;rtptime=7"]) == 200)
        #expect(
            status(
                &session, "SET_PARAMETER", "*", headers: ["Content-Type": "text/parameters"], body: "volume: -20\r\n")
                == 200)
        #expect(status(&session, "TEARDOWN") == 200)
        #expect(backend.volume == -20)
        #expect(
            backend.asked == [
                .begin(.ntp(port: 6002)), .open(.realtime, PacketFormat.wire(.lossless44100).name),
                .flushRealtime(RTPTimestamp(rawValue: 7)),
                .closeStream,
            ], "\(backend.asked)")
    }

    @Test func encryptionThatIsNotOfferedIsRefused() {
        var session = ClassicSpeakerSession(backend: backend())
        #expect(status(&session, "ANNOUNCE", "*", body: Self.description + "a=aesiv:AAAA\r\n") == 456)
        #expect(status(&session, "ANNOUNCE", "*", body: "v=0\r\n") == 456)
    }

    @Test func withAPasswordEachRequestNeedsItsDigest() throws {
        var session = ClassicSpeakerSession(backend: backend { $0.admission = .password("secret") })
        let reply = session.handle(RTSPRequest("OPTIONS", "*"))
        #expect(reply.response.status == 401)
        #expect(reply.response.headers["WWW-Authenticate"]?.hasPrefix("Digest realm=\"raop\", nonce=\"") == true)
        #expect(status(&session, "OPTIONS", "*", headers: ["Authorization": "Digest"]) == 401)
    }

    @Test func authSetupComesFirstWhereItIsNeeded() {
        var session = ClassicSpeakerSession(backend: backend { $0.quirks.needsSetup = true })
        #expect(status(&session, "ANNOUNCE", "*", body: Self.description) == 403)
        #expect(status(&session, "POST", "/auth-setup", body: "short") == 400)
        #expect(status(&session, "POST", "/auth-setup", body: "\u{1}" + String(repeating: "k", count: 32)) == 200)
        #expect(status(&session, "ANNOUNCE", "*", body: Self.description) == 200)
    }
}
