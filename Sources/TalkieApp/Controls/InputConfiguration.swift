package import MediaCore

/// A person's own keys: the text of `input.conf`, in mpv's syntax (its manual, section "input.conf syntax"):
/// `KEY command arguments; another command`, `#` begins a comment.
///
/// Bytes from a file: a line that makes no sense is a mistake, and its key does what it did.
package struct InputConfiguration: Sendable {
    package private(set) var keys = KeyMap()
    package private(set) var mistakes: [ConfigMistake] = []
    /// More than keyboards have.
    static let mostBindings = 1000

    package init(_ bytes: [UInt8], file: String) {
        var number = 0
        var count = 0
        for line in ConfigLines(bytes) {
            number += 1
            guard let text = String(validating: line, as: UTF8.self) else {
                mistakes.append(ConfigMistake(file, line: number, "this is no text in UTF-8"))
                continue
            }
            let rest = text.drop { $0.isWhitespace }
            guard let first = rest.first, first != "#" else { continue }
            guard count < Self.mostBindings else {
                mistakes.append(
                    ConfigMistake(file, line: number, "more than \(Self.mostBindings) keys; the rest is left out"))
                return
            }
            count += 1
            do throws(ValueError) {
                let key = rest.prefix { !$0.isWhitespace }
                let name = try WrittenKey.name(of: String(key))
                keys.bind(name, to: try Self.actions(rest.dropFirst(key.count)))
            } catch {
                mistakes.append(ConfigMistake(file, line: number, error.description))
            }
        }
    }

    /// The commands of one line.
    private static func actions(_ text: Substring) throws(ValueError) -> [PlayerAction] {
        let commands = try CommandText.commands(in: text)
        guard !commands.isEmpty else { throw ValueError("a key is followed by a command; ignore does nothing") }
        var actions: [PlayerAction] = []
        for words in commands { actions += try InputCommand.action(for: words).map { [$0] } ?? [] }
        return actions
    }
}

/// Words of commands, as they are written behind a key.
enum CommandText {
    /// More than make sense behind one key.
    private static let mostCommands = 32

    /// Words are parted by blanks, quoted by `"` (with `\"`, `\\` and `\n` in it) or `'`; commands by `;`.
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
                // A ";" is part of a word, but for one that ends it.
                var word = rest.prefix { !$0.isWhitespace }
                if word.count > 1, word.last == ";" { word = word.dropLast() }
                words.append(String(word))
                rest = rest[word.endIndex...]
            }
            guard commands.count < mostCommands else { throw ValueError("too many commands for one key") }
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
        throw ValueError("the quotation mark has no second one")
    }
}
