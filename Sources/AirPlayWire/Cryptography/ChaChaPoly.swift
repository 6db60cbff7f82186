internal import CSodium

/// ChaCha20-Poly1305 (RFC 8439) with AirPlay's nonces: four zero bytes, then eight variable bytes.
enum ChaChaPoly {
    /// Size of the authentication tag in bytes.
    static let tagSize = 16

    /// The variable eight bytes of a nonce.
    struct NonceTail {
        let bytes: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8)

        /// Creates a little-endian counter.
        init(counter: UInt64) { bytes = withUnsafeBytes(of: counter.littleEndian) { Self.load($0) } }

        /// Creates a nonce from eight ASCII characters, such as `PS-Msg05`.
        init(label: StaticString) {
            precondition(label.utf8CodeUnitCount == 8, "a nonce label has eight characters")
            bytes = Self.load(UnsafeRawBufferPointer(start: label.utf8Start, count: 8))
        }

        /// Creates a nonce from the bytes in a packet; nil unless there are eight.
        init?(_ tail: some Collection<UInt8>) {
            guard tail.count == 8 else { return nil }
            bytes = Array(tail).withUnsafeBytes { Self.load($0) }
        }

        private static func load(_ raw: UnsafeRawBufferPointer) -> (
            UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8
        ) { (raw[0], raw[1], raw[2], raw[3], raw[4], raw[5], raw[6], raw[7]) }

        fileprivate func withNonce<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
            let nonce: [12 of UInt8] = [
                0, 0, 0, 0, bytes.0, bytes.1, bytes.2, bytes.3, bytes.4, bytes.5, bytes.6, bytes.7,
            ]
            return withUnsafeBytes(of: nonce) { body($0.baseAddress!.assumingMemoryBound(to: UInt8.self)) }
        }
    }

    /// Appends ciphertext and tag.
    static func seal(
        _ plaintext: UnsafeBufferPointer<UInt8>, additionalData: UnsafeBufferPointer<UInt8>, nonce: NonceTail,
        key: SecretBytes, into out: inout [UInt8]
    ) {
        precondition(key.count == 32, "a ChaCha20 key has 32 bytes")
        let start = out.count
        // Only for its space: a buffer is copied in one call, zeros one by one in a debug build.
        out.append(contentsOf: plaintext)
        out.append(contentsOf: repeatElement(0, count: tagSize))
        out.withUnsafeMutableBufferPointer { buffer in
            nonce.withNonce { nonce in
                key.withBytes { key in
                    var written: UInt64 = 0
                    crypto_aead_chacha20poly1305_ietf_encrypt(
                        buffer.baseAddress! + start, &written, plaintext.baseAddress, UInt64(plaintext.count),
                        additionalData.baseAddress, UInt64(additionalData.count), nil, nonce, key.baseAddress!)
                }
            }
        }
    }

    /// Appends the plaintext and returns true. Returns false and leaves `out` unchanged if the tag does not match.
    static func open(
        _ sealed: UnsafeBufferPointer<UInt8>, additionalData: UnsafeBufferPointer<UInt8>, nonce: NonceTail,
        key: SecretBytes, into out: inout [UInt8]
    ) -> Bool {
        precondition(key.count == 32, "a ChaCha20 key has 32 bytes")
        guard sealed.count >= tagSize else { return false }
        let start = out.count
        // For its space, as above.
        out.append(contentsOf: UnsafeBufferPointer(start: sealed.baseAddress, count: sealed.count - tagSize))
        let code = out.withUnsafeMutableBufferPointer { buffer in
            nonce.withNonce { nonce in
                key.withBytes { key in
                    var written: UInt64 = 0
                    // The buffer of an empty message has no address; libsodium accepts nil.
                    let target = buffer.baseAddress.map { $0 + start }
                    return crypto_aead_chacha20poly1305_ietf_decrypt(
                        target, &written, nil, sealed.baseAddress!, UInt64(sealed.count),
                        additionalData.baseAddress, UInt64(additionalData.count), nonce, key.baseAddress!)
                }
            }
        }
        if code != 0 { out.removeSubrange(start...) }
        return code == 0
    }

    /// Returns ciphertext and tag of a whole pairing message. Allocates; pairing messages are rare and small.
    static func seal(_ plaintext: [UInt8], label: StaticString, key: SecretBytes) -> [UInt8] {
        var out: [UInt8] = []
        plaintext.withUnsafeBufferPointer {
            seal($0, additionalData: .init(start: nil, count: 0), nonce: NonceTail(label: label), key: key, into: &out)
        }
        return out
    }

    /// Returns the plaintext of a whole pairing message; nil if the tag does not match.
    static func open(_ sealed: [UInt8], label: StaticString, key: SecretBytes) -> [UInt8]? {
        var out: [UInt8] = []
        let authentic = sealed.withUnsafeBufferPointer {
            open($0, additionalData: .init(start: nil, count: 0), nonce: NonceTail(label: label), key: key, into: &out)
        }
        return authentic ? out : nil
    }
}
