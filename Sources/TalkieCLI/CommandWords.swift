internal import MediaCore
internal import Playback
internal import Storage

/// What people type, in the form that ArgumentParser understands.
enum CommandWords {
    /// `talkie FILM` plays it, and a repetition without a number has no end, both as in mpv.
    ///
    /// - Parameter commands: their names.
    static func understood(_ words: [String], commands: Set<String>) -> [String] {
        var words = words
        if let first = words.first, !commands.contains(first), looksLikeAFilm(first) || isOption(first) {
            words.insert("play", at: 0)
        }
        guard words.first == "play" else { return words }
        return words.enumerated().map { index, word in
            guard repetitions.contains(word) else { return word }
            let next = words.dropFirst(index + 1).first
            return next.map(isRepetition) ?? false ? word : word + "=inf"
        }
    }

    /// Returns why a first word that is neither a command nor a film is refused.
    static func unknownCommand(_ word: String, commands: [String]) -> String {
        if let likely = SimilarWord.nearest(to: word, among: commands) {
            return "unknown command '\(word)'; did you mean '\(likely)'?"
        }
        return "'\(word)' is neither a command nor a file that is there; check the name"
    }

    /// Returns why the first word that begins with a dash and names no option is refused; nil if there is none.
    ///
    /// - Parameters:
    ///   - words: those after the command's name.
    ///   - known: names of the command's options with their dashes; true for those that take a value.
    static func unknownOption(in words: some Collection<String>, known: [String: Bool]) -> String? {
        var isValue = false
        for word in words {
            if word == "--" { return nil }
            // "-10" is a time or a number.
            guard word.hasPrefix("-"), word.dropFirst().contains(where: \.isLetter) else {
                isValue = false
                continue
            }
            let name = word.split(separator: "=", maxSplits: 1).first.map(String.init) ?? word
            if let takesValue = known[name] {
                isValue = takesValue && !word.contains("=")
                continue
            }
            if rootOptions.contains(name) { return nil }
            // The value of the option before it, such as a text or a path.
            if isValue, !word.hasPrefix("--") {
                isValue = false
                continue
            }
            if looksLikeAFilm(name) {
                return "'\(word)' looks like an option; to play a file of that name, write './\(word)' or '-- \(word)'"
            }
            let likely = SimilarWord.nearest(to: name, among: known.keys.sorted())
            return "unknown option '\(name)'" + (likely.map { "; did you mean '\($0)'?" } ?? "")
        }
        return nil
    }

    private static let repetitions: Set<String> = ["--loop", "--loop-file", "--loop-playlist"]
    /// Options of the root itself.
    private static let rootOptions: Set<String> = ["-h", "--help", "-help", "--version", "--help-hidden"]

    private static func isOption(_ word: String) -> Bool {
        word.hasPrefix("-") && !rootOptions.contains(word) && !word.hasPrefix("--generate-completion-script")
            && !word.hasPrefix("--experimental-dump-help")
    }

    /// A path, an address, or a name with an ending; a bare word is more likely a command with a slip in it, unless there
    /// is such a file.
    private static func looksLikeAFilm(_ word: String) -> Bool {
        word.contains("/") || word.contains(".") || InputCheck.isAddress(word)
            || (!word.isEmpty && (InputCheck.objection(to: word) == nil || PlaylistLoader.isFolder(word)))
    }

    /// Whether a word belongs to the option before it, be it understood or not.
    private static func isRepetition(_ word: String) -> Bool {
        // ignored: only whether it can be parsed counts.
        if (try? PlayerOptions.Loop(parsing: word)) != nil || Int(word) != nil { return true }
        return !word.hasPrefix("-") && !looksLikeAFilm(word)
    }
}
