internal import ArgumentParser
internal import MediaCore
internal import TalkieApp

/// `talkie kiosk`: shows films according to a configuration, unattended.
struct KioskCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "kiosk",
        abstract: "Show films on a screen by a configuration, for as long as nobody ends it.",
        discussion: """
            SIGHUP reads the configuration again; one that is not good is told and the old one stays. SIGTERM ends. Exit \
            status 75 asks whoever supervises the program to start it anew.
            """)
    static let usageLine = "talkie kiosk CONFIG.toml [--check]"

    @Argument(help: ArgumentHelp("The configuration.", valueName: "CONFIG.toml"), completion: .file())
    var path: String

    @Flag(help: "Only say what is wrong with the configuration.")
    var check = false

    @Flag(name: [.short, .long], help: "Say what is played, and more of what happens.")
    var verbose = false

    func run() throws {
        throw Finished(status: try check ? KioskProgram.check(path) : KioskProgram.run(path, isVerbose: verbose))
    }
}
