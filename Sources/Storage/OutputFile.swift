internal import Glibc
package import MediaCore

/// Writes results to user-provided files.
package enum OutputFile {
    /// Writes text as UTF-8; see the other overload.
    package static func write(
        _ text: String, to path: String, what: String, isPrivate: Bool = false
    ) throws(TalkieError) {
        try write(Array(text.utf8), to: path, what: what, isPrivate: isPrivate)
    }

    /// Creates or overwrites a file.
    ///
    /// - Parameters:
    ///   - what: the contents, for the message.
    ///   - isPrivate: true restricts access to the owner, for instance for microphone recordings.
    /// - Throws: `failed` (exit status 1); the previous contents may be lost then.
    package static func write(
        _ bytes: [UInt8], to path: String, what: String, isPrivate: Bool = false
    ) throws(TalkieError) {
        let descriptor =
            isPrivate
            ? PrivateFile.create(path, O_WRONLY | O_NONBLOCK)
            : open(path.systemPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0o644)
        var code = descriptor < 0 ? errno : 0
        if descriptor >= 0 {
            // Only open(2) must not wait for a reader of a pipe; one that is slower than this program is waited for.
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
            code = CompleteWrite.write(bytes, to: descriptor) ?? 0
            if close(descriptor) != 0 && code == 0 { code = errno }
        }
        guard code != 0 else { return }
        throw TalkieError(
            .failed,
            "\(what) '\(path)' cannot be written (\(SystemCause.text(code))); name another file")
    }
}
