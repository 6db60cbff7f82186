package import MediaCore

/// A password in a file: words of a command line can be read by everybody on the computer (`ps`), and stay in the shell's history.
package enum SecretFile {
    private static let largest = 4096

    /// The file's first line.
    ///
    /// - Throws: status 66 or 77 when the file cannot be read, 2 when it holds nothing.
    package static func read(_ path: String) throws(TalkieError) -> String {
        let bytes = try InputBytes.read(path, most: largest, what: "the password file")
        var line = bytes.prefix { $0 != UInt8(ascii: "\n") }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard !line.isEmpty, let text = String(validating: line, as: UTF8.self) else {
            throw TalkieError(
                .invalidArgument, "the first line of '\(path)' is no password; write it there, in UTF-8")
        }
        return text
    }
}
