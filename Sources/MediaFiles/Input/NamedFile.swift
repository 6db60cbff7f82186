internal import Glibc
internal import MediaCore

/// Reads small user-provided files.
enum NamedFile {
    /// Returns the contents of a file. Blocks.
    ///
    /// - Parameters:
    ///   - maxBytes: The maximum size in bytes; a longer file is refused.
    ///   - what: The expected content, for messages: `certificates`.
    /// - Throws: `notPermitted`, `cannotOpen` or `limitExceeded`, with a sentence.
    static func read(_ path: String, maxBytes: Int, what: String) throws(MediaError) -> [UInt8] {
        // Opening a FIFO without a writer would block forever.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw errno == EACCES
                ? MediaError(.notPermitted, "no permission to read \"\(path)\"; check its permissions")
                : MediaError(.cannotOpen, "there is no file \"\(path)\"; check the name")
        }
        defer { close(descriptor) }
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        while bytes.count <= maxBytes {
            let got = Glibc.read(descriptor, &piece, piece.count)
            if got < 0, errno == EINTR { continue }
            if got < 0 { throw MediaError(.cannotOpen, "\"\(path)\" cannot be read; choose a file with \(what)") }
            if got == 0 { return bytes }
            bytes += piece.prefix(got)
        }
        throw MediaError(.limitExceeded, "\"\(path)\" is too large for a file with \(what); check the name")
    }
}
