/// The sender's side of pair-setup, from M1 to the shared secret or the stored pairing.
///
/// Transient pairing ends after M4 with a secret for this connection. Pairing by PIN continues to M6 and yields keys to
/// store. One value serves one attempt: most receivers are unusable after a rejected attempt, so a retry needs a new
/// connection and a new value.
package struct PairSetup: Sendable {
    /// The kind of pairing, selected by the header `X-Apple-HKP`.
    package enum Kind: Sendable {
        /// Stores nothing; header `X-Apple-HKP: 4`.
        case transient
        /// Stores the keys; header `X-Apple-HKP: 3`.
        case persistent
    }

    /// The well-known password of transient pairing.
    package static let transientPassword = "3939"

    private let kind: Kind
    var answer: SRPClient.Answer?

    package init(_ kind: Kind) { self.kind = kind }

    /// Returns M1.
    package func start() -> [UInt8] {
        var items: [TLV8.Item] = [.init(.state, [1]), .init(.method, [0])]
        if kind == .transient { items.append(.init(.flags, [0x10])) }
        return TLV8(items).encoded()
    }

    /// Parses M2 and returns M3. Computes for about 30 ms.
    package mutating func respond(to body: [UInt8], password: String) throws(WireError) -> [UInt8] {
        let (salt, key) = try Self.challenge(in: body)
        let answer = try SRPClient(password: password).answer(salt: salt, receiverKey: key)
        self.answer = answer
        return Self.m3(answer)
    }

    /// Returns salt and public key of M2.
    package static func challenge(in body: [UInt8]) throws(WireError) -> (salt: [UInt8], key: [UInt8]) {
        let message = try PairingMessage.read(body, state: 2)
        return (
            try PairingMessage.value(.salt, of: message, size: 1...64),
            try PairingMessage.value(.publicKey, of: message, size: 1...SRPGroup.size)
        )
    }

    static func m3(_ answer: SRPClient.Answer) -> [UInt8] {
        TLV8([.init(.state, [3]), .init(.publicKey, answer.publicKey), .init(.proof, answer.proof)]).encoded()
    }

    /// Parses M4 and returns the shared secret, 64 bytes, from which all keys of a transient connection derive.
    ///
    /// - Throws: `notAuthentic` if the receiver does not have the password.
    package func finish(_ body: [UInt8]) throws(WireError) -> SecretBytes {
        let message = try PairingMessage.read(body, state: 4)
        let proof = try PairingMessage.number(.proof, of: message, size: 64)
        guard let answer, answer.verify(proof) else {
            throw WireError(
                .notAuthentic, "The speaker cannot prove that it knows the password it requires; do not trust it.")
        }
        return answer.sessionKey
    }

    /// Returns M5 of a persistent pairing: the signed identity of this sender.
    package static func exchange(identity: PairingIdentity, secret: SecretBytes) -> [UInt8] {
        let controller = KeyDerivation.key(
            from: secret, salt: "Pair-Setup-Controller-Sign-Salt", info: "Pair-Setup-Controller-Sign-Info")
        let name = Array(identity.identifier.utf8)
        let signed = controller.withBytes { Array($0) } + name + identity.publicKey
        let inner = TLV8([
            .init(.identifier, name), .init(.publicKey, identity.publicKey),
            .init(.signature, identity.sign(signed)),
        ])
        let sealed = ChaChaPoly.seal(inner.encoded(), label: "PS-Msg05", key: encryptionKey(secret))
        return TLV8([.init(.state, [5]), .init(.encryptedData, sealed)]).encoded()
    }

    /// Parses M6 and returns the receiver's identity.
    ///
    /// - Throws: `notAuthentic` if the tag or the signature does not match; the attempt has failed.
    package static func accessory(in body: [UInt8], secret: SecretBytes) throws(WireError) -> PairedAccessory {
        let message = try PairingMessage.read(body, state: 6)
        let sealed = try PairingMessage.value(.encryptedData, of: message, size: 16...TLV8.itemLimit)
        guard let plain = ChaChaPoly.open(sealed, label: "PS-Msg06", key: encryptionKey(secret)) else {
            throw WireError(.notAuthentic, "The speaker's pairing response failed authentication; try again.")
        }
        let inner = try TLV8(decoding: plain)
        let identifier = try PairingMessage.value(.identifier, of: inner, size: 1...255)
        let publicKey = try PairingMessage.value(.publicKey, of: inner, size: 32...32)
        let signature = try PairingMessage.value(.signature, of: inner, size: 64...64)
        let accessory = KeyDerivation.key(
            from: secret, salt: "Pair-Setup-Accessory-Sign-Salt", info: "Pair-Setup-Accessory-Sign-Info")
        let signed = accessory.withBytes { Array($0) } + identifier + publicKey
        guard PairingIdentity.verify(signature, of: signed, by: publicKey) else {
            throw WireError(.notAuthentic, "The speaker's signature does not match its key; do not trust it.")
        }
        return PairedAccessory(identifier: identifier, publicKey: publicKey)
    }

    private static func encryptionKey(_ secret: SecretBytes) -> SecretBytes {
        KeyDerivation.key(from: secret, salt: "Pair-Setup-Encrypt-Salt", info: "Pair-Setup-Encrypt-Info")
    }
}
