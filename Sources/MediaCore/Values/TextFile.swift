internal import Glibc

/// Reads small text files, for instance from /proc and /sys.
package enum TextFile {
    /// Returns the first line without its newline, sanitized; nil if the file is missing or empty. Reads at most
    /// 256 bytes.
    package static func firstLine(of path: String) -> String? {
        let text = contents(path, limit: 256)
        guard !text.isEmpty else { return nil }
        return PrintableText.of(String(text.prefix { $0 != "\n" }))
    }

    /// Returns up to `limit` bytes as text, unmodified; empty if the file is missing or cannot be read completely.
    package static func contents(_ path: String, limit: Int, by read: FileBytes.Read? = nil) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        // ignored: a file that cannot be read counts as missing.
        guard let bytes = try? FileBytes.read(descriptor, maxBytes: limit, by: read) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}
