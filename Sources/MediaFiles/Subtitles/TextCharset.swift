internal import CUchardet
internal import MediaCore

/// Detects the encoding of text files that are not UTF-8.
enum TextCharset {
    /// The number of bytes that are examined.
    private static let maxBytes = 1 << 20

    /// Returns the encoding by its iconv name; nil for UTF-8, and for UTF-16 with a byte order mark, which libavformat
    /// converts to UTF-8.
    static func guess(_ path: String) -> String? { guess(head(of: path)) }

    static func guess(_ head: [UInt8]) -> String? {
        if head.starts(with: [0xFF, 0xFE]) || head.starts(with: [0xFE, 0xFF]) { return nil }
        // The examined part may end within a character.
        let complete =
            head.count < maxBytes ? head[...] : head[...(head.lastIndex(of: UInt8(ascii: "\n")) ?? head.count - 1)]
        if String(validating: complete, as: UTF8.self) != nil { return nil }
        return detected(complete)
    }

    private static func detected(_ bytes: ArraySlice<UInt8>) -> String {
        guard let detector = uchardet_new() else { return western }
        defer { uchardet_delete(detector) }
        let code = bytes.withUnsafeBytes {
            uchardet_handle_data(detector, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
        }
        uchardet_data_end(detector)
        guard code == 0, let name = uchardet_get_charset(detector) else { return western }
        let charset = String(cString: name)
        // Files labelled as Latin-1 have quotation marks at the positions of its control characters.
        return ["", "ASCII", "UTF-8", "ISO-8859-1"].contains(charset) ? western : charset
    }

    private static let western = "WINDOWS-1252"

    private static func head(of path: String) -> [UInt8] {
        // ignored: reading the subtitles reports the error.
        (try? FileBytes.readRegular(path, maxBytes: maxBytes)) ?? []
    }
}
