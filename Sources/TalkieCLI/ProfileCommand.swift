internal import ArgumentParser
internal import MediaCore
internal import TalkieApp

/// `talkie profile`: manages stored calibrations.
struct ProfileCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "profile",
        abstract: "List, remove, export and import calibration results.",
        subcommands: [List.self, Forget.self, Export.self, Import.self])
    static let usageLine = "talkie profile list|forget|export|import …"

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the stored profiles.")

        @Flag(help: "Print the list as JSON.")
        var json = false

        func run() throws {
            let desk = ProfileCommands()
            ProfileCommand.printNotes(desk)
            StandardStream.output.write(desk.list(json: json))
        }
    }

    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove a speaker's calibrations.")

        @Argument(help: ArgumentHelp("Name or ID of the speaker, or local.", valueName: "NAME|ID|local"))
        var speaker: String

        @Option(help: ArgumentHelp("Only those measured with this screen.", valueName: "NAME"))
        var screen: String?

        func run() throws { StandardStream.output.write(try ProfileCommands().forget(speaker, screen: screen)) }
    }

    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write all profiles to a file, or to standard output.")

        @Argument(help: ArgumentHelp("The file; default: standard output.", valueName: "FILE.json"))
        var file: String?

        func run() throws {
            let desk = ProfileCommands()
            ProfileCommand.printNotes(desk)
            StandardStream.output.write(try desk.export(to: file))
        }
    }

    struct Import: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Import profiles that another computer exported.")

        @Argument(help: ArgumentHelp("A file that export wrote.", valueName: "FILE.json"))
        var file: String

        func run() throws { StandardStream.output.write(try ProfileCommands().importProfiles(from: file)) }
    }

    private static func printNotes(_ desk: ProfileCommands) {
        for note in desk.notes { StandardStream.error.write("talkie: \(PrintableText.sentence(note))\n") }
    }
}
