internal import AirPlayTransport
package import AirPlayWire

/// A message of a pairing, to be sent by POST.
package struct PairingRequest: Hashable, Sendable {
    /// `/pair-setup`, `/pair-verify` or `/pair-pin-start`.
    package let target: String
    package let headers: RTSPHeaders
    package let body: [UInt8]

    /// Creates a message.
    ///
    /// - Parameter kind: The value of `X-Apple-HKP`: 4 for transient keys, 3 for permanent ones.
    init(_ target: String, kind: String, body: [UInt8] = []) {
        self.target = target
        self.body = body
        headers =
            body.isEmpty ? ["X-Apple-HKP": kind] : ["X-Apple-HKP": kind, "Content-Type": "application/octet-stream"]
    }
}

/// The speaker's response to a pairing message.
package struct PairingReply: Hashable, Sendable {
    var status: Int
    package var body: [UInt8]

    package init(status: Int = 200, body: [UInt8] = []) {
        self.status = status
        self.body = body
    }
}

/// One attempt with one pairing method on one connection. After a failure the connection cannot be reused.
struct PairingAttempt: Sendable {
    enum Kind: Sendable {
        /// Keys for this connection, from a well-known or private password.
        case transient(password: String)
        /// Permanent keys, from a PIN or password: messages M1 to M6.
        case persistent(code: String)
        /// Stored permanent keys.
        case verify(PairedAccessory)
    }

    /// The result of `receive`.
    enum Progress: Sendable {
        case send(PairingRequest)
        /// The secret from which the keys derive; the connection is encrypted from the next byte on.
        case secret(SecretBytes)
        /// The speaker has stored our permanent key; the connection remains unencrypted.
        case paired(PairedAccessory)
    }

    let kind: Kind
    private let identity: PairingIdentity
    private var setup: PairSetup
    private var verification: PairVerify?
    /// The number of responses, which determines the meaning of the next one.
    private var answers = 0
    private var secret: SecretBytes?

    init(_ kind: Kind, identity: PairingIdentity) {
        self.kind = kind
        self.identity = identity
        if case .persistent = kind { setup = PairSetup(.persistent) } else { setup = PairSetup(.transient) }
        if case .verify(let accessory) = kind { verification = PairVerify(identity: identity, accessory: accessory) }
    }

    /// Returns the first message.
    func start() -> PairingRequest {
        if let verification { return request(verification.start()) }
        return request(setup.start())
    }

    /// Handles the response to the last message.
    ///
    /// - Throws: `AirPlayError`; the attempt has failed.
    mutating func receive(_ reply: PairingReply) throws(AirPlayError) -> Progress {
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
            throw AirPlayError(error)
        }
    }

    private func request(_ body: [UInt8]) -> PairingRequest {
        switch kind {
        case .transient: PairingRequest("/pair-setup", kind: "4", body: body)
        case .persistent: PairingRequest("/pair-setup", kind: "3", body: body)
        case .verify: PairingRequest("/pair-verify", kind: "3", body: body)
        }
    }

    private static func refusal(_ status: Int) -> AirPlayError {
        switch status {
        case 401:
            AirPlayError(.pairingRequired, "The speaker requires its password.", status: status)
        case 403:
            AirPlayError(
                .refused, "The speaker denies access; allow everyone on the same network in its settings.",
                status: status)
        case 470: AirPlayError(.pairingRequired, "The speaker must be paired by PIN first.", status: status)
        case 453, 503:
            AirPlayError(.busy, "The speaker is busy with another sender; try again later.", status: status)
        default: AirPlayError(.refused, "The speaker refuses to pair (status \(status)).", status: status)
        }
    }
}
