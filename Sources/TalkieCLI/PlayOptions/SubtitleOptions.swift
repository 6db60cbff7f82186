internal import ArgumentParser
internal import MediaCore
internal import Playback
internal import TalkieApp

/// Options that say which words lie over the picture.
struct SubtitleOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Subtitles by number, 1 the first; auto is by language, else what lies beside the film.",
            valueName: "N|auto|no"),
        transform: { try SubtitleChoice(parsing: $0) })
    var sid: SubtitleChoice = .automatic

    @Option(
        help: ArgumentHelp("Subtitles by language, such as de,en; the first match wins.", valueName: "L"),
        transform: { try PlayerOptions.languages(parsing: $0) })
    var slang: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Subtitles later by this much, negative for earlier.", valueName: "SECONDS"),
        transform: { try PlayerOptions.audioDelay(parsing: $0) })
    var subDelay: Duration = .zero

    @Flag(help: "Begin with the subtitles hidden; v shows them.")
    var noSubVisibility = false

    func apply(to arguments: inout PlayArguments) {
        arguments.options.subtitles = sid
        arguments.options.subtitleLanguages = slang
        arguments.options.subtitleDelay = subDelay
        arguments.options.showsSubtitles = !noSubVisibility
    }
}
