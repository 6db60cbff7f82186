internal import ArgumentParser
internal import CShim
internal import Glibc
internal import MediaCore
internal import Storage
internal import TalkieApp

/// Parses the arguments, runs a command, and returns an exit status and at most one sentence for standard error.
enum CommandLineRunner {
    /// The result of a command line, before anything is printed.
    struct Outcome {
        var status: Int32
        var output = ""
        var complaint = ""
    }

    /// An arena of glibc may keep twice the largest block that was ever freed, for instance 16 MB after the packets of
    /// a speaker, and there are up to eight arenas per processor.
    private static let maxArenas: Int32 = 2

    /// Runs a command line and prints its result. Returns the exit status.
    static func run(_ commandLine: [String]) -> Int32 {
        cshim_limit_arenas(maxArenas)
        // EPIPE is handled as an error of write(2).
        signal(SIGPIPE, SIG_IGN)
        // SIGXFSZ (ulimit -f) likewise: write(2) fails with EFBIG.
        signal(SIGXFSZ, SIG_IGN)
        // An inherited SIG_IGN would discard the exit status of the programs that are run.
        signal(SIGCHLD, SIG_DFL)
        // ignored: what needs a task checks again, and reports the reason.
        try? WorkerThread.checkForTask()
        for sentence in Privileges.adoptSockets() {
            StandardStream.error.write("talkie: \(PrintableText.sentence(sentence))\n")
        }
        let outcome = outcome(of: commandLine)
        StandardStream.output.write(outcome.output)
        StandardStream.error.write(outcome.complaint)
        guard outcome.status == ExitStatus.done, let code = StandardStream.outputFailure else { return outcome.status }
        let failure = TalkieError(.failed, "standard output cannot be written (\(SystemCause.text(code)))")
        StandardStream.error.write("talkie: \(failure.message)\n")
        return failure.exitStatus
    }

    /// Parses and runs a command line.
    ///
    /// - Parameter folder: The folder of talkie.conf and input.conf.
    static func outcome(of typed: [String], configuration folder: ConfigFolder = .standard()) -> Outcome {
        let names = TalkieCommand.configuration.subcommands.map { $0._commandName } + ["help"]
        let understood = ArgumentNormalizer.understood(typed, commands: Set(names))
        if let first = understood.first, !first.hasPrefix("-"), !names.contains(first) {
            return usageError(ArgumentNormalizer.unknownCommand(first, commands: names), for: understood)
        }
        let isPlay = understood.first == "play"
        let commandLine = isPlay ? ["play"] + FlagNormalizer.settled(Array(understood.dropFirst())) : understood
        if isPlay, let objection = FlagNormalizer.objection(to: Array(understood.dropFirst())) {
            return usageError(objection, for: commandLine)
        }
        do {
            if isPlay, let listing = profileListing(commandLine, folder) { return listing }
            var command = try TalkieCommand.parseAsRoot(commandLine)
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
            // ArgumentParser reports a missing file before an unknown option, and interprets the h of -dash as -h.
            if let command = command(of: commandLine),
                let objection = ArgumentNormalizer.unknownOption(
                    in: commandLine.dropFirst(), known: options(of: command))
            {
                return usageError(objection, for: commandLine)
            }
            // ArgumentParser reports help and version as errors as well.
            if TalkieCommand.exitCode(for: error).isSuccess {
                return Outcome(status: ExitStatus.done, output: TalkieCommand.fullMessage(for: error) + "\n")
            }
            return usageError(sentence(of: error), for: commandLine)
        }
    }

    private static func usageError(_ sentence: String, for commandLine: [String]) -> Outcome {
        Outcome(
            status: ExitStatus.usage,
            complaint: "talkie: \(PrintableText.sentence(sentence))\n\(usageLine(for: commandLine))\n")
    }

    private static func command(of commandLine: [String]) -> (any ParsableCommand.Type)? {
        TalkieCommand.configuration.subcommands.first { $0._commandName == commandLine.first }
    }

    /// Returns a command's options, including hidden ones, by name with dashes; true if they take a value.
    ///
    /// ArgumentParser lists them only on its help page: `--loop-file, --loop <N|inf>  Play …`.
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

    /// Returns the output of `--profile=help`, which needs no file; nil if it was not given.
    private static func profileListing(_ commandLine: [String], _ folder: ConfigFolder) -> Outcome? {
        let asks = zip(commandLine, commandLine.dropFirst()).contains { $0 == ("--profile", "help") }
        guard asks || commandLine.contains("--profile=help"),
            // ignored: parsing for the command itself reports the mistake.
            let play = try? PlayCommand.parse(Array(commandLine.dropFirst()) + ["-"])
        else { return nil }
        return Outcome(status: ExitStatus.done, output: PlayConfiguration.profileListing(play, folder: folder))
    }

    /// Returns the first line of ArgumentParser's message; hints may follow on further lines.
    static func sentence(of error: any Error) -> String {
        String(TalkieCommand.message(for: error).split(separator: "\n", maxSplits: 1).first ?? "usage error")
    }

    private static func usageLine(for commandLine: [String]) -> String {
        guard let described = command(of: commandLine) as? any UsageLine.Type else {
            return "Usage: talkie COMMAND …; 'talkie --help' lists the commands."
        }
        return "Usage: \(described.usageLine); 'talkie \(commandLine.first ?? "") --help' explains."
    }
}

/// The usage of a command in one line.
protocol UsageLine: ParsableCommand {
    static var usageLine: String { get }
}

/// Ends a command with a status and without a message.
struct Finished: Error {
    var status: Int32
}
