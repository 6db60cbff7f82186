internal import ArgumentParser
internal import MediaCore
internal import MediaFiles
internal import Playback
internal import TalkieApp

/// Options for subtitles.
struct SubtitleOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Subtitles by number, 1 the first; auto is by language, else what lies beside the film.",
            valueName: "N|auto|no"),
        transform: { try SubtitleChoice(parsing: $0) })
    var sid: SubtitleChoice = .automatic

    @Option(
        help: ArgumentHelp(
            "Second subtitles, at the top beside the others: words only. auto is none.", valueName: "N|auto|no"),
        transform: { try SubtitleChoice(parsing: $0) })
    var secondarySid: SubtitleChoice = .none

    @Flag(help: "Begin with the second subtitles hidden; Alt+v shows them.")
    var noSecondarySubVisibility = false

    @Option(
        help: ArgumentHelp("Subtitles by language, such as de,en; the first match wins.", valueName: "L"),
        transform: { try PlayerOptions.languages(parsing: $0) })
    var slang: [String] = []

    @Option(
        name: [.customLong("sub-file")],
        help: ArgumentHelp("A file of subtitles for each film; may be given several times.", valueName: "FILE"))
    var subFiles: [String] = []

    @Option(
        help: ArgumentHelp(
            "Files beside a film that are taken for its subtitles: those with its name, with its name in theirs, or every one.",
            valueName: "no|exact|fuzzy|all"),
        transform: wordChoice("files of subtitles are found by no, exact, fuzzy or all"))
    var subAuto: SubtitleSearch = .exact

    @Option(
        help: ArgumentHelp("Folders that they are looked for in, too, separated by colons.", valueName: "PATHS"),
        transform: { $0.split(separator: ":").map(String.init) })
    var subFilePaths: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Subtitles later by this much, negative for earlier.", valueName: "SECONDS"),
        transform: { try PlayerOptions.audioDelay(parsing: $0) })
    var subDelay: Duration = .zero

    @Flag(help: "Begin with the subtitles hidden; v shows them.")
    var noSubVisibility = false

    func apply(to arguments: inout PlayArguments) {
        arguments.options.subtitles = sid
        arguments.options.secondarySubtitles = secondarySid
        arguments.options.showsSecondarySubtitles = !noSecondarySubVisibility
        arguments.options.subtitleLanguages = slang
        arguments.options.subtitleFiles = subFiles
        arguments.options.subtitleSearch = subAuto
        arguments.options.subtitleFolders = subFilePaths
        arguments.options.subtitleDelay = subDelay
        arguments.options.showsSubtitles = !noSubVisibility
    }
}
