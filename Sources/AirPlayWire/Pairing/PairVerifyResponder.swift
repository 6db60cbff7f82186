internal import CSodium

/// The receiver's side of pair-verify, for software receivers: one value per connection.
package struct PairVerifyResponder: Sendable {
    /// The response to a message, and at the end the secret of this connection.
    package struct Reply: Sendable {
        package let body: [UInt8]
        /// The secret: everything after this response is encrypted with keys derived from it.
        package var secret: SecretBytes?
    }

    private struct Exchange {
        let shared: SecretBytes
        let key: SecretBytes
        let own: [UInt8]
        let theirs: [UInt8]
    }

    private let identity: PairingIdentity
    private var exchange: Exchange?

    package init(identity: PairingIdentity) { self.identity = identity }

    /// Returns the response to one message.
    ///
    /// - Parameter paired: returns the public key of a paired sender by its identifier.
    package mutating func respond(to body: [UInt8], paired: ([UInt8]) -> [UInt8]?) -> Reply {
        let current = exchange
        exchange = nil
        // ignored: the sender is refused.
        guard let message = try? TLV8(decoding: body), let state = message[.state]?.first else {
            return Self.refusal(state: 2)
        }
        switch state {
        case 1: return begin(message)
        case 3:
            guard let current else { return Self.refusal(state: 4) }
            return finish(message, current, paired)
        default: return Self.refusal(state: state &+ 1)
        }
    }

    private static func refusal(state: UInt8) -> Reply {
        Reply(body: TLV8([.init(.state, [state]), .init(.error, [PairingError.authentication.rawValue])]).encoded())
    }

    private mutating func begin(_ message: TLV8) -> Reply {
        guard let theirs = message[.publicKey], theirs.count == 32 else { return Self.refusal(state: 2) }
        let privateKey = SecretBytes.random(count: 32)
        var own = [UInt8](repeating: 0, count: 32)
        var agreed = true
        let shared = SecretBytes(count: 32) { result in
            privateKey.withBytes {
                crypto_scalarmult_curve25519_base(&own, $0.baseAddress!)
                agreed = crypto_scalarmult_curve25519(result.baseAddress!, $0.baseAddress!, theirs) == 0
            }
        }
        guard agreed else { return Self.refusal(state: 2) }
        let key = KeyDerivation.key(from: shared, salt: "Pair-Verify-Encrypt-Salt", info: "Pair-Verify-Encrypt-Info")
        let name = Array(identity.identifier.utf8)
        let inner = TLV8([.init(.identifier, name), .init(.signature, identity.sign(own + name + theirs))])
        exchange = Exchange(shared: shared, key: key, own: own, theirs: theirs)
        return Reply(
            body: TLV8([
                .init(.state, [2]), .init(.publicKey, own),
                .init(.encryptedData, ChaChaPoly.seal(inner.encoded(), label: "PV-Msg02", key: key)),
            ]).encoded())
    }

    private func finish(_ message: TLV8, _ exchange: Exchange, _ paired: ([UInt8]) -> [UInt8]?) -> Reply {
        guard let sealed = message[.encryptedData],
            let plain = ChaChaPoly.open(sealed, label: "PV-Msg03", key: exchange.key),
            // ignored: the sender is refused.
            let inner = try? TLV8(decoding: plain), let name = inner[.identifier], let signature = inner[.signature],
            let publicKey = paired(name),
            PairingIdentity.verify(signature, of: exchange.theirs + name + exchange.own, by: publicKey)
        else { return Self.refusal(state: 4) }
        return Reply(body: TLV8([.init(.state, [4])]).encoded(), secret: exchange.shared)
    }
}
