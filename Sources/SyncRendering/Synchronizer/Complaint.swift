internal import Glibc

/// Messages for the developer on standard error, about incorrect use of the API, not about media.
enum Complaint {
    /// Writes a line to standard error. May block; any thread.
    static func write(_ text: String) {
        let line = Array("\(text)\n".utf8)
        line.withUnsafeBytes { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
