internal import MediaCore

/// The receiver's side of pair-setup, for software receivers: one value per connection.
///
/// Input is untrusted. A message out of order, a wrong proof or malformed bytes are answered with an error and reset
/// the attempt.
package struct PairSetupResponder: Sendable {
    /// The access policy of a receiver.
    package enum Admission: Hashable, Sendable {
        /// Every sender, by transient pairing with the well-known password.
        case open
        /// Senders with this password, by transient pairing.
        case password(String)
        /// Senders with the PIN that the receiver displays; the pairing is stored. Transient pairing is rejected.
        case pin(String)

        var secret: String {
            switch self {
            case .open: PairSetup.transientPassword
            case .password(let text), .pin(let text): text
            }
        }
    }

    /// A pairing step of a sender that has to guess the secret.
    package enum Step: Hashable, Sendable {
        /// The sender requests a challenge (M1).
        case challenge
        /// The sender proves knowledge of the secret (M3). Counts as an attempt.
        case proof
    }

    /// The error of a step that `judge` rejects.
    package struct Refusal: Hashable, Sendable {
        let error: PairingError
        /// Seconds until a retry, rounded up, at least one.
        let retryDelay: UInt32

        package init(_ error: PairingError, after wait: Duration) {
            self.error = error
            retryDelay = UInt32(clamping: max(1, (wait.wholeNanoseconds + 999_999_999) / 1_000_000_000))
        }
    }

    /// The response to a message, and its effects.
    package struct Reply: Sendable {
        package let body: [UInt8]
        /// The sender has proved knowledge of the secret in this message.
        package var isProven = false
        /// The sender must pair by PIN: HTTP status 470 instead of 200.
        package var needsPIN = false
        /// The secret of this connection: everything after this response is encrypted.
        package var transientSecret: SecretBytes?
        /// The sender that can use pair-verify from now on.
        package var paired: PairedAccessory?
    }

    private enum Stage {
        case idle
        case challenged(SRPServer, transient: Bool)
        case proven(SecretBytes)
    }

    private let admission: Admission
    private let identity: PairingIdentity
    /// Simulates a receiver that sends salt, key and proof as numbers without leading zeros; the salt has one.
    private let stripsZeros: Bool
    private var stage = Stage.idle

    package init(admission: Admission, identity: PairingIdentity, stripsZeros: Bool = false) {
        self.admission = admission
        self.identity = identity
        self.stripsZeros = stripsZeros
    }

    /// Returns the response to one message. M1 and M3 compute for about 10 ms.
    ///
    /// - Parameter judge: returns an error to reject a step, for rate limiting. Called before the computation, and only
    ///   if the secret can be guessed.
    package mutating func respond(to body: [UInt8], judge: (Step) -> Refusal? = { _ in nil }) -> Reply {
        // ignored: the sender is refused.
        guard let message = try? TLV8(decoding: body), let state = message[.state]?.first else {
            stage = .idle
            return Self.refusal(.unknown, state: 2)
        }
        let current = stage
        stage = .idle
        if let refusal = refusal(state, current, judge) {
            var items: [TLV8.Item] = [.init(.state, [state &+ 1]), .init(.error, [refusal.error.rawValue])]
            if refusal.error == .backOff {
                let delay = (0..<4).map { UInt8(truncatingIfNeeded: refusal.retryDelay >> (8 * UInt32($0))) }
                items.append(.init(.retryDelay, delay))
            }
            return Reply(body: TLV8(items).encoded())
        }
        switch (state, current) {
        case (1, _): return challenge(message)
        case (3, .challenged(let server, let transient)): return prove(message, server, transient)
        case (5, .proven(let secret)): return exchange(message, secret)
        default: return Self.refusal(.unknown, state: state &+ 1)
        }
    }

    private func refusal(_ state: UInt8, _ current: Stage, _ judge: (Step) -> Refusal?) -> Refusal? {
        if case .open = admission { return nil }
        switch (state, current) {
        case (1, _): return judge(.challenge)
        case (3, .challenged): return judge(.proof)
        default: return nil
        }
    }

    private static func refusal(_ error: PairingError, state: UInt8) -> Reply {
        Reply(body: TLV8([.init(.state, [state]), .init(.error, [error.rawValue])]).encoded())
    }

    private mutating func challenge(_ message: TLV8) -> Reply {
        let transient = (message[.flags]?.first ?? 0) & 0x10 != 0
        if case .pin = admission, transient {
            var reply = Self.refusal(.authentication, state: 2)
            reply.needsPIN = true
            return reply
        }
        let server =
            stripsZeros ? SRPServer(password: admission.secret, saltSize: 15) : SRPServer(password: admission.secret)
        stage = .challenged(server, transient: transient)
        return Reply(
            body: TLV8([.init(.state, [2]), .init(.salt, server.salt), .init(.publicKey, server.publicKey)]).encoded())
    }

    private mutating func prove(_ message: TLV8, _ server: SRPServer, _ transient: Bool) -> Reply {
        guard let key = message[.publicKey], let proof = message[.proof], !key.isEmpty,
            // ignored: the sender is refused.
            let accepted = try? server.accept(senderKey: key, proof: proof)
        else { return Self.refusal(.authentication, state: 4) }
        let own = stripsZeros ? SRPGroup.minimal(accepted.proof) : accepted.proof
        var reply = Reply(body: TLV8([.init(.state, [4]), .init(.proof, own)]).encoded(), isProven: true)
        if transient { reply.transientSecret = accepted.key } else { stage = .proven(accepted.key) }
        return reply
    }

    private func exchange(_ message: TLV8, _ secret: SecretBytes) -> Reply {
        let key = KeyDerivation.key(
            from: secret, salt: "Pair-Setup-Encrypt-Salt", info: "Pair-Setup-Encrypt-Info")
        let signing = KeyDerivation.key(
            from: secret, salt: "Pair-Setup-Controller-Sign-Salt", info: "Pair-Setup-Controller-Sign-Info")
        guard let sealed = message[.encryptedData], let plain = ChaChaPoly.open(sealed, label: "PS-Msg05", key: key),
            // ignored: the sender is refused.
            let inner = try? TLV8(decoding: plain), let name = inner[.identifier], (1...255).contains(name.count),
            let publicKey = inner[.publicKey], let signature = inner[.signature],
            PairingIdentity.verify(signature, of: signing.withBytes { Array($0) } + name + publicKey, by: publicKey)
        else { return Self.refusal(.authentication, state: 6) }
        let own = Array(identity.identifier.utf8)
        let accessory = KeyDerivation.key(
            from: secret, salt: "Pair-Setup-Accessory-Sign-Salt", info: "Pair-Setup-Accessory-Sign-Info")
        let signed = accessory.withBytes { Array($0) } + own + identity.publicKey
        let answer = TLV8([
            .init(.identifier, own), .init(.publicKey, identity.publicKey), .init(.signature, identity.sign(signed)),
        ])
        var reply = Reply(
            body: TLV8([
                .init(.state, [6]),
                .init(.encryptedData, ChaChaPoly.seal(answer.encoded(), label: "PS-Msg06", key: key)),
            ]).encoded())
        reply.paired = PairedAccessory(identifier: name, publicKey: publicKey)
        return reply
    }
}
