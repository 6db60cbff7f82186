internal import Glibc
internal import MediaCore

/// Writes screenshots: `talkie-shot0001.png`, with the first free number in the folder.
enum ScreenshotFile {
    private static let maxAttempts = 9999

    /// Writes a screenshot under a hidden name and publishes it once it is complete: the program may end meanwhile.
    ///
    /// - Returns: The file name.
    /// - Throws: `failed` if the file cannot be written; it is removed then.
    static func write(_ bytes: [UInt8], folder: String = ".") throws(TalkieError) -> String {
        func path(_ name: String) -> [CChar] { (folder == "." ? name : folder + "/" + name).systemPath }
        let temporary = path(".talkie-shot-\(getpid())-\(UInt32.random(in: 0 ... .max))")
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(errno) }
        defer { unlink(temporary) }
        var code = CompleteWrite.write(bytes, to: descriptor) ?? 0
        if close(descriptor) != 0 && code == 0 { code = errno }
        guard code == 0 else { throw failure(code) }
        for number in 1...maxAttempts {
            let digits = String(number)
            let name = "talkie-shot" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + ".png"
            if link(temporary, path(name)) == 0 { return name }
            if errno == EEXIST { continue }
            // The file system has no hard links, and the name is free: link(2) checks that first.
            guard rename(temporary, path(name)) == 0 else { throw failure(errno) }
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
