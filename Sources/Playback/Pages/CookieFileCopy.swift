internal import Glibc
internal import MediaCore
internal import Storage

/// A private copy of a user's cookie file. yt-dlp writes back to the file it is given, and the option may name any
/// file.
struct CookieFileCopy {
    private static let maxBytes = 16 << 20

    /// The path of the copy.
    let path: String

    /// Copies a file to the folder for temporary files, readable by its owner only (mode 0600).
    ///
    /// - Throws: `cannotOpen`; no file is left then.
    init(of original: String) throws(MediaError) {
        let bytes: [UInt8]
        do throws(TalkieError) {
            bytes = try InputBytes.read(original, maxBytes: Self.maxBytes, what: "the cookie file")
        } catch { throw MediaError(.cannotOpen, error.message) }
        let folder = getenv("TMPDIR").map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        var name = Array("\(folder)/talkie-cookies-XXXXXX".utf8CString)
        // mkstemp(3) creates the file with mode 0600.
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw Self.refusal(folder, errno) }
        path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let code = CompleteWrite.write(bytes, to: descriptor)
        close(descriptor)
        if let code {
            unlink(path)
            throw Self.refusal(folder, code)
        }
    }

    /// Deletes the copy.
    func remove() { unlink(path) }

    private static func refusal(_ folder: String, _ code: Int32) -> MediaError {
        MediaError(.cannotOpen, "the cookie file cannot be copied to \(folder) (\(SystemCause.text(code)))")
    }
}
