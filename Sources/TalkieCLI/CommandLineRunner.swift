internal import ArgumentParser
internal import Glibc
internal import MediaCore
internal import Storage
internal import TalkieApp

/// Turns words into a command, runs it, and turns what happened into an exit status and at most one sentence on
/// standard error.
enum CommandLineRunner {
    /// What a line of words led to, before anything is printed.
    struct Outcome {
        var status: Int32
        var output = ""
        var complaint = ""
    }

    static func run(_ words: [String]) -> Int32 {
        // A closed pipe is an error of write(2), not the end of the program.
        signal(SIGPIPE, SIG_IGN)
        // A file that may grow no further (ulimit -f) is one, too.
        signal(SIGXFSZ, SIG_IGN)
        for sentence in Privileges.settle() {
            StandardStream.error.write("talkie: \(PrintableText.sentence(sentence))\n")
        }
        let outcome = outcome(of: words)
        StandardStream.output.write(outcome.output)
        StandardStream.error.write(outcome.complaint)
        return outcome.status
    }

    /// - Parameter folder: where talkie.conf and input.conf lie.
    static func outcome(of typed: [String], configuration folder: ConfigFolder = .standard()) -> Outcome {
        let names = TalkieCommand.configuration.subcommands.map { $0._commandName } + ["help"]
        let understood = CommandWords.understood(typed, commands: Set(names))
        if let first = understood.first, !first.hasPrefix("-"), !names.contains(first) {
            return usageError(CommandWords.unknownCommand(first, commands: names), for: understood)
        }
        let isPlay = understood.first == "play"
        let words = isPlay ? ["play"] + FlagWords.settled(Array(understood.dropFirst())) : understood
        if isPlay, let objection = FlagWords.objection(to: Array(understood.dropFirst())) {
            return usageError(objection, for: words)
        }
        do {
            if isPlay, let listing = profileListing(words, folder) { return listing }
            var command = try TalkieCommand.parseAsRoot(words)
            if let play = command as? PlayCommand {
                let arguments = try PlayConfiguration.arguments(
                    of: play, typed: Array(understood.dropFirst()), folder: folder)
                return Outcome(status: try PlaySession.run(arguments))
            }
            try command.run()
            return Outcome(status: ExitStatus.done)
        } catch let failure as TalkieError {
            return Outcome(
                status: failure.exitStatus, complaint: "talkie: \(PrintableText.sentence(failure.message))\n")
        } catch let finished as Finished {
            return Outcome(status: finished.status)
        } catch {
            // ArgumentParser reports a missing file before an unknown option, and takes the h of -dash for -h.
            if let command = command(of: words),
                let objection = CommandWords.unknownOption(in: words.dropFirst(), known: options(of: command))
            {
                return usageError(objection, for: words)
            }
            // Help and version are errors to ArgumentParser too.
            if TalkieCommand.exitCode(for: error).isSuccess {
                return Outcome(status: ExitStatus.done, output: TalkieCommand.fullMessage(for: error) + "\n")
            }
            return usageError(sentence(of: error), for: words)
        }
    }

    private static func usageError(_ sentence: String, for words: [String]) -> Outcome {
        Outcome(
            status: ExitStatus.usage,
            complaint: "talkie: \(PrintableText.sentence(sentence))\n\(usageLine(for: words))\n")
    }

    private static func command(of words: [String]) -> (any ParsableCommand.Type)? {
        TalkieCommand.configuration.subcommands.first { $0._commandName == words.first }
    }

    /// Returns a command's options, hidden ones too, by their names with their dashes; true for those that take a value.
    ///
    /// ArgumentParser gives them away in its help page only: `--loop-file, --loop <N|inf>  Play …`.
    private static func options(of command: any ParsableCommand.Type) -> [String: Bool] {
        var options: [String: Bool] = [:]
        for line in TalkieCommand.helpMessage(for: command, includeHidden: true, columns: 200).split(separator: "\n") {
            let row = line.drop { $0 == " " }
            guard row.hasPrefix("-") else { continue }
            let label = row.prefix(upTo: row.firstRange(of: "  ")?.lowerBound ?? row.endIndex)
            for word in label.split(whereSeparator: { " ,/".contains($0) }) where word.hasPrefix("-") {
                options[String(word)] = label.contains(" <")
            }
        }
        return options
    }

    /// The answer to `--profile=help`, which needs no film.
    private static func profileListing(_ words: [String], _ folder: ConfigFolder) -> Outcome? {
        let asks = zip(words, words.dropFirst()).contains { $0 == ("--profile", "help") }
        guard asks || words.contains("--profile=help"),
            // ignored: parsing for the command itself reports the mistake.
            let play = try? PlayCommand.parse(Array(words.dropFirst()) + ["-"])
        else { return nil }
        return Outcome(status: ExitStatus.done, output: PlayConfiguration.profileListing(play, folder: folder))
    }

    /// What ArgumentParser has to say; it may add hints on further lines.
    static func sentence(of error: any Error) -> String {
        String(TalkieCommand.message(for: error).split(separator: "\n", maxSplits: 1).first ?? "usage error")
    }

    private static func usageLine(for words: [String]) -> String {
        guard let described = command(of: words) as? any UsageLine.Type else {
            return "Usage: talkie COMMAND …; 'talkie --help' lists the commands."
        }
        return "Usage: \(described.usageLine); 'talkie \(words.first ?? "") --help' explains."
    }
}

/// A command's own usage in one line.
protocol UsageLine: ParsableCommand {
    static var usageLine: String { get }
}

/// Ends a command with a status and nothing more to say.
struct Finished: Error {
    var status: Int32
}
