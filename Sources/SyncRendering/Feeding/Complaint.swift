internal import Glibc

/// A sentence for the developer, on standard error: what is wrong with the program, and not with a film.
enum Complaint {
    static func write(_ text: String) {
        let line = Array("\(text)\n".utf8)
        line.withUnsafeBytes { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
