internal import AirPlayWire
internal import MediaCore

/// A session of one control connection: takes requests and returns replies.
protocol ControlSession {
    /// The progress of the connection.
    var standing: Standing { get }
    /// Returns the reply to a request, including refusals.
    mutating func handle(_ request: RTSPRequest) -> SpeakerSession.Reply
}

extension SpeakerSession: ControlSession {}

/// The session of classic AirPlay (RAOP) of one control connection; it uses no sockets.
///
/// All input is untrusted: a malformed request is refused with a status, and no input traps.
struct ClassicSpeakerSession: ControlSession {
    private enum Stage { case stranger, announced, begun }

    private let backend: any SessionBackend
    private let password: DigestPassword?
    private var stage = Stage.stranger
    /// Whether `/auth-setup` was requested.
    private var isSetUp = false
    private var format: PacketFormat?

    init(backend: any SessionBackend) {
        self.backend = backend
        if case .password(let secret) = backend.configuration.admission {
            password = DigestPassword(secret)
        } else {
            password = nil
        }
    }

    var standing: Standing { stage == .begun ? .begun : .stranger }

    mutating func handle(_ request: RTSPRequest) -> SpeakerSession.Reply {
        var reply: SpeakerSession.Reply
        do throws(SessionRefusal) {
            reply = try answer(request)
        } catch {
            reply = .init(response: RTSPResponse(status: error.status, reason: SpeakerSession.reason(error.status)))
            if error.status == 401, let password {
                reply.response.headers.append("WWW-Authenticate", password.challenge)
            }
        }
        reply.response.version = request.version
        if let sequence = request.headers["CSeq"] { reply.response.headers.append("CSeq", sequence) }
        reply.response.headers.append("Server", "AirTunes/\(Self.version)")
        if reply.response.body.isEmpty { reply.response.headers.append("Content-Length", "0") }
        backend.record(
            .request(
                method: String(request.method.prefix(64)), target: String(request.target.prefix(256)),
                status: reply.response.status))
        return reply
    }

    /// The version of a receiver without AirPlay 2.
    private static let version = "105.1"
    private static let done = SpeakerSession.Reply(response: RTSPResponse(status: 200))

    private mutating func answer(_ request: RTSPRequest) throws(SessionRefusal) -> SpeakerSession.Reply {
        if let password, !password.accepts(request) { throw SessionRefusal(status: 401) }
        switch request.method {
        case "OPTIONS":
            let methods = "ANNOUNCE, SETUP, RECORD, PAUSE, FLUSH, TEARDOWN, OPTIONS, GET_PARAMETER, SET_PARAMETER"
            return .init(response: RTSPResponse(status: 200, headers: ["Public": methods]))
        case "POST":
            guard request.target == "/auth-setup", !backend.configuration.quirks.isSilentAfterSetup else {
                throw SessionRefusal(status: 404)
            }
            guard request.body.count == 33, request.body[0] == 1 else { throw .badRequest }
            isSetUp = true
            return Self.done
        case "GET": throw SessionRefusal(status: 404)
        case "ANNOUNCE": return try announce(request)
        case "SETUP": return try setUp(request)
        default: break
        }
        guard stage == .begun else { throw SessionRefusal(status: 451) }
        switch request.method {
        case "RECORD": return .init(response: RTSPResponse(status: 200, headers: ["Audio-Latency": "11025"]))
        case "FLUSH": return try SpeakerSession(backend: backend).flush(request)
        case "SET_PARAMETER": return SpeakerSession(backend: backend).setParameter(request)
        case "GET_PARAMETER": return SpeakerSession(backend: backend).getParameter(request)
        case "TEARDOWN":
            backend.closeStream()
            backend.record(.tornDown)
            return .init(response: RTSPResponse(status: 200, headers: ["Connection": "close"]), closes: true)
        default: throw .notImplemented
        }
    }

    private mutating func announce(_ request: RTSPRequest) throws(SessionRefusal) -> SpeakerSession.Reply {
        if backend.configuration.quirks.needsSetup, !isSetUp { throw SessionRefusal(status: 403) }
        let lines = String(decoding: request.body.prefix(4096), as: UTF8.self).split(whereSeparator: \.isNewline)
        // Its key is that of Apple's receivers: this one announces no encryption.
        guard !lines.contains(where: { $0.hasPrefix("a=rsaaeskey:") || $0.hasPrefix("a=aesiv:") }),
            let fields = lines.first(where: { $0.hasPrefix("a=fmtp:96 ") })?.split(separator: " ").dropFirst(),
            fields.elementsEqual(["352", "0", "16", "40", "10", "14", "2", "255", "0", "0", "44100"])
        else { throw SessionRefusal(status: 456) }
        format = .wire(.lossless44100)
        stage = .announced
        return Self.done
    }

    private mutating func setUp(_ request: RTSPRequest) throws(SessionRefusal) -> SpeakerSession.Reply {
        guard stage == .announced, let format else { throw SessionRefusal(status: 451) }
        func port(_ name: String) -> UInt16? {
            let fields = (request.headers["Transport"] ?? "").split(separator: ";").map { $0.filter { $0 != " " } }
            let field = fields.first { $0.hasPrefix(name + "=") }
            return field.flatMap { UInt16($0.dropFirst(name.count + 1)) }.flatMap { $0 == 0 ? nil : $0 }
        }
        guard let timing = port("timing_port"), port("control_port") != nil else { throw SessionRefusal(status: 451) }
        _ = try backend.begin(.ntp(port: timing), secret: nil)
        stage = .begun
        let answer = try backend.open(StreamRequest(kind: .realtime, format: format, key: nil))
        backend.record(.stream(.realtime, format: format.name, sampleRate: format.sampleRate))
        let transport =
            "RTP/AVP/UDP;unicast;mode=record;server_port=\(answer.dataPort);control_port=\(answer.controlPort);"
            + "timing_port=0"
        return .init(
            response: RTSPResponse(
                status: 200, headers: ["Session": "1", "Transport": transport, "Audio-Jack-Status": "connected"]))
    }
}
