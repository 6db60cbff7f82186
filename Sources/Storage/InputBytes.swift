internal import Glibc
package import MediaCore

/// Reads whole files into memory, up to a size limit.
package enum InputBytes {
    /// Reads a regular file.
    ///
    /// - Parameters:
    ///   - maxBytes: maximum size in bytes; larger files are not read.
    ///   - what: the expected contents, for the message.
    /// - Throws: `cannotOpen` (exit status 66) or `notPermitted` (77) with a sentence.
    package static func read(_ path: String, maxBytes: Int, what: String) throws(TalkieError) -> [UInt8] {
        if let objection = InputCheck.objection(to: path, what: .file) { throw objection }
        func refused(_ why: String) -> TalkieError {
            TalkieError(.cannotOpen, "\(what) '\(path)' \(why)")
        }
        // O_NONBLOCK: a pipe without a writer would block open(2).
        let descriptor = open(path.systemPath, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw refused("cannot be opened (\(SystemCause.text(errno)))") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw refused("is not a regular file; choose one")
        }
        guard status.st_size <= maxBytes else {
            throw refused(
                "is too large (\(status.st_size >> 20) MiB, \(maxBytes >> 20) at most); it is probably the wrong file")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress! + count, $0.count - count)
            }
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw refused("cannot be read (\(SystemCause.text(errno)))") }
            if got == 0 { break }
            count += got
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
