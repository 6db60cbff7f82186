internal import ArgumentParser
internal import TalkieApp

/// Options about what is written where.
struct RecordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Record what happened when; 'talkie report FILE' reads it.", valueName: "FILE"))
    var timeline: String?

    @Option(
        name: .customLong("input-ipc-server"),
        help: ArgumentHelp("Listen for commands on this socket; not there yet.", valueName: "PATH", visibility: .hidden)
    )
    var controlSocket: String?

    @Flag(help: "Errors only: no status line, no messages.")
    var reallyQuiet = false

    @Option(
        help: ArgumentHelp("What is told on the terminal.", valueName: "error|warning|info|debug"),
        transform: { try LogLevel(parsing: $0) })
    var logLevel: LogLevel = .warning

    func apply(to arguments: inout PlayArguments) {
        arguments.timelinePath = timeline
        arguments.controlSocketPath = controlSocket
        arguments.isReallyQuiet = reallyQuiet
        arguments.logLevel = logLevel
    }
}
