internal import CBigNumber

/// Encryption for the key that all receivers of encryption type 1 share: that of the first AirPort Express.
enum AirPortKey {
    /// The modulus of the public key, 2048 bits, in base64. Its exponent is 65537.
    private static let modulus =
        "59dE8qLieItsH1WgjrcFRKj6eUWqi+bGLOX1HL3U3GhC/j0Qg90u3sG/1CUtwC5vOYvfDmFI6oSFXi5ELabWJmT2dKHzBJKa3k9ok+8t9ucR"
        + "qMd6DZHJ2YCCLlDRKSKv6kDqnw4UwPdpOMXziC/AMj3Z/lUVX1G7WSHCAWKf1zNS1eLvqr+boEjXuBOitnZ/bDzPHrTOZz0Dew0uowxf/+sG"
        + "+NCK3eQJVxqcaJ/vEHKIVd2M+5qL71yJQ+87X6oV3eaYvt3zWZYD6z5vYTcrtij2VZ9Zmni/UAaHqn9JdsBWLUEpVviYnhimNVvYFZeCXg/I"
        + "dTQ+x4IRdiXNv5hEew=="
    private static let exponent: [UInt8] = [1, 0, 1]

    /// Returns a message as a block of RSAES-OAEP with SHA-1 and an empty label (RFC 8017, section 7.1.1); nil if it is
    /// longer than 214 bytes, or without memory.
    static func encrypt(_ message: [UInt8]) -> [UInt8]? {
        encrypt(message, seed: (0..<20).map { _ in UInt8.random(in: 0 ... .max) })
    }

    /// The same with a given seed of 20 bytes, for tests.
    static func encrypt(_ message: [UInt8], seed: [UInt8]) -> [UInt8]? {
        guard let modulus = Base64.bytes(modulus), let block = paddedBlock(message, seed: seed, size: modulus.count)
        else { return nil }
        var result = [UInt8](repeating: 0, count: modulus.count)
        guard cbn_power(&result, block, modulus, modulus.count, exponent, exponent.count) == 0 else { return nil }
        return result
    }

    /// Returns the encoded message of RFC 8017, section 7.1.1, step 2.
    static func paddedBlock(_ message: [UInt8], seed: [UInt8], size: Int) -> [UInt8]? {
        guard let label = LegacyCryptography.sha1([]) else { return nil }
        let space = size - 2 * label.count - 2 - message.count
        guard space >= 0, seed.count == label.count else { return nil }
        let data = label + [UInt8](repeating: 0, count: space) + [1] + message
        guard let mask = mask(seed, count: data.count) else { return nil }
        let masked = zip(data, mask).map { $0 ^ $1 }
        guard let seedMask = self.mask(masked, count: seed.count) else { return nil }
        return [0] + zip(seed, seedMask).map { $0 ^ $1 } + masked
    }

    /// MGF1 (RFC 8017, appendix B.2.1).
    private static func mask(_ seed: [UInt8], count: Int) -> [UInt8]? {
        var out: [UInt8] = []
        var counter: UInt8 = 0
        while out.count < count {
            guard let digest = LegacyCryptography.sha1(seed + [0, 0, 0, counter]) else { return nil }
            out += digest
            counter += 1
        }
        return Array(out.prefix(count))
    }
}

/// Base64 (RFC 4648, section 4).
enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Returns the text without padding, as SDP attributes of classic AirPlay have it.
    static func text(_ bytes: [UInt8]) -> String {
        var out: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let chunk = bytes[start..<min(start + 3, bytes.count)]
            let value = chunk.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - chunk.count))
            for position in 0...chunk.count { out.append(digits[value >> (18 - 6 * position) & 63]) }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Returns the bytes of a text with or without padding; nil for other characters.
    static func bytes(_ text: String) -> [UInt8]? {
        var (out, value, bits): ([UInt8], Int, Int) = ([], 0, 0)
        for character in text.utf8 where character != 0x3D {
            guard let digit = digits.firstIndex(of: character) else { return nil }
            value = (value << 6 | digit) & 0xFFFF
            bits += 6
            if bits >= 8 {
                bits -= 8
                out.append(UInt8(truncatingIfNeeded: value >> bits))
            }
        }
        return out
    }
}
