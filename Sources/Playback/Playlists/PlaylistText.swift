internal import Glibc
internal import MediaCore

/// Parsing shared by the playlist formats: lines, character encoding, percent-encoding.
enum PlaylistText {
    /// Decodes UTF-8 or, if it is invalid, Latin-1, which older programs wrote.
    static func decoded(_ bytes: some Collection<UInt8>) -> String {
        String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// Returns the lines of a text that are not empty, without their terminators (LF, CR LF or CR) and surrounding
    /// blanks.
    static func lines(of text: [UInt8]) -> Lines {
        Lines(text, from: text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
    }

    /// Returns the number of line ends.
    static func lineCount(of text: [UInt8]) -> Int {
        text.withUnsafeBufferPointer { bytes in
            var count = 0
            for index in 0..<bytes.count where Lines.isEnd(bytes[index]) { count += 1 }
            return count
        }
    }

    /// Returns true if a line starts with a text, after blanks.
    static func hasLine(startingWith start: StaticString, in text: [UInt8]) -> Bool {
        text.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            var from = 0
            while let found = memchr(base + from, Int32(start.utf8Start[0]), bytes.count - from) {
                let offset = UnsafeRawPointer(found) - base
                from = offset + 1
                guard bytes.count - offset >= start.utf8CodeUnitCount,
                    memcmp(found, start.utf8Start, start.utf8CodeUnitCount) == 0
                else { continue }
                var before = offset
                while before > 0, Lines.isBlank(bytes[before - 1]) { before -= 1 }
                if before == 0 || Lines.isEnd(bytes[before - 1]) { return true }
            }
            return false
        }
    }

    /// Iterates on bytes in memory: millions of lines as slices of a collection take seconds without optimization.
    struct Lines: Sequence, IteratorProtocol {
        private let text: [UInt8]
        private var position: Int

        fileprivate init(_ text: [UInt8], from position: Int) { (self.text, self.position) = (text, position) }

        mutating func next() -> ArraySlice<UInt8>? {
            let found = text.withUnsafeBufferPointer { [position] bytes in
                var begin = position
                while begin < bytes.count, Self.isBlank(bytes[begin]) || Self.isEnd(bytes[begin]) { begin += 1 }
                var end = begin
                while end < bytes.count, !Self.isEnd(bytes[end]) { end += 1 }
                return begin..<end
            }
            position = found.upperBound
            return found.isEmpty ? nil : PlaylistText.trimmed(text[found])
        }

        fileprivate static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        fileprivate static func isEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }
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
