internal import Glibc
internal import MediaCore

/// Writes screenshots: `talkie-shot0001.png`, with the first free number in the folder.
enum ScreenshotFile {
    private static let maxAttempts = 9999

    /// Writes a screenshot.
    ///
    /// - Returns: The file name.
    /// - Throws: `failed` if the file cannot be written; it is removed then.
    static func write(_ bytes: [UInt8], folder: String = ".") throws(TalkieError) -> String {
        for number in 1...maxAttempts {
            let digits = String(number)
            let name = "talkie-shot" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + ".png"
            let path = folder == "." ? name : folder + "/" + name
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if descriptor < 0 && errno == EEXIST { continue }
            guard descriptor >= 0 else { throw failure(errno) }
            var code = CompleteWrite.write(bytes, to: descriptor) ?? 0
            if close(descriptor) != 0 && code == 0 { code = errno }
            guard code == 0 else {
                unlink(path)
                throw failure(code)
            }
            return name
        }
        throw TalkieError(
            .failed, "this folder contains too many screenshots; move some")
    }

    private static func failure(_ code: Int32) -> TalkieError {
        TalkieError(
            .failed,
            "\(SystemCause.text(code)); start talkie in a writable folder")
    }
}
