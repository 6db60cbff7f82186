internal import ArgumentParser
internal import MediaCore
internal import Playback
internal import TalkieApp
internal import Telemetry

/// Options for recordings, logs and other programs.
struct RecordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Record a timeline; 'talkie report FILE' reads it.", valueName: "FILE"),
        completion: .file())
    var timeline: String?

    @Option(
        help: ArgumentHelp(
            "Start another file at this size, such as 10MiB; FILE.1 is the previous one.", valueName: "SIZE"),
        transform: { try TimelineRotation.size(parsing: $0) })
    var timelineMaxSize: Int?

    @Option(
        help: ArgumentHelp("Start another file after this time, such as 24:00:00.", valueName: "TIME"),
        transform: Self.age)
    var timelineMaxAge: Duration?

    @Option(
        help: ArgumentHelp("Number of older files to keep (5).", valueName: "N"),
        transform: { text in
            guard let number = DecimalNumber.integer(text) else { throw TimelineRotation.keepError }
            return try TimelineRotation.fileCount(number)
        })
    var timelineKeep = TimelineRotation().keep

    @Option(
        name: .customLong("input-ipc-server"),
        help: ArgumentHelp("Accept mpv's JSON commands on this socket.", valueName: "PATH"), completion: .file())
    var controlSocket: String?

    @Option(
        help: ArgumentHelp(
            "Serve a page for a phone here; without an address, at port 9596 of all.", valueName: "ADDRESS[:PORT]"),
        transform: { try RemoteArgument(parsing: $0) })
    var remote: RemoteArgument?

    @Flag(
        inversion: .prefixedNo, exclusivity: .chooseLast,
        help: "Whether media keys and programs of the desktop control Talkie (MPRIS).")
    var mediaControls = true

    @Option(
        help: ArgumentHelp("Also write messages of all levels to this file.", valueName: "FILE"),
        completion: .file())
    var logFile: String?

    @Flag(help: "Errors only: no status line, no messages.")
    var reallyQuiet = false

    @Option(
        help: ArgumentHelp("Level of messages on the terminal.", valueName: "error|warning|info|debug"),
        completion: .list(LogLevel.allCases.map(\.name)),
        transform: { try LogLevel(parsing: $0) })
    var logLevel: LogLevel = .warning

    func apply(to arguments: inout PlayArguments) {
        arguments.timelinePath = timeline
        arguments.timelineRotation = TimelineRotation(
            maxSize: timelineMaxSize, maxAge: timelineMaxAge, keep: timelineKeep)
        arguments.logPath = logFile
        arguments.controlSocketPath = controlSocket
        arguments.remote = remote
        arguments.hasMediaControls = mediaControls
        arguments.isReallyQuiet = reallyQuiet
        arguments.logLevel = logLevel
    }

    private static func age(_ text: String) throws -> Duration {
        // ignored: the error that is thrown instead says what an age may be.
        guard case .fromStart(let time)? = try? FilmPosition(parsing: text) else { throw TimelineRotation.ageError }
        return try TimelineRotation.age(seconds: time.seconds)
    }
}
