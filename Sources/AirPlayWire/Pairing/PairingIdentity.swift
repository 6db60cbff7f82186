internal import CSodium

/// The identity of this installation towards paired receivers: one permanent Ed25519 key and one identifier.
package struct PairingIdentity: Sendable {
    /// Constant, so that pairing again replaces the receiver's entry.
    package let identifier: String
    package let publicKey: [UInt8]
    let seed: SecretBytes
    private let secretKey: SecretBytes

    /// - Parameters:
    ///   - identifier: 16 upper-case hexadecimal digits, same as `DACP-ID`.
    ///   - seed: 32 secret bytes, to be stored.
    package init(identifier: String, seed: SecretBytes) {
        precondition(seed.count == 32, "an Ed25519 seed has 32 bytes")
        self.identifier = identifier
        self.seed = seed
        var publicKey = [UInt8](repeating: 0, count: 32)
        secretKey = SecretBytes(count: 64) { secret in
            seed.withBytes { seed in
                _ = crypto_sign_seed_keypair(&publicKey, secret.baseAddress!, seed.baseAddress!)
            }
        }
        self.publicKey = publicKey
    }

    /// Returns a new identity; pairings are lost unless `seed` is stored.
    package static func generate(identifier: String) -> PairingIdentity {
        PairingIdentity(identifier: identifier, seed: .random(count: 32))
    }

    /// Calls `body` with the seed, to store it; the pointer must not escape.
    package func withSeed<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result { seed.withBytes(body) }

    /// Returns the Ed25519 signature of a message, 64 bytes.
    func sign(_ message: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: 64)
        secretKey.withBytes {
            _ = crypto_sign_detached(&signature, nil, message, UInt64(message.count), $0.baseAddress!)
        }
        return signature
    }

    /// Returns true if the signature is valid; false also for wrong sizes.
    static func verify(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
        guard signature.count == 64, publicKey.count == 32 else { return false }
        return crypto_sign_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
    }
}

/// A receiver that has stored a pairing with this installation.
package struct PairedAccessory: Hashable, Sendable {
    /// The receiver's identifier, arbitrary bytes.
    package let identifier: [UInt8]
    /// Ed25519, 32 bytes.
    package let publicKey: [UInt8]

    package init(identifier: [UInt8], publicKey: [UInt8]) {
        self.identifier = identifier
        self.publicKey = publicKey
    }
}
