import AirPlayWire
import MediaCore
import SpeakerTestSupport
import Testing

@testable import VirtualSpeaker

@Suite struct SpeakerSessionTests {
    private let key = SecretBytes([UInt8](repeating: 9, count: 32))
    private let clock: UInt64 = 0xA1B2_C3D4_E5F6_0718

    private func request(_ method: String, _ body: PropertyList? = nil, headers: RTSPHeaders = [:]) -> RTSPRequest {
        RTSPRequest(method, "rtsp://127.0.0.1/1", headers: headers, body: body?.binary() ?? [])
    }

    private var firstSetup: RTSPRequest {
        request(
            "SETUP",
            SessionRequests.setUp(
                deviceID: "A1:B2:C3:D4:E5:F6:07:18", macAddress: "A1:B2:C3:D4:E5:F6", session: "S", group: "G",
                name: "Test", timing: .ptp(TimingPeer(identifier: "I", clock: clock, addresses: ["127.0.0.1"]))))
    }

    private func secondSetup(_ format: StreamFormat) -> RTSPRequest {
        request(
            "SETUP",
            SessionRequests.setUpBufferedStream(format: format, key: key, controlPort: 1, connection: 1))
    }

    private func startedSession(_ backend: NotedBackend, _ format: StreamFormat = .aac48000) -> SpeakerSession {
        var session = SpeakerSession(backend: backend, admitted: key)
        _ = session.handle(firstSetup)
        _ = session.handle(secondSetup(format))
        return session
    }

    @Test func strangersMayAskWhoIsThereAndNothingElse() {
        var session = SpeakerSession(backend: NotedBackend())
        #expect(session.handle(RTSPRequest("GET", "/info")).response.status == 200)
        #expect(session.handle(firstSetup).response.status == 470)
        #expect(session.handle(request("TEARDOWN", [:])).response.status == 470)
    }

    @Test(arguments: [false, true])
    func aSenderFindsInInfoWhatItDecidesItsRouteBy(isList: Bool) throws {
        var configuration = SpeakerConfiguration()
        if isList { try configuration.quirks.set("format-list") }
        var session = SpeakerSession(backend: NotedBackend(configuration))
        let reply = session.handle(RTSPRequest("GET", "/info")).response
        let info = ReceiverInfo(try PropertyList(binary: reply.body))
        #expect(info.features?.isSuperset(of: [.audio, .bufferedAudio, .ptp, .transientPairing]) == true)
        #expect(info.bufferedFormats == [18, 21, 22, 23, 39, 40])
        #expect(info.initialVolume == 0)
        try configuration.quirks.set("16-bit")
        session = SpeakerSession(backend: NotedBackend(configuration))
        let other = session.handle(RTSPRequest("GET", "/info")).response
        #expect(ReceiverInfo(try PropertyList(binary: other.body)).bufferedFormats == [18, 22, 23, 39, 40])
    }

    @Test func aSpeakerWithAListOfFormatsRefusesOthers() throws {
        var configuration = SpeakerConfiguration()
        try configuration.quirks.set("formats=18:22")
        var session = SpeakerSession(backend: NotedBackend(configuration), admitted: key)
        let reply = session.handle(RTSPRequest("GET", "/info")).response
        #expect(ReceiverInfo(try PropertyList(binary: reply.body)).bufferedFormats == [18, 22])
        _ = session.handle(firstSetup)
        #expect(session.handle(secondSetup(.aac48000)).response.status == 400)
        #expect(session.handle(secondSetup(.aac44100)).response.status == 200)
    }

    @Test func withoutPortsForPTPNoBufferedStreamIsOffered() throws {
        var session = SpeakerSession(backend: NotedBackend(offersPTP: false), admitted: key)
        let info = ReceiverInfo(try PropertyList(binary: session.handle(RTSPRequest("GET", "/info")).response.body))
        #expect(info.features?.isDisjoint(with: [.bufferedAudio, .ptp]) == true)
        #expect(session.handle(firstSetup).response.status == 501)
    }

    @Test func bothSetupsAnswerWithWhatASenderReads() throws {
        let backend = NotedBackend()
        var session = SpeakerSession(backend: backend, admitted: key)
        let first = try SessionSetup(try PropertyList(binary: session.handle(firstSetup).response.body))
        #expect(first.eventPort == 5001)
        let second = try StreamSetup(try PropertyList(binary: session.handle(secondSetup(.aac48000)).response.body))
        #expect(second.dataPort == 5002)
        #expect(second.bufferSize == 8 << 20)
        #expect(backend.asked == [.begin(.ptp), .open(.buffered, "AAC-LC 48")])
    }

    @Test func recordWithoutAnEventConnectionFails() {
        let backend = NotedBackend()
        var session = startedSession(backend)
        backend.hasEvents = false
        #expect(session.handle(request("RECORD")).response.status == 500)
        backend.hasEvents = true
        #expect(session.handle(request("RECORD")).response.status == 200)
    }

    @Test func anAnchorSaysWhichFrameIsHeardWhenOnWhoseClock() {
        let backend = NotedBackend()
        var session = startedSession(backend)
        let instant = PTPInstant(nanoseconds: 12_345_678_901_234)
        let body = SessionRequests.play(position: RTPTimestamp(rawValue: 0xFFFF_FF00), at: instant, clock: clock)
        #expect(session.handle(request("SETRATEANCHORTIME", body)).response.status == 200)
        #expect(
            backend.asked.last
                == .play(PlayoutAnchor(position: RTPTimestamp(rawValue: 0xFFFF_FF00), instant: instant, clock: clock)))
        #expect(session.handle(request("SETRATEANCHORTIME", SessionRequests.pause())).response.status == 200)
        #expect(backend.asked.last == .pause)
    }

    @Test func anAnchorBeforeTheLockIsRefusedOnlyByTheQuirk() {
        for quirk in [false, true] {
            var configuration = SpeakerConfiguration()
            configuration.quirks.refusesAnchorBeforeLock = quirk
            let backend = NotedBackend(configuration)
            backend.isClockLocked = false
            var session = startedSession(backend)
            let body = SessionRequests.play(
                position: RTPTimestamp(rawValue: 0), at: PTPInstant(nanoseconds: 1), clock: clock)
            let status = session.handle(request("SETRATEANCHORTIME", body)).response.status
            #expect(status == (quirk ? 400 : 200))
        }
    }

    @Test func anAnchorOutOfReachIsABadRequest() {
        let backend = NotedBackend()
        var session = startedSession(backend)
        backend.takesAnchors = false
        let body = SessionRequests.play(
            position: RTPTimestamp(rawValue: 0), at: PTPInstant(nanoseconds: -9_223_372_036_000_000_000), clock: clock)
        #expect(session.handle(request("SETRATEANCHORTIME", body)).response.status == 400)
    }

    @Test func flushesReachTheStoreWithTheirNumbersOf23Bits() {
        let backend = NotedBackend()
        var session = startedSession(backend)
        _ = session.handle(
            request("FLUSHBUFFERED", SessionRequests.flush(untilSequence: 0x80_0005, timestamp: .init(rawValue: 1))))
        #expect(backend.asked.last == .flushBuffered(from: nil, until: 5))
        _ = session.handle(
            request(
                "FLUSHBUFFERED",
                SessionRequests.flush(
                    fromSequence: 3, fromTimestamp: .init(rawValue: 0), untilSequence: 9,
                    untilTimestamp: .init(rawValue: 1))))
        #expect(backend.asked.last == .flushBuffered(from: 3, until: 9))
    }

    @Test func volumeIsTakenInDecibelsAndNonsenseIsRefused() {
        let backend = NotedBackend()
        var session = startedSession(backend)
        func set(_ text: String) -> Int {
            var message = request("SET_PARAMETER", headers: ["Content-Type": "text/parameters"])
            message.body = Array(text.utf8)
            return session.handle(message).response.status
        }
        #expect(set("volume: -12.5\r\n") == 200)
        #expect(backend.volume == -12.5)
        #expect(set("volume: nan\r\n") == 400)
        #expect(set("volume: loud\r\n") == 400)
        #expect(backend.volume == -12.5)
    }

    @Test func itemsAndTheirProgressAreRecorded() {
        let backend = NotedBackend()
        var session = startedSession(backend)
        func set(_ type: String, _ body: [UInt8]) -> Int {
            var message = request("SET_PARAMETER", headers: ["Content-Type": type])
            message.body = body
            return session.handle(message).response.status
        }
        func last() -> SpeakerEvent? {
            backend.events.last { if case .request = $0 { false } else { true } }
        }
        let track = TrackMetadata(title: "Film", artist: "Studio", album: "Album", duration: .seconds(60))
        #expect(set("application/x-dmap-tagged", track.body) == 200)
        #expect(last() == .track(title: "Film", artist: "Studio", album: "Album", duration: .seconds(60)))
        func timestamp(_ value: UInt32) -> RTPTimestamp { RTPTimestamp(rawValue: value) }
        let progress = TextParameters.progress(start: timestamp(1), now: timestamp(2), end: timestamp(3))
        #expect(set("text/parameters", progress) == 200)
        #expect(last() == .progress(start: timestamp(1), now: timestamp(2), end: timestamp(3)))
        #expect(set("text/parameters", Array("progress: 1/2\r\n".utf8)) == 400)
        #expect(set("image/jpeg", [0xFF, 0xD8, 0xFF]) == 200)
        #expect(last() == .metadata(kind: "image/jpeg", bytes: 3))
    }

    @Test func teardownWithoutAPropertyListDoesNothing() {
        let backend = NotedBackend()
        var session = startedSession(backend)
        #expect(!session.handle(request("TEARDOWN")).closes)
        #expect(backend.stream != nil)
        #expect(!session.handle(request("TEARDOWN", SessionRequests.tearDown(type: 103, stream: 1))).closes)
        #expect(backend.stream == nil)
        #expect(session.handle(request("TEARDOWN", SessionRequests.tearDown())).closes)
    }

    @Test func everyReplyCarriesTheNumberAndTheProtocolOfItsRequest() {
        var session = SpeakerSession(backend: NotedBackend())
        let asked = RTSPRequest("GET", "/info", version: "HTTP/1.1", headers: ["CSeq": "17"])
        let reply = session.handle(asked).response
        #expect(reply.sequence == 17)
        #expect(reply.version == "HTTP/1.1")
    }

    @Test func oldSendersAreTurnedAwayWhenTheQuirkSaysSo() {
        var configuration = SpeakerConfiguration()
        configuration.quirks.wantsKnownSender = true
        var session = SpeakerSession(backend: NotedBackend(configuration))
        func status(_ agent: String) -> Int {
            session.handle(RTSPRequest("GET", "/info", headers: ["User-Agent": agent])).response.status
        }
        #expect(status("AirPlay/100") == 403)
        #expect(status("curl/8") == 403)
        #expect(status("AirPlay/550.10") == 200)
    }
}
