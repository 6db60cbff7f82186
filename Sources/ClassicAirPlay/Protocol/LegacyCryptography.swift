internal import CFFmpeg

/// The algorithms that only classic AirPlay needs, through libavutil. They protect nothing by today's standards; the
/// receivers know no others.
enum LegacyCryptography {
    /// Returns the MD5 digest (RFC 1321), 16 bytes.
    static func md5(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 16)
        av_md5_sum(&digest, bytes, bytes.count)
        return digest
    }

    /// Returns the SHA-1 digest (FIPS 180-4), 20 bytes; nil without memory.
    static func sha1(_ bytes: [UInt8]) -> [UInt8]? {
        guard let context = av_sha_alloc() else { return nil }
        defer { av_free(UnsafeMutableRawPointer(context)) }
        var digest = [UInt8](repeating: 0, count: 20)
        av_sha_init(context, 160)
        av_sha_update(context, bytes, bytes.count)
        av_sha_final(context, &digest)
        return digest
    }

    /// AES-128 in CBC mode over whole blocks. Used by one thread at a time.
    ///
    /// `@unchecked Sendable`: the context is owned by this object, and its owner uses it on one thread.
    final class Cipher: @unchecked Sendable {
        static let blockSize = 16
        private let context: OpaquePointer
        private let vector: [UInt8]
        private var chain: [UInt8]

        /// Creates a cipher; nil without memory or for a key or vector of another length than 16 bytes.
        init?(key: [UInt8], vector: [UInt8]) {
            guard key.count == Self.blockSize, vector.count == Self.blockSize, let context = av_aes_alloc() else {
                return nil
            }
            av_aes_init(context, key, 128, 0)
            (self.context, self.vector, chain) = (context, vector, vector)
        }

        deinit { av_free(UnsafeMutableRawPointer(context)) }

        /// Encrypts the whole blocks of `bytes` from `start` on in place; the remainder stays clear. Each call begins
        /// with the initialization vector.
        func encrypt(_ bytes: inout [UInt8], from start: Int) {
            let blocks = (bytes.count - start) / Self.blockSize
            guard blocks > 0 else { return }
            for index in chain.indices { chain[index] = vector[index] }
            bytes.withUnsafeMutableBufferPointer { buffer in
                guard let base = buffer.baseAddress else { return }
                av_aes_crypt(context, base + start, base + start, Int32(clamping: blocks), &chain, 0)
            }
        }
    }
}
