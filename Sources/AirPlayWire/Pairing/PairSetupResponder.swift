internal import MediaCore

/// The speaker's side of pair-setup, for speakers in software: one object for one connection.
///
/// Messages come from strangers. A message out of turn, a wrong proof or bytes that are no message are answered with
/// a refusal and leave the attempt where it began.
package struct PairSetupResponder: Sendable {
    /// How a speaker lets senders in.
    package enum Admission: Hashable, Sendable {
        /// Everybody, by transient pairing with the password everybody knows.
        case open
        /// Whoever knows this password, by transient pairing.
        case password(String)
        /// Whoever reads this PIN from the speaker; the pairing is kept. Transient pairing is turned away.
        case pin(String)

        var secret: String {
            switch self {
            case .open: PairSetup.transientPassword
            case .password(let text), .pin(let text): text
            }
        }
    }

    /// What a sender is about to do with a secret that can be guessed.
    package enum Step: Hashable, Sendable {
        /// It asks for a challenge.
        case challenge
        /// It proves that it knows the secret. Counts as a try from here on.
        case proof
    }

    /// Why a step is not taken.
    package struct Refusal: Hashable, Sendable {
        package let error: PairingError
        /// Whole seconds, at least one.
        package let retryDelay: UInt32

        package init(_ error: PairingError, after wait: Duration) {
            self.error = error
            retryDelay = UInt32(clamping: max(1, (wait.wholeNanoseconds + 999_999_999) / 1_000_000_000))
        }
    }

    /// What to answer and what came of it.
    package struct Reply: Sendable {
        package let body: [UInt8]
        /// The sender has just proved that it knows the secret.
        package var isProven = false
        /// The sender must pair by PIN: HTTP status 470 instead of 200.
        package var needsPIN = false
        /// The secret of this connection: everything after this answer is encrypted.
        package var transientSecret: SecretBytes?
        /// A sender that may verify itself from now on.
        package var paired: PairedAccessory?
    }

    private enum Stage {
        case idle
        case challenged(SRPServer, transient: Bool)
        case proven(SecretBytes)
    }

    private let admission: Admission
    private let identity: PairingIdentity
    /// Salt, key and proof are numbers to it, sent without their leading zeros; the salt has one.
    private let stripsZeros: Bool
    private var stage = Stage.idle

    package init(admission: Admission, identity: PairingIdentity, stripsZeros: Bool = false) {
        self.admission = admission
        self.identity = identity
        self.stripsZeros = stripsZeros
    }

    /// Answers one message of a sender. M1 and M3 take about 10 ms of calculation.
    ///
    /// - Parameter judge: says why a step must wait; asked before the step is calculated, and only where the secret is
    ///   one that can be guessed.
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
