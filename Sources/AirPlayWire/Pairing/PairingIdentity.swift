internal import CSodium

/// Who this installation is to the speakers it has been paired with: one Ed25519 key and one name, kept for good.
package struct PairingIdentity: Sendable {
    /// The same bytes in every pairing, so that pairing again replaces the speaker's entry.
    package let identifier: String
    package let publicKey: [UInt8]
    let seed: SecretBytes
    private let secretKey: SecretBytes

    /// - Parameters:
    ///   - identifier: 16 upper-case hexadecimal digits, as `DACP-ID`.
    ///   - seed: 32 bytes; the secret to keep.
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

    /// A new identity; `seed` must be stored for pairings to last.
    package static func generate(identifier: String) -> PairingIdentity {
        PairingIdentity(identifier: identifier, seed: .random(count: 32))
    }

    /// Reads the seed in order to store it; do not let the pointer escape.
    package func withSeed<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result { seed.withBytes(body) }

    func sign(_ message: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: 64)
        secretKey.withBytes {
            _ = crypto_sign_detached(&signature, nil, message, UInt64(message.count), $0.baseAddress!)
        }
        return signature
    }

    static func verify(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
        guard signature.count == 64, publicKey.count == 32 else { return false }
        return crypto_sign_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
    }
}

/// A speaker that knows this installation.
package struct PairedAccessory: Hashable, Sendable {
    /// The speaker's own name for itself, any bytes.
    package let identifier: [UInt8]
    /// Ed25519, 32 bytes.
    package let publicKey: [UInt8]

    package init(identifier: [UInt8], publicKey: [UInt8]) {
        self.identifier = identifier
        self.publicKey = publicKey
    }
}
