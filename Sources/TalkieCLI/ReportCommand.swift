internal import ArgumentParser
internal import Talkie

/// `talkie report`: what a recorded timeline claims about lip sync.
struct ReportCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Sum up what a recorded timeline claims about lip sync.",
        discussion: """
            Offsets are positive when sound is later than picture. They are the player's own testimony; the truth is \
            what a meter outside sees and hears.
            """)
    static let usageLine = "talkie report TIMELINE [--json] [--plot FILE.svg]"

    @Argument(
        help: ArgumentHelp("What talkie play --timeline wrote; - is standard input.", valueName: "TIMELINE"))
    var timeline: String

    @Flag(help: "Print the results for other programs.")
    var json = false

    @Option(help: ArgumentHelp("Draw the offsets over time.", valueName: "FILE.svg"))
    var plot: String?

    func run() throws {
        if let objection = InputCheck.objection(to: timeline, what: .timeline) { throw objection }
        let report = try TimelineReport(reading: timeline)
        StandardStream.output.write(json ? report.json.formatted : report.text)
        if let plot { try report.plot(to: plot) }
    }
}
