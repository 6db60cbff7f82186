internal import CSodium

/// HKDF with SHA-512 (RFC 5869), which derives the key of every channel from the shared secret of pairing.
enum KeyDerivation {
    /// Returns a key of 32 bytes.
    ///
    /// - Parameters:
    ///   - salt: ASCII, from the protocol's channel table.
    ///   - info: ASCII, from the same table.
    static func key(from secret: SecretBytes, salt: String, info: String) -> SecretBytes {
        var extracted = [UInt8](repeating: 0, count: 64)
        var expanded = [UInt8](repeating: 0, count: 64)
        defer {
            sodium_memzero(&extracted, extracted.count)
            sodium_memzero(&expanded, expanded.count)
        }
        secret.withBytes { material in
            hmac(key: Array(salt.utf8), message: material, into: &extracted)
        }
        // One 64-byte block covers the 32 bytes: T(1) = HMAC(PRK, info | 0x01), RFC 5869 section 2.3.
        let message = Array(info.utf8) + [1]
        message.withUnsafeBufferPointer { hmac(key: extracted, message: $0, into: &expanded) }
        return SecretBytes(expanded.prefix(32))
    }

    private static func hmac(key: [UInt8], message: UnsafeBufferPointer<UInt8>, into out: inout [UInt8]) {
        var state = crypto_auth_hmacsha512_state()
        crypto_auth_hmacsha512_init(&state, key, key.count)
        crypto_auth_hmacsha512_update(&state, message.baseAddress, UInt64(message.count))
        crypto_auth_hmacsha512_final(&state, &out)
        sodium_memzero(&state, MemoryLayout.size(ofValue: state))
    }
}

/// The keys of one encrypted channel, from the sender's point of view.
package struct ChannelKeys: Sendable {
    /// Encrypts what this side sends.
    package let write: SecretBytes
    /// Decrypts what the other side sends.
    package let read: SecretBytes

    package init(write: SecretBytes, read: SecretBytes) {
        self.write = write
        self.read = read
    }

    /// Returns the keys of the RTSP control channel.
    package static func control(from secret: SecretBytes) -> ChannelKeys {
        ChannelKeys(
            write: KeyDerivation.key(from: secret, salt: "Control-Salt", info: "Control-Write-Encryption-Key"),
            read: KeyDerivation.key(from: secret, salt: "Control-Salt", info: "Control-Read-Encryption-Key"))
    }

    /// Returns the keys of the event channel. Its labels are named from the receiver's side: the sender writes with the
    /// "Read" key.
    package static func events(from secret: SecretBytes) -> ChannelKeys {
        ChannelKeys(
            write: KeyDerivation.key(from: secret, salt: "Events-Salt", info: "Events-Read-Encryption-Key"),
            read: KeyDerivation.key(from: secret, salt: "Events-Salt", info: "Events-Write-Encryption-Key"))
    }

    /// The keys of the same channel from the other side's point of view.
    package var reversed: ChannelKeys { ChannelKeys(write: read, read: write) }

    /// Returns the key of an audio stream: the first 32 bytes of the secret. Receivers accept all 64 bytes of an SRP
    /// key in the request, but then play silence.
    package static func audio(from secret: SecretBytes) -> SecretBytes { secret.prefix(32) }
}
