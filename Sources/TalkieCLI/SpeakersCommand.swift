internal import ArgumentParser
internal import MediaCore
internal import TalkieApp

/// `talkie speakers`: lists the speakers found, their abilities and their routes, and the sound server's outputs.
struct SpeakersCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "speakers",
        abstract:
            "List the speakers on the network with their abilities and the route that would be used, and the outputs of the"
            + " sound server.")
    static let usageLine = "talkie speakers [--json] [--watch] [--timeout SECONDS] | talkie speakers NAME --trace FILE"

    @Argument(
        help: ArgumentHelp(
            "With --trace: name, ID or address of the speaker, with options as for talkie play.",
            valueName: "NAME|ID|airplay://HOST[:PORT][;OPTION]"),
        transform: { try SpeakerArgument(parsing: $0) })
    var speaker: SpeakerArgument?

    @Flag(help: "Print the list as JSON; with --watch one line for each change.")
    var json = false

    @Flag(help: "Continue, and report each speaker of the network that appears (+), changes (~) or vanishes (-).")
    var watch = false

    @Option(
        help: ArgumentHelp(
            "Search for this long; default: until all speakers that are on have answered, at most 3 s.",
            valueName: "SECONDS"),
        transform: { try SpeakerScan.limit(parsing: $0) })
    var timeout: Duration?

    @Option(
        help: ArgumentHelp(
            "Play three beeps on the speaker and write the conversation with it, for a report.",
            discussion: "Names, addresses, identifiers and keys are replaced.", valueName: "FILE"))
    var trace: String?

    func validate() throws {
        if trace != nil, json || watch || timeout != nil {
            throw ValidationError(
                "--trace plays on one speaker, so --json, --watch and --timeout have no effect; remove them")
        }
        if (trace == nil) != (speaker == nil) {
            throw ValidationError(
                speaker == nil
                    ? "--trace needs the name of a speaker; talkie speakers lists them"
                    : "a name is only for --trace FILE; without it all speakers are listed")
        }
        if trace == "" { throw ValidationError("--trace needs the name of a file") }
    }

    func run() throws {
        if let speaker, let trace {
            let status = try SpeakerTrace(speaker, file: trace).run(
                write: { StandardStream.output.write("\(PrintableText.sentence($0))\n") },
                remark: { StandardStream.error.write("talkie: \(PrintableText.sentence($0))\n") })
            if status != ExitStatus.done { throw Finished(status: status) }
            return
        }
        var scan = SpeakerScan()
        scan.isJSON = json
        scan.watches = watch
        scan.limit = timeout
        let status = try scan.run(
            write: { StandardStream.output.write($0) },
            remark: { StandardStream.error.write("talkie: \(PrintableText.sentence($0))\n") })
        if status != ExitStatus.done { throw Finished(status: status) }
    }
}
