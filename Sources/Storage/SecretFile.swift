package import MediaCore

/// Reads a password from a file. Command-line arguments are visible to all users (`ps`) and stay in the shell's
/// history.
package enum SecretFile {
    /// Maximum size in bytes.
    private static let largest = 4096

    /// Returns the first line of a file.
    ///
    /// - Throws: `cannotOpen` or `notPermitted` (exit status 66 or 77) if the file cannot be read. `invalidArgument`
    ///   (2) if the line is empty or not UTF-8.
    package static func read(_ path: String) throws(TalkieError) -> String {
        let bytes = try InputBytes.read(path, maxBytes: largest, what: "the password file")
        var line = bytes.prefix { $0 != UInt8(ascii: "\n") }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard !line.isEmpty, let text = String(validating: line, as: UTF8.self) else {
            throw TalkieError(
                .invalidArgument, "the first line of '\(path)' is not a password; write it there in UTF-8")
        }
        return text
    }
}
