internal import Glibc
internal import MediaCore
internal import Storage

/// A copy of a user's cookie file in memory. yt-dlp writes back to the file it is given, and the option may name any
/// file. The copy ends with this program and yt-dlp, however they end.
final class CookieFileCopy: Sendable {
    private static let maxBytes = 16 << 20
    /// The path of the copy in a program that inherits it as descriptor 3.
    static let path = "/proc/self/fd/3"

    /// The copy, closed on exec.
    let descriptor: Int32

    /// Copies a file.
    ///
    /// - Throws: `cannotOpen` or `exhausted`; there is no copy then.
    init(of original: String) throws(MediaError) {
        let bytes: [UInt8]
        do throws(TalkieError) {
            bytes = try InputBytes.read(original, maxBytes: Self.maxBytes, what: "the cookie file")
        } catch { throw MediaError(.cannotOpen, error.message) }
        descriptor = BoundedProgram.memoryFile("cookies", bytes)
        guard descriptor >= 0 else {
            throw MediaError(.exhausted, "the cookie file cannot be copied (\(SystemCause.text(errno)))")
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
