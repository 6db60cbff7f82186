internal import ArgumentParser
internal import MediaCore
internal import Storage
internal import TalkieApp
internal import Telemetry

/// `talkie report`: summarizes the lip sync of a recorded timeline.
struct ReportCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Summarize the lip sync of a recorded timeline.",
        discussion: """
            Offsets are positive when sound is later than picture. They are reported by the player itself; only \
            an external meter measures the true offset. With the record of a software speaker (talkie speaker --record) on \
            the same computer, the sound is taken from that record. Several files of one record \
            (--timeline-max-size, --timeline-max-age) are read as one, in order.
            """)
    static let usageLine = "talkie report TIMELINE... [--speaker-record FILE] [--json] [--plot FILE.svg]"

    @Argument(
        help: ArgumentHelp("A file that talkie play --timeline wrote; - is standard input.", valueName: "TIMELINE"))
    var timelines: [String]

    @Option(help: ArgumentHelp("Take the sound from the record of a software speaker.", valueName: "FILE"))
    var speakerRecord: String?

    @Flag(help: "Print the results as JSON.")
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
