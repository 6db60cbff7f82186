internal import MediaCore

/// Parsing shared by the playlist formats: lines, character encoding, percent-encoding.
enum PlaylistText {
    /// Decodes UTF-8 or, if it is invalid, Latin-1, which older programs wrote.
    static func decoded(_ bytes: some Collection<UInt8>) -> String {
        String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// Returns the lines of a text without their terminators (LF, CR LF or CR) and surrounding blanks.
    static func lines(of text: [UInt8]) -> some Sequence<ArraySlice<UInt8>> {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let content = text.starts(with: mark) ? text.dropFirst(3) : text[...]
        return content.lazy.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }.map(trimmed)
    }

    static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line
        while let first = line.first, first == 0x20 || first == 0x09 { line = line.dropFirst() }
        while let last = line.last, last == 0x20 || last == 0x09 || last == 0 { line = line.dropLast() }
        return line
    }

    /// Decodes percent-encoding, such as `%41` for `A` (RFC 3986, 2.1); malformed sequences are preserved.
    static func removingPercentEncoding(_ text: String) -> String {
        FileName.text(PercentEncoding.decoded(FileName.bytes(text)))
    }
}
