internal import MediaCore
internal import Playback
internal import Storage
internal import TalkieApp

/// Normalizes command lines for ArgumentParser.
enum ArgumentNormalizer {
    /// Returns the words with `play` inserted for `talkie FILM` and `inf` for a repetition without a number, both as in
    /// mpv, and with the usual address for `--remote` without one.
    ///
    /// - Parameter commands: The command names.
    static func understood(_ arguments: [String], commands: Set<String>) -> [String] {
        var arguments = arguments
        if let first = arguments.first, !commands.contains(first), looksLikeAFilm(first) || isOption(first) {
            arguments.insert("play", at: 0)
        }
        guard arguments.first == "play" else { return arguments }
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        return arguments[..<end].enumerated().map { index, argument in
            let next = arguments.dropFirst(index + 1).first
            if argument == "--remote" {
                return next.map(isPageAddress) ?? false ? argument : argument + "=" + RemoteArgument.standard.text
            }
            guard repetitions.contains(argument) else { return argument }
            return next.map(isRepetition) ?? false ? argument : argument + "=inf"
        } + arguments[end...]
    }

    /// Returns the error message for a first word that is neither a command nor a file.
    static func unknownCommand(_ argument: String, commands: [String]) -> String {
        if let likely = SpellingSuggestion.nearest(to: argument, among: commands) {
            return "unknown command '\(argument)'; did you mean '\(likely)'?"
        }
        return "'\(argument)' is neither a command nor an existing file; check the name"
    }

    /// Returns the error message for the first unknown option; nil if there is none.
    ///
    /// - Parameters:
    ///   - arguments: The words after the command's name.
    ///   - known: The command's options by name with dashes; true if they take a value.
    static func unknownOption(in arguments: some Collection<String>, known: [String: Bool]) -> String? {
        var isValue = false
        for argument in arguments {
            if argument == "--" { return nil }
            // "-10" is a time or a number.
            guard argument.hasPrefix("-"), argument.dropFirst().contains(where: \.isLetter) else {
                isValue = false
                continue
            }
            let name = argument.split(separator: "=", maxSplits: 1).first.map(String.init) ?? argument
            if let takesValue = known[name] {
                isValue = takesValue && !argument.contains("=")
                continue
            }
            if rootOptions.contains(name) { return nil }
            // The value of the previous option, such as a text or a path.
            if isValue, !argument.hasPrefix("--") {
                isValue = false
                continue
            }
            if looksLikeAFilm(name) {
                return
                    "'\(argument)' looks like an option; to play a file of that name, write './\(argument)' or '-- \(argument)'"
            }
            let likely = SpellingSuggestion.nearest(to: name, among: known.keys.sorted())
            return "unknown option '\(name)'" + (likely.map { "; did you mean '\($0)'?" } ?? "")
        }
        return nil
    }

    private static let repetitions: Set<String> = ["--loop", "--loop-file", "--loop-playlist"]
    /// The options of the root command.
    private static let rootOptions: Set<String> = ["-h", "--help", "-help", "--version", "--help-hidden"]

    private static func isOption(_ argument: String) -> Bool {
        argument.hasPrefix("-") && !rootOptions.contains(argument)
            && !argument.hasPrefix("--generate-completion-script")
            && !argument.hasPrefix("--experimental-dump-help")
    }

    /// Returns true for a path, an address, or a name with an extension. A bare word is more likely a mistyped command,
    /// unless such a file exists.
    private static func looksLikeAFilm(_ argument: String) -> Bool {
        argument.contains("/") || argument.contains(".") || InputCheck.isAddress(argument)
            || (!argument.isEmpty && (InputCheck.objection(to: argument) == nil || PlaylistLoader.isFolder(argument)))
    }

    /// Whether an argument is an address of the page, valid or not: without it the page would be served at all
    /// addresses.
    private static func isPageAddress(_ argument: String) -> Bool {
        // ignored: only whether it can be parsed counts.
        if (try? RemoteArgument(parsing: argument)) != nil { return true }
        let resemblesOne = argument.allSatisfy { "0123456789.:[]".contains($0) } || argument.hasPrefix("localhost")
        return resemblesOne && !argument.isEmpty && InputCheck.objection(to: argument) != nil
            && !PlaylistLoader.isFolder(argument)
    }

    /// Whether an argument is a repetition count, valid or not.
    private static func isRepetition(_ argument: String) -> Bool {
        // ignored: only whether it can be parsed counts.
        if (try? PlayerOptions.Loop(parsing: argument)) != nil || Int(argument) != nil { return true }
        return !argument.hasPrefix("-") && !looksLikeAFilm(argument)
    }
}
