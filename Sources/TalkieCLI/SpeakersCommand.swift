internal import ArgumentParser
internal import MediaCore
internal import TalkieApp

/// `talkie speakers`: lists the speakers found, their abilities and their routes.
struct SpeakersCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "speakers",
        abstract: "List the speakers on the network with their abilities and the route that would be used.")
    static let usageLine = "talkie speakers [--json] [--watch] [--timeout SECONDS]"

    @Flag(help: "Print the list as JSON; with --watch one line for each change.")
    var json = false

    @Flag(help: "Continue, and report each speaker that appears (+), changes (~) or vanishes (-).")
    var watch = false

    @Option(
        help: ArgumentHelp(
            "Search for this long; default: until all speakers that are on have answered, at most 3 s.",
            valueName: "SECONDS"),
        transform: { try SpeakerScan.limit(parsing: $0) })
    var timeout: Duration?

    func run() throws {
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
