/// Encrypts one direction of a channel into HomeKit frames.
///
/// A frame is the plaintext's length (two bytes, little-endian, authenticated), the ciphertext and a 16-byte tag. The
/// nonce is the frame counter: every sealed frame must be sent, complete and in order, or the channel is unusable.
package struct HAPFrameSealer: Sendable {
    /// Maximum number of plaintext bytes per frame (HomeKit Accessory Protocol, section 6.5.2).
    static let frameLimit = 1024

    private let key: SecretBytes
    /// The number of frames sealed so far; the next nonce.
    private var counter: UInt64 = 0

    package init(key: SecretBytes) { self.key = key }

    /// Returns the frames of a message.
    package mutating func seal(_ plaintext: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        let frames = (plaintext.count + Self.frameLimit - 1) / Self.frameLimit
        out.reserveCapacity(plaintext.count + frames * 18)
        plaintext.withUnsafeBufferPointer { bytes in
            var start = 0
            while start < bytes.count {
                let size = min(Self.frameLimit, bytes.count - start)
                let length = [UInt8(truncatingIfNeeded: size), UInt8(truncatingIfNeeded: size >> 8)]
                out.append(contentsOf: length)
                length.withUnsafeBufferPointer { aad in
                    ChaChaPoly.seal(
                        UnsafeBufferPointer(rebasing: bytes[start..<(start + size)]), additionalData: aad,
                        nonce: .init(counter: counter), key: key, into: &out)
                }
                counter &+= 1
                start += size
            }
        }
        return out
    }
}

/// Decrypts the frames of the other direction from a byte stream with arbitrary chunk boundaries.
///
/// Buffers at most one incomplete frame, so its two-byte length bounds the memory.
package struct HAPFrameOpener: Sendable {
    private let key: SecretBytes
    private var counter: UInt64 = 0
    private var partial: [UInt8] = []
    private var hasFailed = false

    package init(key: SecretBytes) { self.key = key }

    /// True while an incomplete frame is buffered.
    package var isPartial: Bool { !partial.isEmpty }

    /// Returns the plaintext of every frame that is now complete.
    ///
    /// - Throws: `notAuthentic` if a tag does not match. The channel is then unusable: every later call throws as well.
    package mutating func open(_ bytes: some Collection<UInt8>) throws(WireError) -> [UInt8] {
        if hasFailed { throw Self.altered }
        partial.append(contentsOf: bytes)
        var out: [UInt8] = []
        var start = 0
        while partial.count - start >= 2 {
            let size = Int(partial[start]) | Int(partial[start + 1]) << 8
            let end = start + 2 + size + ChaChaPoly.tagSize
            guard partial.count >= end else { break }
            let isAuthentic = partial.withUnsafeBufferPointer { buffer in
                ChaChaPoly.open(
                    UnsafeBufferPointer(rebasing: buffer[(start + 2)..<end]),
                    additionalData: UnsafeBufferPointer(rebasing: buffer[start..<(start + 2)]),
                    nonce: .init(counter: counter), key: key, into: &out)
            }
            guard isAuthentic else {
                hasFailed = true
                partial = []
                throw Self.altered
            }
            counter &+= 1
            start = end
        }
        partial.removeSubrange(..<start)
        return out
    }

    private static let altered = WireError(
        .notAuthentic, "An encrypted message from the speaker failed authentication; reconnect to it.")
}
