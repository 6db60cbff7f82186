package import AirPlayWire
package import MediaCore
package import Sockets

/// The request channel to one speaker: one request at a time, each with a deadline; encrypted once keys are set.
///
/// Used by one thread. After any error except `timedOut` while waiting for a response it stays broken.
package final class RTSPConnection {
    package let socket: TCPSocket
    private let identity: SenderIdentity
    /// The token of this speaker's commands.
    private let activeRemote: UInt32
    /// Records the requests and responses; nil: they are not recorded.
    private let trace: ConversationTrace?
    private var sequence = 0
    /// Whether a response has carried a CSeq; later responses without one are ignored.
    private var isNumbering = false
    private var sealer: HAPFrameSealer?
    private var opener: HAPFrameOpener?
    private var parser = RTSPParser()
    private var buffer = [UInt8](repeating: 0, count: 16 << 10)
    package private(set) var isBroken = false
    /// The instant of the last response, including late ones to timed-out requests.
    package private(set) var lastAnswer = HostInstant.now

    /// Receivers refuse versions below about 300; one changes its latency rule below 371.
    package static let userAgent = "AirPlay/670.6.2"

    package init(
        socket: TCPSocket, identity: SenderIdentity, activeRemote: UInt32 = .random(in: 1 ... .max),
        trace: ConversationTrace? = nil
    ) {
        self.trace = trace
        self.socket = socket
        self.identity = identity
        self.activeRemote = activeRemote
    }

    /// Marks the connection as broken: no more requests are sent.
    package func abandon() { isBroken = true }

    /// Encrypts both directions from the next byte on.
    ///
    /// - Throws: `protocolViolation` if unrequested bytes have been received. They would be taken for an encrypted
    ///   response, and could come from an attacker. The connection is broken then.
    package func encrypt(with keys: ChannelKeys) throws(AirPlayError) {
        guard !parser.isPartial else {
            isBroken = true
            throw AirPlayError(
                .protocolViolation,
                "The speaker sent unexpected data before the connection was encrypted; do not trust it.")
        }
        sealer = HAPFrameSealer(key: keys.write)
        opener = HAPFrameOpener(key: keys.read)
    }

    /// Sends a request and returns its response, regardless of the status.
    package func exchange(
        _ method: String, _ target: String, headers: RTSPHeaders = [:], body: [UInt8] = [], timeout: Duration
    ) throws(AirPlayError) -> RTSPResponse {
        guard !isBroken else { throw Self.gone }
        let deadline = HostInstant.now.advanced(by: timeout)
        sequence += 1
        var all: RTSPHeaders = [
            "CSeq": String(sequence), "User-Agent": Self.userAgent, "DACP-ID": identity.dacpID,
            "Active-Remote": String(activeRemote), "Client-Instance": identity.dacpID,
            "X-Apple-Client-Name": identity.name,
        ]
        for field in headers.fields { all.append(field.name, field.value) }
        let request = RTSPRequest(method, target, headers: all, body: body)
        let sent = HostInstant.now
        let outcome: Result<RTSPResponse, AirPlayError>
        do throws(AirPlayError) {
            try send(request, deadline: deadline)
            outcome = .success(try answer(to: sequence, deadline: deadline))
        } catch {
            outcome = .failure(error)
        }
        trace?.record(request, sent: sent, outcome)
        return try outcome.get()
    }

    private func send(_ request: RTSPRequest, deadline: HostInstant) throws(AirPlayError) {
        var wire = request.encoded()
        if let sealed = sealer?.seal(wire) { wire = sealed }
        do {
            try socket.sendAll(wire, deadline: deadline)
        } catch {
            // The request may be partly sent: the speaker would parse the next one as its remainder.
            isBroken = true
            throw AirPlayError(error)
        }
    }

    private func answer(to sequence: Int, deadline: HostInstant) throws(AirPlayError) -> RTSPResponse {
        while true {
            while let message = try parsed({ (parser) throws(WireError) in try parser.next() }) {
                lastAnswer = .now
                guard case .response(let response) = message else { continue }
                // Some receivers omit CSeq.
                guard let number = response.sequence else {
                    if isNumbering { continue }
                    return response
                }
                isNumbering = true
                if number == sequence { return response }
                // Late responses to timed-out requests are discarded.
                guard number < sequence else {
                    isBroken = true
                    throw AirPlayError(.protocolViolation, "The speaker sent a response without a request.")
                }
            }
            // Endless input must not block longer than silence.
            guard HostInstant.now < deadline else {
                isBroken = true
                throw AirPlayError(.protocolViolation, "The speaker sends data without end instead of a response.")
            }
            let count: Int
            do {
                count = try socket.receive(into: &buffer, deadline: deadline)
            } catch {
                if error.code != .timedOut { isBroken = true }
                throw AirPlayError(error)
            }
            guard count > 0 else {
                isBroken = true
                throw Self.gone
            }
            let bytes = buffer[..<count]
            let plain: [UInt8]?
            do {
                plain = try opener?.open(bytes)
            } catch {
                isBroken = true
                throw AirPlayError(.protocolViolation, error.message)
            }
            if let plain { parser.append(plain) } else { parser.append(bytes) }
        }
    }

    private func parsed<Result>(
        _ body: (inout RTSPParser) throws(WireError) -> Result
    ) throws(AirPlayError) -> Result {
        do {
            return try body(&parser)
        } catch {
            isBroken = true
            throw AirPlayError(.protocolViolation, error.message)
        }
    }

    private static let gone = AirPlayError(.ended, "The speaker has closed the connection.")
}

extension RTSPResponse {
    /// Returns the response if it is successful; otherwise throws the error for its status.
    ///
    /// - Parameter what: The action, for the error message.
    package func accepted(_ what: String) throws(AirPlayError) -> RTSPResponse {
        switch status {
        case 200..<300: return self
        case 401:
            throw AirPlayError(.pairingRequired, "The speaker requires its password to \(what).", status: status)
        case 403:
            throw AirPlayError(
                .refused,
                "The speaker denied a request to \(what); allow access for everyone on the network in its settings.",
                status: status)
        case 453:
            throw AirPlayError(
                .busy, "Another sender is playing on the speaker; stop it and try again.", status: status)
        case 454: throw AirPlayError(.ended, "The speaker has ended the session; reconnect.", status: status)
        case 470:
            throw AirPlayError(
                .pairingRequired, "The speaker must be paired first.", remedy: .pair, status: status)
        default:
            throw AirPlayError(.refused, "The speaker refused a request to \(what) (status \(status)).", status: status)
        }
    }

    /// Returns the body as a property list; an empty body is an empty dictionary.
    package func propertyList() throws(AirPlayError) -> PropertyList {
        guard !body.isEmpty else { return [:] }
        do {
            return try PropertyList(binary: body)
        } catch {
            throw AirPlayError(.protocolViolation, error.message)
        }
    }
}
