package import MediaCore

/// The user's key bindings: the text of `input.conf`, in mpv's syntax (its manual, section "input.conf syntax").
///
/// A line is `KEY command arguments; another command`; `#` starts a comment.
///
/// Malformed lines are recorded as mistakes; their keys keep their default.
package struct InputConfiguration: Sendable {
    /// The bindings of the file.
    package private(set) var keys = KeyMap()
    /// The errors of the file.
    package private(set) var mistakes: [ConfigMistake] = []
    /// Maximum number of bindings; no keyboard has more keys.
    static let maxBindings = 1000

    /// Parses the bytes of a file.
    ///
    /// - Parameter file: The file name for error messages.
    package init(_ bytes: [UInt8], file: String) {
        var number = 0
        var count = 0
        for line in ConfigLines(bytes) {
            number += 1
            guard let text = String(validating: line, as: UTF8.self) else {
                mistakes.append(ConfigMistake(file, line: number, "this is not UTF-8 text"))
                continue
            }
            let rest = text.drop { $0.isWhitespace }
            guard let first = rest.first, first != "#" else { continue }
            guard count < Self.maxBindings else {
                mistakes.append(
                    ConfigMistake(file, line: number, "more than \(Self.maxBindings) keys; the rest is ignored"))
                return
            }
            count += 1
            do throws(ValueError) {
                let key = rest.prefix { !$0.isWhitespace }
                let name = try WrittenKey.name(of: String(key))
                try keys.bind(name, to: rest.dropFirst(key.count))
            } catch {
                mistakes.append(ConfigMistake(file, line: number, error.description))
            }
        }
    }
}
