internal import CSodium

/// The sender's side of pair-verify: mutual authentication of a stored pairing on each connection.
package struct PairVerify: Sendable {
    private let identity: PairingIdentity
    private let accessory: PairedAccessory
    private let privateKey: SecretBytes
    private let publicKey: [UInt8]
    private var shared: SecretBytes?

    package init(identity: PairingIdentity, accessory: PairedAccessory) {
        self.init(identity: identity, accessory: accessory, privateKey: .random(count: 32))
    }

    init(identity: PairingIdentity, accessory: PairedAccessory, privateKey: SecretBytes) {
        self.identity = identity
        self.accessory = accessory
        self.privateKey = privateKey
        var publicKey = [UInt8](repeating: 0, count: 32)
        privateKey.withBytes { _ = crypto_scalarmult_curve25519_base(&publicKey, $0.baseAddress!) }
        self.publicKey = publicKey
    }

    /// Returns M1.
    package func start() -> [UInt8] {
        TLV8([.init(.state, [1]), .init(.publicKey, publicKey)]).encoded()
    }

    /// Parses M2, verifies the receiver's signature and returns M3.
    ///
    /// - Throws: `notAuthentic` if the tag, the identifier or the signature does not match.
    package mutating func respond(to body: [UInt8]) throws(WireError) -> [UInt8] {
        let message = try PairingMessage.read(body, state: 2)
        let theirs = try PairingMessage.value(.publicKey, of: message, size: 32...32)
        let sealed = try PairingMessage.value(.encryptedData, of: message, size: 16...TLV8.itemLimit)
        var agreed = true
        let shared = SecretBytes(count: 32) { result in
            privateKey.withBytes {
                agreed = crypto_scalarmult_curve25519(result.baseAddress!, $0.baseAddress!, theirs) == 0
            }
        }
        guard agreed else { throw .malformed("The speaker sent an unusable key.") }
        let key = KeyDerivation.key(from: shared, salt: "Pair-Verify-Encrypt-Salt", info: "Pair-Verify-Encrypt-Info")
        guard let plain = ChaChaPoly.open(sealed, label: "PV-Msg02", key: key) else {
            throw WireError(.notAuthentic, "The speaker's response failed authentication; reconnect to it.")
        }
        let inner = try TLV8(decoding: plain)
        let identifier = try PairingMessage.value(.identifier, of: inner, size: 1...255)
        let signature = try PairingMessage.value(.signature, of: inner, size: 64...64)
        guard identifier == accessory.identifier,
            PairingIdentity.verify(signature, of: theirs + identifier + publicKey, by: accessory.publicKey)
        else {
            throw WireError(
                .notAuthentic, "This is not the speaker that was paired under this name; pair it again if it was reset."
            )
        }
        self.shared = shared
        let name = Array(identity.identifier.utf8)
        let answer = TLV8([
            .init(.identifier, name), .init(.signature, identity.sign(publicKey + name + theirs)),
        ])
        let sealedAnswer = ChaChaPoly.seal(answer.encoded(), label: "PV-Msg03", key: key)
        return TLV8([.init(.state, [3]), .init(.encryptedData, sealedAnswer)]).encoded()
    }

    /// Parses M4 and returns the shared secret, 32 bytes, from which all keys of this connection derive.
    package func finish(_ body: [UInt8]) throws(WireError) -> SecretBytes {
        _ = try PairingMessage.read(body, state: 4)
        guard let shared else { throw .malformed("The speaker ended pair-verify before it began.") }
        return shared
    }
}
