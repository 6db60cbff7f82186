internal import ArgumentParser
internal import Glibc
internal import MediaCore
internal import MediaFiles
internal import Playback
internal import TalkieApp

/// Options for subtitles.
struct SubtitleOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Subtitle track by number, 1 is the first; auto: in your language, else a file next to the film.",
            valueName: "N|auto|no"),
        transform: { try SubtitleChoice(parsing: $0) })
    var sid: SubtitleChoice?

    @Option(
        help: ArgumentHelp(
            "Secondary subtitles at the top; text only. auto: none.", valueName: "N|auto|no"),
        transform: { try SubtitleChoice(parsing: $0) })
    var secondarySid: SubtitleChoice?

    @Flag(help: "Start with the secondary subtitles hidden; Alt+v shows them.")
    var noSecondarySubVisibility = false

    @Option(
        help: ArgumentHelp("Subtitles by language, such as de,en; the first match wins.", valueName: "L"),
        transform: { try PlayerOptions.languages(parsing: $0) })
    var slang: [String] = []

    @Option(
        name: [.customLong("sub-file")],
        help: ArgumentHelp("A subtitle file for each film; may be given several times.", valueName: "FILE"))
    var subFiles: [String] = []

    @Option(
        help: ArgumentHelp(
            "Files next to a film that are used as its subtitles: those with its name (exact), those containing its name (fuzzy), or all.",
            valueName: "no|exact|fuzzy|all"),
        transform: valueChoice("--sub-auto must be no, exact, fuzzy or all"))
    var subAuto: SubtitleSearch = .exact

    @Option(
        help: ArgumentHelp("Additional folders to search for subtitles, separated by colons.", valueName: "PATHS"),
        transform: { $0.split(separator: ":").map(String.init) })
    var subFilePaths: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Delay the subtitles by this much, negative for earlier.", valueName: "SECONDS"),
        transform: { try PlayerOptions.audioDelay(parsing: $0) })
    var subDelay: Duration?

    @Flag(help: "Start with the subtitles hidden; v shows them.")
    var noSubVisibility = false

    func apply(to arguments: inout PlayArguments) {
        arguments.options.subtitles = sid ?? .automatic
        arguments.options.secondarySubtitles = secondarySid ?? SubtitleChoice.none
        arguments.options.showsSecondarySubtitles = !noSecondarySubVisibility
        arguments.options.subtitleLanguages = slang
        arguments.options.userLanguages = PlayerOptions.userLanguages { name in
            getenv(name).map { String(cString: $0) }
        }
        arguments.options.subtitleFiles = subFiles
        arguments.options.subtitleSearch = subAuto
        arguments.options.subtitleFolders = subFilePaths
        arguments.options.subtitleDelay = subDelay ?? .zero
        for (name, isChosen) in [
            ("sid", sid != nil), ("secondary-sid", secondarySid != nil), ("sub-delay", subDelay != nil),
        ] where isChosen { arguments.chosen.insert(name) }
        arguments.options.showsSubtitles = !noSubVisibility
    }
}
