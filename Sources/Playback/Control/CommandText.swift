package import MediaCore

/// Commands as text, in the notation of mpv's input.conf: words, quoted or not, and `;` between commands.
package enum CommandText {
    /// Where the text is from.
    package enum Source {
        /// A line of input.conf: an unquoted word contains `;` unless that is its last character.
        case keyBinding
        /// A line of a client: an unquoted word ends at `;`.
        case client

        fileprivate func isBlank(_ scalar: Unicode.Scalar) -> Bool {
            self == .client ? scalar == " " || scalar == "\t" || scalar == "\r" : scalar.properties.isWhitespace
        }
    }

    /// Returns the words of each command. Words are quoted by `'`, or by `"` with the escapes `\"`, `\\`, `\n` and
    /// `\t`; `#` starts a comment.
    ///
    /// - Throws: `ValueError` for an unterminated quote.
    package static func commands(
        in text: some StringProtocol, from source: Source
    ) throws(ValueError) -> [[String]] {
        var commands: [[String]] = [[]]
        var rest = String(text).unicodeScalars[...]
        while true {
            rest = rest.drop(while: source.isBlank)
            guard let first = rest.first, first != "#" else { break }
            if first == ";" {
                rest.removeFirst()
                commands.append([])
            } else {
                commands[commands.count - 1].append(try token(&rest, source))
            }
        }
        return commands.filter { !$0.isEmpty }
    }

    private static func token(
        _ rest: inout Substring.UnicodeScalarView, _ source: Source
    ) throws(ValueError) -> String {
        var token = String.UnicodeScalarView()
        guard let mark = rest.first, mark == "'" || mark == "\"" else {
            var plain = rest.prefix { !source.isBlank($0) && (source == .keyBinding || $0 != ";") }
            if plain.count > 1, plain.last == ";" { plain.removeLast() }
            rest = rest[plain.endIndex...]
            return String(plain)
        }
        rest.removeFirst()
        while let scalar = rest.popFirst() {
            if scalar == mark { return String(token) }
            guard scalar == "\\", mark == "\"", let escaped = rest.popFirst() else {
                token.append(scalar)
                continue
            }
            token.append(escaped == "n" ? "\n" : escaped == "t" ? "\t" : escaped)
        }
        throw ValueError("unterminated quote")
    }
}
