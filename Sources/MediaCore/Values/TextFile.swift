internal import Glibc

/// Reads small text files, for instance from /proc and /sys.
package enum TextFile {
    /// Returns the first line without its newline, sanitized; nil if the file is missing or empty. Reads at most
    /// 256 bytes.
    package static func firstLine(of path: String) -> String? {
        let text = whole(path, limit: 256)
        guard !text.isEmpty else { return nil }
        return PrintableText.of(String(text.prefix { $0 != "\n" }))
    }

    /// Returns up to `limit` bytes as text, unmodified; empty if the file is missing or not readable.
    package static func whole(_ path: String, limit: Int) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: min(limit, 65_536))
        while bytes.count < limit {
            let count = read(descriptor, &buffer, min(buffer.count, limit - bytes.count))
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
