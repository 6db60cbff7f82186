/// Wraps what this side writes on an encrypted channel into HomeKit frames.
///
/// A frame is the plaintext's length (two bytes, least significant first, authenticated), the ciphertext and a tag
/// of 16 bytes. The nonce counts frames: a frame that was sealed must be sent, whole and in order, or the channel is
/// lost.
package struct HAPFrameSealer: Sendable {
    /// Plaintext bytes in one frame at most (HomeKit Accessory Protocol, section 6.5.2).
    package static let frameLimit = 1024

    private let key: SecretBytes
    private var counter: UInt64 = 0

    package init(key: SecretBytes) { self.key = key }

    /// The frames of a message, ready to be sent.
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

/// Unwraps what the other side wrote on an encrypted channel; bytes may arrive cut anywhere.
///
/// Keeps at most one frame that is not yet complete, so memory is bounded by the frame's two-byte length.
package struct HAPFrameOpener: Sendable {
    private let key: SecretBytes
    private var counter: UInt64 = 0
    private var partial: [UInt8] = []
    private var failed = false

    package init(key: SecretBytes) { self.key = key }

    /// A frame has begun and is not whole.
    package var isPartial: Bool { !partial.isEmpty }

    /// The plaintext of every frame that is now complete.
    ///
    /// A tag that does not match ends the channel for good: every later call throws too.
    package mutating func open(_ bytes: some Collection<UInt8>) throws(WireError) -> [UInt8] {
        if failed { throw Self.altered }
        partial.append(contentsOf: bytes)
        var out: [UInt8] = []
        var start = 0
        while partial.count - start >= 2 {
            let size = Int(partial[start]) | Int(partial[start + 1]) << 8
            let end = start + 2 + size + ChaChaPoly.tagSize
            guard partial.count >= end else { break }
            let authentic = partial.withUnsafeBufferPointer { buffer in
                ChaChaPoly.open(
                    UnsafeBufferPointer(rebasing: buffer[(start + 2)..<end]),
                    additionalData: UnsafeBufferPointer(rebasing: buffer[start..<(start + 2)]),
                    nonce: .init(counter: counter), key: key, into: &out)
            }
            guard authentic else {
                failed = true
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
        .notAuthentic, "An encrypted message from the speaker fails its check; connect to it again.")
}
