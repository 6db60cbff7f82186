internal import ArgumentParser
internal import MediaCore
internal import TalkieApp

/// `talkie speakers`: lists the speakers found, their abilities and their routes.
struct SpeakersCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "speakers",
        abstract: "List the speakers on the network, what each can do, and how it would be driven.")
    static let usageLine = "talkie speakers [--json] [--watch] [--timeout SECONDS]"

    @Flag(help: "Print the list for other programs; with --watch one line for each change.")
    var json = false

    @Flag(help: "Go on, and tell when a speaker appears (+), changes (~) or vanishes (-).")
    var watch = false

    @Option(
        help: ArgumentHelp(
            "Look for this long; absent, until those awake have answered, 3 s at most.", valueName: "SECONDS"),
        transform: { try SpeakerScan.limit(parsing: $0) })
    var timeout: Duration?

    func run() throws {
        var lookout = SpeakerScan()
        lookout.isJSON = json
        lookout.watches = watch
        lookout.limit = timeout
        let status = try lookout.run(
            write: { StandardStream.output.write($0) },
            remark: { StandardStream.error.write("talkie: \(PrintableText.sentence($0))\n") })
        if status != ExitStatus.done { throw Finished(status: status) }
    }
}
