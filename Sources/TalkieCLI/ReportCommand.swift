internal import ArgumentParser
internal import MediaCore
internal import Storage
internal import TalkieApp
internal import Telemetry

/// `talkie report`: summarizes the lip sync of a recorded timeline.
struct ReportCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Sum up what a recorded timeline claims about lip sync.",
        discussion: """
            Offsets are positive when sound is later than picture. They are the player's own testimony; the truth is \
            what a meter outside sees and hears. With the record of a speaker in software (talkie speaker --record) on \
            the same computer, the sound is what that speaker says it sounded. Several files of one record \
            (--timeline-max-size, --timeline-max-age) are read as one, in their order.
            """)
    static let usageLine = "talkie report TIMELINE... [--speaker-record FILE] [--json] [--plot FILE.svg]"

    @Argument(
        help: ArgumentHelp("What talkie play --timeline wrote; - is standard input.", valueName: "TIMELINE"))
    var timelines: [String]

    @Option(help: ArgumentHelp("Take the sound from what a speaker in software wrote.", valueName: "FILE"))
    var speakerRecord: String?

    @Flag(help: "Print the results for other programs.")
    var json = false

    @Option(help: ArgumentHelp("Draw the offsets over time.", valueName: "FILE.svg"))
    var plot: String?

    func run() throws {
        for timeline in timelines {
            if let objection = InputCheck.objection(to: timeline, what: .timeline) { throw objection }
        }
        let report: TimelineReport
        do throws(TalkieError) {
            report = try TimelineReport(reading: timelines, speakerRecord: speakerRecord)
        } catch {
            throw error.saying(\.phrase)
        }
        StandardStream.output.write(json ? report.json.formatted : report.text)
        if let plot { try report.plot(to: plot) }
    }
}
