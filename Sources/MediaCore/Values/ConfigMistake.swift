/// A syntax error in a user-provided configuration file.
package struct ConfigMistake: Error, Hashable {
    var file: String
    /// The line number, from 1; 0 refers to the file as a whole.
    package var line: Int
    package var sentence: String

    package init(_ file: String, line: Int, _ sentence: String) {
        self.file = file
        self.line = line
        self.sentence = sentence
    }

    /// Maximum number of reported errors; a file of another format has very many.
    package static let maxReported = 50

    /// Returns the errors as text for the user, sorted by file and line, at most `maxReported` and their remaining
    /// number.
    package static func messages(for mistakes: [ConfigMistake]) -> [String] {
        let sorted = mistakes.sorted { ($0.file, $0.line) < ($1.file, $1.line) }
        var messages = sorted.prefix(maxReported).map { mistake in
            mistake.line == 0
                ? "\(mistake.file): \(mistake.sentence)" : "\(mistake.file) line \(mistake.line): \(mistake.sentence)"
        }
        let more = mistakes.count - maxReported
        if more > 0 { messages.append(more == 1 ? "one more mistake there" : "\(more) more mistakes there") }
        return messages
    }
}
