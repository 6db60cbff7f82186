internal import Glibc

/// Converts text to UTF-8; invalid bytes become replacement characters. libavcodec would drop the whole line.
///
/// Owned and used by one decoder.
final class TextRecoding {
    private let converter: iconv_t

    /// Returns nil if the system does not support the charset.
    init?(from charset: String) {
        let opened = iconv_open("UTF-8", charset)
        // iconv_open(3) fails with (iconv_t)-1.
        guard let opened, Int(bitPattern: opened) != -1 else { return nil }
        converter = opened
    }

    deinit { iconv_close(converter) }

    func utf8(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        iconv(converter, nil, nil, nil, nil)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count * 2)
        var left = bytes.count
        var input = bytes.baseAddress.map { UnsafeMutablePointer(mutating: $0.assumingMemoryBound(to: CChar.self)) }
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { piece in
            while left > 0 {
                var output: UnsafeMutablePointer<CChar>? = piece.baseAddress
                var room = piece.count
                let code = iconv(converter, &input, &left, &output, &room)
                let cause = errno
                result.append(
                    contentsOf: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(piece)[..<(piece.count - room)])
                )
                if code != -1 || cause == E2BIG { continue }
                // EILSEQ, or EINVAL for a truncated character.
                result.append(contentsOf: "\u{FFFD}".utf8)
                input = input.map { $0 + 1 }
                left -= 1
            }
        }
        return result
    }
}
