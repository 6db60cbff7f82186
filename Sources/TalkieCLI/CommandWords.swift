internal import MediaCore
internal import Playback
internal import Storage
internal import TalkieApp

/// Normalizes command lines for ArgumentParser.
enum CommandWords {
    /// Returns the words with `play` inserted for `talkie FILM` and `inf` for a repetition without a number, both as in
    /// mpv, and with the usual address for `--remote` without one.
    ///
    /// - Parameter commands: The command names.
    static func understood(_ words: [String], commands: Set<String>) -> [String] {
        var words = words
        if let first = words.first, !commands.contains(first), looksLikeAFilm(first) || isOption(first) {
            words.insert("play", at: 0)
        }
        guard words.first == "play" else { return words }
        let end = words.firstIndex(of: "--") ?? words.endIndex
        return words[..<end].enumerated().map { index, word in
            let next = words.dropFirst(index + 1).first
            if word == "--remote" {
                return next.map(isPageAddress) ?? false ? word : word + "=" + RemoteArgument.standard.text
            }
            guard repetitions.contains(word) else { return word }
            return next.map(isRepetition) ?? false ? word : word + "=inf"
        } + words[end...]
    }

    /// Returns the error message for a first word that is neither a command nor a file.
    static func unknownCommand(_ word: String, commands: [String]) -> String {
        if let likely = SpellingSuggestion.nearest(to: word, among: commands) {
            return "unknown command '\(word)'; did you mean '\(likely)'?"
        }
        return "'\(word)' is neither a command nor an existing file; check the name"
    }

    /// Returns the error message for the first unknown option; nil if there is none.
    ///
    /// - Parameters:
    ///   - words: The words after the command's name.
    ///   - known: The command's options by name with dashes; true if they take a value.
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
            // The value of the previous option, such as a text or a path.
            if isValue, !word.hasPrefix("--") {
                isValue = false
                continue
            }
            if looksLikeAFilm(name) {
                return "'\(word)' looks like an option; to play a file of that name, write './\(word)' or '-- \(word)'"
            }
            let likely = SpellingSuggestion.nearest(to: name, among: known.keys.sorted())
            return "unknown option '\(name)'" + (likely.map { "; did you mean '\($0)'?" } ?? "")
        }
        return nil
    }

    private static let repetitions: Set<String> = ["--loop", "--loop-file", "--loop-playlist"]
    /// The options of the root command.
    private static let rootOptions: Set<String> = ["-h", "--help", "-help", "--version", "--help-hidden"]

    private static func isOption(_ word: String) -> Bool {
        word.hasPrefix("-") && !rootOptions.contains(word) && !word.hasPrefix("--generate-completion-script")
            && !word.hasPrefix("--experimental-dump-help")
    }

    /// Returns true for a path, an address, or a name with an extension. A bare word is more likely a mistyped command,
    /// unless such a file exists.
    private static func looksLikeAFilm(_ word: String) -> Bool {
        word.contains("/") || word.contains(".") || InputCheck.isAddress(word)
            || (!word.isEmpty && (InputCheck.objection(to: word) == nil || PlaylistLoader.isFolder(word)))
    }

    /// Whether an argument is an address of the page, valid or not: without it the page would be served at all
    /// addresses.
    private static func isPageAddress(_ word: String) -> Bool {
        // ignored: only whether it can be parsed counts.
        if (try? RemoteArgument(parsing: word)) != nil { return true }
        let resemblesOne = word.allSatisfy { "0123456789.:[]".contains($0) } || word.hasPrefix("localhost")
        return resemblesOne && !word.isEmpty && InputCheck.objection(to: word) != nil && !PlaylistLoader.isFolder(word)
    }

    /// Whether an argument is a repetition count, valid or not.
    private static func isRepetition(_ word: String) -> Bool {
        // ignored: only whether it can be parsed counts.
        if (try? PlayerOptions.Loop(parsing: word)) != nil || Int(word) != nil { return true }
        return !word.hasPrefix("-") && !looksLikeAFilm(word)
    }
}
