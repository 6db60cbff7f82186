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
        if (try? PlayerOptions.Loop(parsing: word)) != nil || Int(word) != nil { return true }
        return !word.hasPrefix("-") && !looksLikeAFilm(word)
    }
}
