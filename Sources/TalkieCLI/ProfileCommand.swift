internal import ArgumentParser
internal import MediaCore
internal import TalkieApp

/// `talkie profile`: manages stored calibrations.
struct ProfileCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "profile",
        abstract: "List, remove, export and import calibration results.",
        subcommands: [List.self, Forget.self, Export.self, Import.self])
    static let usageLine = "talkie profile list|forget|export|import … [--kiosk NAME]"

    struct KioskOption: ParsableArguments {
        @Option(help: ArgumentHelp("Those of the running kiosk with this configuration.", valueName: "NAME"))
        var kiosk: String?

        /// The connection to the kiosk; nil without the option.
        var client: KioskClient? { get throws { try kiosk.map { try KioskClient($0) } } }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the stored profiles.")

        @Flag(help: "Print the list as JSON.")
        var json = false

        @OptionGroup var option: KioskOption

        func run() throws {
            if let kiosk = try option.client {
                let (text, notes) = try kiosk.profiles(json: json)
                ProfileCommand.printNotes(notes)
                StandardStream.output.write(text)
                return
            }
            let desk = ProfileCommands()
            ProfileCommand.printNotes(desk.notes)
            StandardStream.output.write(desk.list(json: json))
        }
    }

    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove a speaker's calibrations.")

        @Argument(help: ArgumentHelp("Name or ID of the speaker, or local.", valueName: "NAME|ID|local"))
        var speaker: String

        @Option(help: ArgumentHelp("Only those measured with this screen.", valueName: "NAME"))
        var screen: String?

        @OptionGroup var option: KioskOption

        func run() throws {
            let kiosk = try option.client
            StandardStream.output.write(
                try kiosk?.forgetProfiles(of: speaker, screen: screen)
                    ?? ProfileCommands().forget(speaker, screen: screen))
        }
    }

    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write all profiles to a file, or to standard output.")

        @Argument(help: ArgumentHelp("The file; default: standard output.", valueName: "FILE.json"))
        var file: String?

        @OptionGroup var option: KioskOption

        func run() throws {
            if let kiosk = try option.client {
                StandardStream.output.write(try kiosk.exportProfiles(to: file))
                return
            }
            let desk = ProfileCommands()
            ProfileCommand.printNotes(desk.notes)
            StandardStream.output.write(try desk.export(to: file))
        }
    }

    struct Import: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Import profiles that another computer exported.")

        @Argument(help: ArgumentHelp("A file that export wrote.", valueName: "FILE.json"))
        var file: String

        @OptionGroup var option: KioskOption

        func run() throws {
            let kiosk = try option.client
            StandardStream.output.write(
                try kiosk?.importProfiles(from: file) ?? ProfileCommands().importProfiles(from: file))
        }
    }

    private static func printNotes(_ notes: [String]) {
        for note in notes { StandardStream.error.write("talkie: \(PrintableText.sentence(note))\n") }
    }
}
