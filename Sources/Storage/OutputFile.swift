internal import Glibc
package import MediaCore

/// A result written to a file that a person named.
package enum OutputFile {
    package static func write(
        _ text: String, to path: String, what: String, isPrivate: Bool = false
    ) throws(TalkieError) {
        try write(Array(text.utf8), to: path, what: what, isPrivate: isPrivate)
    }

    /// - Parameter isPrivate: only its owner may read it, as is right for what was heard in a room.
    /// - Throws: status 1 when the file cannot be written; what was there before may be gone then.
    package static func write(
        _ bytes: [UInt8], to path: String, what: String, isPrivate: Bool = false
    ) throws(TalkieError) {
        let descriptor =
            isPrivate
            ? PrivateFile.create(path, O_WRONLY | O_NONBLOCK)
            : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0o644)
        var code = descriptor < 0 ? errno : 0
        if descriptor >= 0 {
            var offset = 0
            while offset < bytes.count && code == 0 {
                let count = bytes.withUnsafeBytes {
                    Glibc.write(descriptor, $0.baseAddress! + offset, $0.count - offset)
                }
                if count > 0 { offset += count } else if errno != EINTR { code = errno }
            }
            if close(descriptor) != 0 && code == 0 { code = errno }
        }
        guard code != 0 else { return }
        throw TalkieError(
            .failed,
            "\(what) '\(path)' cannot be written (\(SystemCause.text(code))); name another file")
    }
}
