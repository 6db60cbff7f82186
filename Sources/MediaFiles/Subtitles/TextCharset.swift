internal import CUchardet
internal import Glibc

/// Finds out how the words of a file are written that are no UTF-8.
enum TextCharset {
    /// As much of a file as is looked at, in bytes.
    private static let mostBytes = 1 << 20

    /// The charset as iconv names it; nil where the words are UTF-8, or UTF-16 that says so, which libavformat turns into UTF-8.
    static func guess(_ path: String) -> String? { guess(head(of: path)) }

    static func guess(_ head: [UInt8]) -> String? {
        if head.starts(with: [0xFF, 0xFE]) || head.starts(with: [0xFE, 0xFF]) { return nil }
        // A character may be cut in two where the head ends.
        let whole =
            head.count < mostBytes ? head[...] : head[...(head.lastIndex(of: UInt8(ascii: "\n")) ?? head.count - 1)]
        if String(validating: whole, as: UTF8.self) != nil { return nil }
        return detected(whole)
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
        // Files that call themselves Latin-1 have quotation marks where it has controls.
        return ["", "ASCII", "UTF-8", "ISO-8859-1"].contains(charset) ? western : charset
    }

    private static let western = "WINDOWS-1252"

    private static func head(of path: String) -> [UInt8] {
        guard let file = fopen(path, "rbe") else { return [] }
        defer { fclose(file) }
        return [UInt8](unsafeUninitializedCapacity: mostBytes) { $1 = fread($0.baseAddress, 1, mostBytes, file) }
    }
}
