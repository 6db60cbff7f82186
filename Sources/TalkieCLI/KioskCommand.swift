internal import ArgumentParser
internal import MediaCore
internal import TalkieApp

/// `talkie kiosk`: shows films according to a configuration, unattended.
struct KioskCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "kiosk",
        abstract: "Show films on a screen as configured, until terminated.",
        discussion: """
            SIGHUP reloads the configuration; an invalid one is reported and the old one stays active. SIGTERM exits. Exit \
            status 75 asks the supervisor of the program to restart it.
            """)
    static let usageLine = "talkie kiosk CONFIG.toml [--check]"

    @Argument(help: ArgumentHelp("The configuration.", valueName: "CONFIG.toml"), completion: .file())
    var path: String

    @Flag(help: "Only check the configuration and report mistakes.")
    var check = false

    @Flag(name: [.short, .long], help: "Print played items and more messages.")
    var verbose = false

    func run() throws {
        throw Finished(status: try check ? KioskProgram.check(path) : KioskProgram.run(path, isVerbose: verbose))
    }
}
