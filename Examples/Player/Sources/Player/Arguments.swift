/// The command line: `[--speaker NAME]… FILE…`.
struct Arguments {
    var speakers: [String] = []
    var files: [String] = []

    /// Returns nil for an invalid command line.
    init?(_ words: [String]) {
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--speaker" {
                guard let name = rest.popFirst() else { return nil }
                speakers.append(name)
            } else if word.hasPrefix("--") {
                return nil
            } else {
                files.append(word)
            }
        }
        if files.isEmpty { return nil }
    }
}
