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

/// The syntax of commands in a key binding.
enum CommandText {
    /// Maximum number of commands per key.
    private static let maxCommandsPerKey = 32

    /// Splits text into commands, separated by `;`, and words, separated by blanks.
    ///
    /// Words are quoted by `'`, or by `"` with the escapes `\"`, `\\` and `\n`.
    static func commands(in text: Substring) throws(ValueError) -> [[String]] {
        var commands: [[String]] = []
        var words: [String] = []
        var rest = text
        while true {
            rest = rest.drop { $0.isWhitespace }
            guard let first = rest.first, first != "#" else { break }
            switch first {
            case ";":
                rest = rest.dropFirst()
                if !words.isEmpty { commands.append(words) }
                words = []
            case "\"", "'":
                let (word, end) = try quoted(rest)
                words.append(word)
                rest = end
            default:
                // A ";" is part of a word unless it is the last character.
                var word = rest.prefix { !$0.isWhitespace }
                if word.count > 1, word.last == ";" { word = word.dropLast() }
                words.append(String(word))
                rest = rest[word.endIndex...]
            }
            guard commands.count < maxCommandsPerKey else { throw ValueError("too many commands for one key") }
        }
        return words.isEmpty ? commands : commands + [words]
    }

    private static func quoted(_ text: Substring) throws(ValueError) -> (String, Substring) {
        let mark = text.first!
        var word = ""
        var rest = text.dropFirst()
        while let character = rest.popFirst() {
            if character == mark { return (word, rest) }
            guard character == "\\", mark == "\"", let escaped = rest.popFirst() else {
                word.append(character)
                continue
            }
            word.append(escaped == "n" ? "\n" : escaped)
        }
        throw ValueError("unterminated quote")
    }
}
