/// One thing in a file of a person's own that Talkie does not understand, by its line.
package struct ConfigMistake: Error, Hashable {
    package var file: String
    /// 1 is the first; 0 is the file as a whole.
    package var line: Int
    package var sentence: String

    package init(_ file: String, line: Int, _ sentence: String) {
        self.file = file
        self.line = line
        self.sentence = sentence
    }

    /// A file that is something else has more mistakes than anybody reads.
    package static let mostTold = 50

    /// All of them, for a person, in the order of the lines.
    package static func told(_ mistakes: [ConfigMistake]) -> [String] {
        let sorted = mistakes.sorted { ($0.file, $0.line) < ($1.file, $1.line) }
        var told = sorted.prefix(mostTold).map { mistake in
            mistake.line == 0
                ? "\(mistake.file): \(mistake.sentence)" : "\(mistake.file) line \(mistake.line): \(mistake.sentence)"
        }
        let more = mistakes.count - mostTold
        if more > 0 { told.append(more == 1 ? "one more mistake there" : "\(more) more mistakes there") }
        return told
    }
}
