internal import ArgumentParser
internal import MediaCore
internal import TalkieApp

/// Options about what is written where.
struct RecordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Record what happened when; 'talkie report FILE' reads it.", valueName: "FILE"),
        completion: .file())
    var timeline: String?

    @Option(
        name: .customLong("input-ipc-server"),
        help: ArgumentHelp("Listen for commands on this socket; not there yet.", valueName: "PATH", visibility: .hidden)
    )
    var controlSocket: String?

    @Option(
        help: ArgumentHelp("Write everything that is told, of every level, into this file, too.", valueName: "FILE"),
        completion: .file())
    var logFile: String?

    @Flag(help: "Errors only: no status line, no messages.")
    var reallyQuiet = false

    @Option(
        help: ArgumentHelp("What is told on the terminal.", valueName: "error|warning|info|debug"),
        completion: .list(LogLevel.allCases.map { "\($0)" }),
        transform: { try LogLevel(parsing: $0) })
    var logLevel: LogLevel = .warning

    func apply(to arguments: inout PlayArguments) {
        arguments.timelinePath = timeline
        arguments.logPath = logFile
        arguments.controlSocketPath = controlSocket
        arguments.isReallyQuiet = reallyQuiet
        arguments.logLevel = logLevel
    }
}
