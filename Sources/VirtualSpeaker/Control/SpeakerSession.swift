internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets

/// The session of one control connection: takes requests and returns replies; it uses no sockets.
///
/// All input is untrusted: a malformed request is refused with a status, and no input traps.
struct SpeakerSession {
    struct Reply {
        var response: RTSPResponse
        /// Non-nil: everything after this reply is encrypted with keys derived from it.
        var secret: SecretBytes?
        /// Whether the connection ends after this reply.
        var closes = false
        /// What becomes of the response; nil: that of its request.
        var fault: SpeakerQuirks.ReplyFault?
    }

    private enum Stage { case strange, paired(SecretBytes), begun }

    let backend: any SessionBackend
    private var stage = Stage.strange

    /// The progress of the connection.
    var standing: Standing {
        switch stage {
        case .strange: .stranger
        case .paired: .paired
        case .begun: .begun
        }
    }

    /// Whether the sender has sent rate 1 without a time: playback is permitted, its anchor follows.
    var isPlayingAllowed = false
    private var pairSetup: PairSetupResponder
    private var pairVerify: PairVerifyResponder

    /// - Parameter admitted: The secret of a sender that is already paired.
    init(backend: any SessionBackend, admitted: SecretBytes? = nil) {
        self.backend = backend
        if let admitted { stage = .paired(admitted) }
        pairSetup = PairSetupResponder(
            admission: backend.configuration.admission, identity: backend.identity.pairing,
            stripsZeros: backend.configuration.quirks.stripsZeros)
        pairVerify = PairVerifyResponder(identity: backend.identity.pairing)
    }

    private static let plistType = "application/x-apple-binary-plist"
    private static let pairingType = "application/octet-stream"

    /// Returns the reply to a request, including refusals.
    mutating func handle(_ request: RTSPRequest) -> Reply {
        var reply: Reply
        do {
            reply = try answer(request)
        } catch {
            reply = Reply(response: RTSPResponse(status: error.status, reason: Self.reason(error.status)))
            reply.fault = error.fault
        }
        reply.response.version = request.version
        if let sequence = request.headers["CSeq"] { reply.response.headers.append("CSeq", sequence) }
        reply.response.headers.append("Server", "AirTunes/\(SpeakerIdentity.sourceVersion)")
        if reply.response.body.isEmpty { reply.response.headers.append("Content-Length", "0") }
        backend.record(
            .request(
                method: String(request.method.prefix(64)), target: String(request.target.prefix(256)),
                status: reply.response.status))
        return reply
    }

    static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 453: "Not Enough Bandwidth"
        case 454: "Session Not Found"
        case 455: "Method Not Valid In This State"
        case 470: "Connection Authorization Required"
        case 501: "Not Implemented"
        default: "Internal Server Error"
        }
    }

    private static let done = Reply(response: RTSPResponse(status: 200))

    private static func plist(_ value: PropertyList) -> Reply {
        Reply(response: RTSPResponse(status: 200, headers: ["Content-Type": plistType], body: value.binary()))
    }

    private mutating func answer(_ request: RTSPRequest) throws(SessionRefusal) -> Reply {
        if backend.configuration.quirks.wantsKnownSender, !Self.isKnownSender(request.headers["User-Agent"]) {
            throw SessionRefusal(status: 403)
        }
        // No supported request uses a query.
        let path = request.target.prefix { $0 != "?" }
        switch (request.method, path) {
        case ("GET", "/info"): return try info(request)
        case ("OPTIONS", _): return Self.options()
        case ("POST", "/pair-pin-start"): return Self.done
        case ("POST", "/pair-setup"): return setUpPairing(request)
        case ("POST", "/pair-verify"): return verifyPairing(request)
        default: break
        }
        if case .strange = stage { throw .pairingRequired }
        switch (request.method, path) {
        case ("SETUP", _): return try setUp(request)
        case ("POST", "/feedback"): return feedback()
        case ("POST", "/command"): return command(request)
        case ("POST", "/audioMode"): return Self.done
        case ("GET", _), ("POST", _): throw SessionRefusal(status: 404)
        default: break
        }
        guard case .begun = stage else { throw .noSession }
        switch request.method {
        case "RECORD": return try startRecord()
        case "SETPEERS", "SETPEERSX": return try setPeers(request)
        case "SET_PARAMETER": return setParameter(request)
        case "GET_PARAMETER": return getParameter(request)
        case "SETRATEANCHORTIME": return try setAnchor(request)
        case "FLUSHBUFFERED": return try flushBuffered(request)
        case "FLUSH": return try flush(request)
        case "TEARDOWN": return tearDown(request)
        default: throw .notImplemented
        }
    }

    // MARK: Sender identification

    private static func isKnownSender(_ agent: String?) -> Bool {
        guard let agent else { return false }
        if agent.hasPrefix("iTunes/") { return true }
        guard agent.hasPrefix("AirPlay/") else { return false }
        let number = agent.dropFirst(8).prefix { $0.isASCII && $0.isNumber }
        return (Int(number) ?? 0) >= 300
    }

    private static func options() -> Reply {
        let methods =
            "SETUP, RECORD, SETPEERS, SETPEERSX, SET_PARAMETER, GET_PARAMETER, SETRATEANCHORTIME, FLUSH, "
            + "FLUSHBUFFERED, TEARDOWN, OPTIONS, POST, GET"
        return Reply(response: RTSPResponse(status: 200, headers: ["Public": methods]))
    }

    private func info(_ request: RTSPRequest) throws(SessionRefusal) -> Reply {
        if !request.body.isEmpty {
            // A body with `qualifier` requests a subset (the mDNS strings); the full list contains it.
            // ignored: the sender receives the status of a bad request.
            guard let body = try? PropertyList(binary: request.body), body["qualifier"]?.array != nil else {
                throw .badRequest
            }
        }
        return Self.plist(SpeakerDescription(backend).propertyList)
    }

    private mutating func setUpPairing(_ request: RTSPRequest) -> Reply {
        let backend = backend
        let answer = pairSetup.respond(to: request.body) { backend.judge($0) }
        if answer.isProven { backend.refundProof() }
        if let paired = answer.paired { backend.store(paired) }
        var reply = Reply(
            response: RTSPResponse(
                status: answer.needsPIN ? 470 : 200, reason: Self.reason(answer.needsPIN ? 470 : 200),
                headers: ["Content-Type": Self.pairingType], body: answer.body))
        admit(answer.transientSecret, &reply)
        return reply
    }

    private mutating func verifyPairing(_ request: RTSPRequest) -> Reply {
        let answer = pairVerify.respond(to: request.body) { backend.pairedKey(of: $0) }
        var reply = Reply(
            response: RTSPResponse(status: 200, headers: ["Content-Type": Self.pairingType], body: answer.body))
        admit(answer.secret, &reply)
        return reply
    }

    private mutating func admit(_ secret: SecretBytes?, _ reply: inout Reply) {
        guard let secret, case .strange = stage else { return }
        stage = .paired(secret)
        reply.secret = secret
    }

    // MARK: The session

    private mutating func setUp(_ request: RTSPRequest) throws(SessionRefusal) -> Reply {
        // ignored: the response reports a bad request.
        guard let body = try? PropertyList(binary: request.body) else { throw .badRequest }
        if let streams = body["streams"]?.array {
            guard case .begun = stage else { throw .wrongState }
            return try setUpStream(streams)
        }
        guard case .paired(let secret) = stage else { throw .wrongState }
        let timing: SessionTiming
        switch body["timingProtocol"]?.string {
        case "PTP":
            guard backend.offersPTP, body["timingPeerInfo"]?.dictionary != nil else { throw .notImplemented }
            timing = .ptp
        case "NTP":
            guard let port = body["timingPort"]?.integer(UInt16.self), port != 0 else { throw .badRequest }
            timing = .ntp(port: port)
        default: throw .notImplemented
        }
        let eventPort = try backend.begin(timing, secret: secret)
        stage = .begun
        var answer: [String: PropertyList] = ["eventPort": .integer(Int64(eventPort)), "timingPort": 0]
        if timing == .ptp {
            answer["timingPeerInfo"] = [
                "Addresses": [.string(backend.configuration.address.literal)],
                "ID": .string(backend.configuration.address.literal),
            ]
        }
        return Self.plist(.dictionary(answer))
    }

    private func setUpStream(_ streams: [PropertyList]) throws(SessionRefusal) -> Reply {
        // This speaker plays one stream; Apple's senders request one too.
        guard let stream = streams.first, let key = stream["shk"]?.data, key.count == 32 else { throw .badRequest }
        let kind: StreamKind
        switch stream["type"]?.int64 {
        case 96: kind = .realtime
        case 103: kind = .buffered
        default: throw .badRequest
        }
        guard kind == .realtime || backend.offersPTP else { throw .badRequest }
        if kind == .buffered, let fault = backend.configuration.quirks.bufferedRefusal {
            if case .status(let status) = fault { throw SessionRefusal(status: status) }
            throw SessionRefusal(status: 500, fault: fault)
        }
        guard let format = Self.format(stream, kind) else { throw .badRequest }
        if kind == .buffered, case .wire(let wire) = format,
            backend.configuration.quirks.formats?.contains(wire.bit) == false
        {
            throw .badRequest
        }
        let answer = try backend.open(StreamRequest(kind: kind, format: format, key: SecretBytes(key)))
        backend.record(.stream(kind, format: format.name, sampleRate: format.sampleRate))
        var members: [String: PropertyList] = [
            "type": .integer(kind == .realtime ? 96 : 103), "dataPort": .integer(Int64(answer.dataPort)),
            "controlPort": .integer(Int64(answer.controlPort)), "streamID": 1,
        ]
        if let size = answer.bufferSize { members["audioBufferSize"] = .integer(Int64(size)) }
        if let time = backend.configuration.quirks.arrivalToRender {
            members["arrivalToRenderLatencyMs"] = .integer(time.wholeNanoseconds / 1_000_000)
        }
        return Self.plist(["streams": [.dictionary(members)]])
    }

    private static func format(_ stream: PropertyList, _ kind: StreamKind) -> PacketFormat? {
        let mask = stream["audioFormat"]?.int64
        switch kind {
        case .realtime:
            // PCM 44.1/16 stereo is bit 11; without a mask the format is ALAC 44.1, the usual one.
            if mask == 1 << 11 || stream["ct"]?.int64 == 1 { return .pcm44100 }
            return mask == nil || mask == StreamFormat.lossless44100.mask ? .wire(.lossless44100) : nil
        case .buffered:
            return StreamFormat.all.first { $0.mask == mask }.map { .wire($0) }
        }
    }

    private func startRecord() throws(SessionRefusal) -> Reply {
        guard backend.hasEventConnection() else { throw .failed }
        return Reply(response: RTSPResponse(status: 200, headers: ["Audio-Latency": "0"]))
    }

    private func setPeers(_ request: RTSPRequest) throws(SessionRefusal) -> Reply {
        // ignored: the response reports a bad request.
        guard let peers = try? PropertyList(binary: request.body), peers.array != nil else { throw .badRequest }
        return Self.done
    }

    /// Records the type of a property list about the item; other messages are ignored.
    private func command(_ request: RTSPRequest) -> Reply {
        // ignored: see above.
        if let type = (try? PropertyList(binary: request.body))?["type"]?.string {
            backend.record(.metadata(kind: String(type.prefix(64)), bytes: request.body.count))
        }
        return Self.done
    }

    private func feedback() -> Reply {
        guard let stream = backend.stream else { return Self.done }
        let type: Int64 = stream.kind == .realtime ? 96 : 103
        return Self.plist(["streams": [["type": .integer(type), "sr": .real(Double(stream.sampleRate))]]])
    }

    private mutating func tearDown(_ request: RTSPRequest) -> Reply {
        // ignored: shairport-sync ignores a TEARDOWN without a property list.
        guard let body = try? PropertyList(binary: request.body), body.dictionary != nil else { return Self.done }
        backend.closeStream()
        if body["streams"] != nil { return Self.done }
        backend.record(.tornDown)
        var reply = Reply(response: RTSPResponse(status: 200, headers: ["Connection": "close"]))
        reply.closes = true
        return reply
    }
}
