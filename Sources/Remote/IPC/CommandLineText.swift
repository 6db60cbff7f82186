internal import MediaCore

/// Commands as text, in the notation of mpv's input.conf: words, quoted or not, and `;` between commands.
enum CommandLineText {
    /// Returns the words of each command; nil for an unterminated quote.
    static func commands(_ text: String) -> [[JSONValue]]? {
        var commands: [[JSONValue]] = [[]]
        var rest = text.unicodeScalars[...]
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" || $0 == "\r" }
            guard let first = rest.first, first != "#" else { break }
            if first == ";" {
                rest.removeFirst()
                commands.append([])
                continue
            }
            guard let word = word(&rest) else { return nil }
            commands[commands.count - 1].append(.text(word))
        }
        return commands.filter { !$0.isEmpty }
    }

    private static func word(_ rest: inout Substring.UnicodeScalarView) -> String? {
        var word = String.UnicodeScalarView()
        switch rest.first {
        case "'"?:
            rest.removeFirst()
            guard let end = rest.firstIndex(of: "'") else { return nil }
            word.append(contentsOf: rest[..<end])
            rest = rest[rest.index(after: end)...]
        case "\""?:
            rest.removeFirst()
            while true {
                guard let next = rest.popFirst() else { return nil }
                if next == "\"" { break }
                guard next == "\\" else {
                    word.append(next)
                    continue
                }
                guard let escaped = rest.popFirst() else { return nil }
                word.append(escaped == "n" ? "\n" : escaped == "t" ? "\t" : escaped)
            }
        default:
            let plain = rest.prefix { $0 != " " && $0 != "\t" && $0 != "\r" && $0 != ";" }
            word.append(contentsOf: plain)
            rest = rest[plain.endIndex...]
        }
        return String(word)
    }
}
