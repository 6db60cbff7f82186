internal import Glibc
internal import MediaCore

/// Reads small user-provided files.
enum NamedFile {
    /// Returns the contents of a file. Blocks.
    ///
    /// - Parameters:
    ///   - maxBytes: The maximum size in bytes; a longer file is refused.
    ///   - what: The expected content, for messages: `certificates`.
    ///   - isRegular: Whether only a regular file is opened.
    /// - Throws: `notPermitted`, `cannotOpen` or `limitExceeded`, with a sentence.
    static func read(
        _ path: String, maxBytes: Int, what: String, isRegular: Bool = false
    ) throws(MediaError) -> [UInt8] {
        // Opening a FIFO without a writer would block forever.
        let descriptor =
            isRegular ? FileBytes.openRegular(path) : open(path.systemPath, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw errno == EACCES
                ? MediaError(.notPermitted, "no permission to read \"\(path)\"; check its permissions")
                : MediaError(.cannotOpen, "there is no file \"\(path)\"; check the name")
        }
        defer { close(descriptor) }
        do throws(FileBytes.Failure) {
            let bytes = try FileBytes.read(descriptor, maxBytes: maxBytes + 1)
            if bytes.count <= maxBytes { return bytes }
        } catch {
            throw MediaError(.cannotOpen, "\"\(path)\" cannot be read; choose a file with \(what)")
        }
        throw MediaError(.limitExceeded, "\"\(path)\" is too large for a file with \(what); check the name")
    }
}
