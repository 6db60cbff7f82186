package import AirPlayWire

/// One message of a pairing, to be sent by POST.
package struct PairingRequest: Hashable, Sendable {
    /// `/pair-setup`, `/pair-verify` or `/pair-pin-start`.
    package let target: String
    package let headers: RTSPHeaders
    package let body: [UInt8]

    /// - Parameter kind: value of `X-Apple-HKP`: 4 for keys that last as long as the connection, 3 for kept ones.
    init(_ target: String, kind: String, body: [UInt8] = []) {
        self.target = target
        self.body = body
        headers =
            body.isEmpty ? ["X-Apple-HKP": kind] : ["X-Apple-HKP": kind, "Content-Type": "application/octet-stream"]
    }
}

/// What the speaker answered to it.
package struct PairingReply: Hashable, Sendable {
    package var status: Int
    package var body: [UInt8]

    package init(status: Int = 200, body: [UInt8] = []) {
        self.status = status
        self.body = body
    }
}

/// One way of coming to a secret, on one connection. After a failure that connection is of no use to another attempt.
struct PairingAttempt: Sendable {
    enum Kind: Sendable {
        /// Keys for this connection, from a password everybody or somebody knows.
        case transient(password: String)
        /// Keys to keep, from a PIN or password: messages M1 to M6.
        case persistent(code: String)
        /// Keys that were kept.
        case verify(PairedAccessory)
    }

    enum Progress: Sendable {
        case send(PairingRequest)
        /// The connection is encrypted from the next byte on, with keys from this.
        case secret(SecretBytes)
        /// The speaker knows us for good; the connection stays plain.
        case paired(PairedAccessory)
    }

    let kind: Kind
    private let identity: PairingIdentity
    private var setup: PairSetup
    private var verification: PairVerify?
    /// Answers that came, each of which has one meaning.
    private var answers = 0
    private var secret: SecretBytes?

    init(_ kind: Kind, identity: PairingIdentity) {
        self.kind = kind
        self.identity = identity
        if case .persistent = kind { setup = PairSetup(.persistent) } else { setup = PairSetup(.transient) }
        if case .verify(let accessory) = kind { verification = PairVerify(identity: identity, accessory: accessory) }
    }

    func start() -> PairingRequest {
        if let verification { return request(verification.start()) }
        return request(setup.start())
    }

    /// Takes the answer to the request before.
    mutating func receive(_ reply: PairingReply) throws(PairingFailure) -> Progress {
        guard reply.status == 200 else { throw Self.refusal(reply.status) }
        answers += 1
        do throws(WireError) {
            switch kind {
            case .verify:
                if answers == 1 { return .send(request(try verification!.respond(to: reply.body))) }
                return .secret(try verification!.finish(reply.body))
            case .transient(let code), .persistent(let code):
                if answers == 1 { return .send(request(try setup.respond(to: reply.body, password: code))) }
                if answers == 2 {
                    let secret = try setup.finish(reply.body)
                    guard case .persistent = kind else { return .secret(secret) }
                    self.secret = secret
                    return .send(request(PairSetup.exchange(identity: identity, secret: secret)))
                }
                return .paired(try PairSetup.accessory(in: reply.body, secret: secret!))
            }
        } catch {
            throw PairingFailure(error)
        }
    }

    private func request(_ body: [UInt8]) -> PairingRequest {
        switch kind {
        case .transient: PairingRequest("/pair-setup", kind: "4", body: body)
        case .persistent: PairingRequest("/pair-setup", kind: "3", body: body)
        case .verify: PairingRequest("/pair-verify", kind: "3", body: body)
        }
    }

    private static func refusal(_ status: Int) -> PairingFailure {
        switch status {
        case 401:
            PairingFailure(.passwordRequired, "The speaker wants its password.", status: status)
        case 403:
            PairingFailure(
                .refused, "The speaker lets nobody in from here; allow everybody on the same network in its settings.",
                status: status)
        case 470: PairingFailure(.pinRequired, "The speaker wants to be paired by PIN first.", status: status)
        case 453, 503:
            PairingFailure(.refused, "The speaker is busy with somebody else; try again later.", status: status)
        default: PairingFailure(.refused, "The speaker refuses to pair (status \(status)).", status: status)
        }
    }
}
