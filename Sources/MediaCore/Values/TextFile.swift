internal import Glibc

/// Small files of the kernel's and of programs'.
package enum TextFile {
    /// Without its newline, printable; nil when there is none.
    package static func firstLine(of path: String) -> String? {
        let text = whole(path, limit: 256)
        guard !text.isEmpty else { return nil }
        return PrintableText.of(String(text.prefix { $0 != "\n" }))
    }

    /// As it is, up to so many bytes; empty when there is none or it may not be read.
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
