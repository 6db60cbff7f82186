internal import AirPlayWire
internal import MediaCore

/// The state machine of one control connection: framing, encryption and simulated faults around a session.
///
/// Takes received bytes and returns the bytes to send; it uses no sockets.
struct ControlConversation {
    /// An action for the connection. Actions are executed in order.
    enum Step {
        case send([UInt8])
        case wait(Duration)
        case close
    }

    /// Maximum size of a body in bytes before a session begins. Pairing, /info and the first SETUP take a few thousand.
    ///
    /// Only one connection at a time has a session, and with it `RTSPParser.bodyLimit`.
    static let smallBody = 64 << 10

    private(set) var session: any ControlSession
    /// The number of complete requests received.
    private(set) var requests = 0
    private var parser = RTSPParser(bodyLimit: Self.smallBody)
    private var opener: HAPFrameOpener?
    private var sealer: HAPFrameSealer?
    private let faults: [String: SpeakerQuirks.ReplyFault]
    private let replay: ConversationReplay?
    /// The reason for the end of the connection; nil while it is open.
    private(set) var ending: String?

    init(backend: any SessionBackend) {
        session =
            backend.configuration.isClassic
            ? ClassicSpeakerSession(backend: backend) : SpeakerSession(backend: backend)
        faults = backend.configuration.quirks.replyFaults
        replay = backend.configuration.quirks.replay
    }

    /// Whether a request has begun and is incomplete.
    var isPartial: Bool { parser.isPartial || opener?.isPartial ?? false }

    /// Processes received bytes. After a `close` step all further input is ignored.
    mutating func receive(_ bytes: some Collection<UInt8>) -> [Step] {
        guard ending == nil else { return [.close] }
        var steps: [Step] = []
        do throws(WireError) {
            if opener != nil {
                parser.append(try opener?.open(bytes) ?? [])
            } else {
                parser.append(bytes)
            }
            while ending == nil, let message = try parser.next() {
                guard case .request(let request) = message else {
                    throw WireError(.malformed, "The sender sent a response instead of a request.")
                }
                try answer(request, &steps)
            }
        } catch {
            ending = error.message
            steps.append(.close)
        }
        return steps
    }

    private mutating func answer(_ request: RTSPRequest, _ steps: inout [Step]) throws(WireError) {
        requests += 1
        let reply = replay?.next(to: request).map { recorded(request, $0) } ?? session.handle(request)
        parser.bodyLimit = session.standing == .begun ? RTSPParser.bodyLimit : Self.smallBody
        let path = String(request.target.prefix { $0 != "?" })
        let bytes = reply.response.encoded()
        switch reply.fault ?? faults[request.method] ?? faults[path] {
        case nil: steps.append(.send(sealed(bytes)))
        case .slow(let delay):
            steps.append(.wait(delay))
            steps.append(.send(sealed(bytes)))
        case .garbage: steps.append(.send(sealed((0..<200).map { UInt8(truncatingIfNeeded: $0 &* 73 &+ 5) })))
        case .truncated:
            let sealedReply = sealed(bytes)
            steps.append(.send(Array(sealedReply.prefix(sealedReply.count / 2))))
            steps.append(.close)
            ending = "the reply was cut on purpose"
        case .silence: break
        case .absurdlyLong:
            let head =
                "RTSP/1.0 200 OK\r\nCSeq: \(request.headers["CSeq"] ?? "0")\r\nContent-Length: 99999999999\r\n\r\n"
            steps.append(.send(sealed(Array(head.utf8))))
        case .status(let status):
            var response = RTSPResponse(status: status, reason: SpeakerSession.reason(status), version: request.version)
            if let sequence = request.headers["CSeq"] { response.headers.append("CSeq", sequence) }
            response.headers.append("Content-Length", "0")
            steps.append(.send(sealed(response.encoded())))
        }
        if let secret = reply.secret {
            guard parser.heldBytes == 0 else {
                throw WireError(.malformed, "The sender continued before the pairing response.")
            }
            let keys = ChannelKeys.control(from: secret).reversed
            opener = HAPFrameOpener(key: keys.read)
            sealer = HAPFrameSealer(key: keys.write)
        }
        if reply.closes {
            ending = "the sender ended the session"
            steps.append(.close)
        }
    }

    /// Returns the recorded reply. What the recorded speaker has refused does not change this speaker's session.
    private mutating func recorded(
        _ request: RTSPRequest, _ recorded: ConversationReplay.Response
    ) -> SpeakerSession.Reply {
        var reply = SpeakerSession.Reply(response: RTSPResponse(status: recorded.status))
        if (200..<300).contains(recorded.status) {
            reply = session.handle(request)
            // What this speaker cannot do, it cannot replay.
            guard (200..<300).contains(reply.response.status) else { return reply }
        }
        // ignored: without a property list every value is the recorded one.
        let own = try? PropertyList(binary: reply.response.body)
        let body = recorded.list.map { ConversationReplay.merged($0, own).binary() } ?? []
        var headers: RTSPHeaders = [:]
        if let sequence = request.headers["CSeq"] { headers.append("CSeq", sequence) }
        for field in recorded.headers { headers.append(field.name, field.value) }
        if body.isEmpty { headers.append("Content-Length", "0") }
        reply.response = RTSPResponse(
            status: recorded.status, reason: SpeakerSession.reason(recorded.status), version: request.version,
            headers: headers, body: body)
        return reply
    }

    private mutating func sealed(_ bytes: [UInt8]) -> [UInt8] { sealer?.seal(bytes) ?? bytes }
}
