internal import ArgumentParser
internal import MediaCore
internal import MediaFiles
internal import Playback
internal import TalkieApp

/// Options for still images: covers of recordings, and image files.
struct CoverOptions: ParsableArguments {
    /// The values of mpv's option.
    enum AudioDisplay: String, Sendable {
        case no = "no"
        case embeddedFirst = "embedded-first"
        case externalFirst = "external-first"
    }

    @Option(
        help: ArgumentHelp(
            "Cover of a recording: none, embedded first, or external first.",
            valueName: "no|embedded-first|external-first"),
        transform: valueChoice("--audio-display must be no, embedded-first or external-first"))
    var audioDisplay: AudioDisplay = .embeddedFirst

    @Option(
        help: ArgumentHelp(
            "Pictures next to a recording that are used as its cover: cover, front, folder, album and those with its name "
                + "(exact), those containing its name (fuzzy), or all.",
            valueName: "no|exact|fuzzy|all"),
        transform: valueChoice("--cover-art-auto must be no, exact, fuzzy or all"))
    var coverArtAuto: CoverSearch = .exact

    @Option(
        name: [.customLong("cover-art-file")],
        help: ArgumentHelp("A cover for each recording; may be given several times.", valueName: "FILE"))
    var coverArtFiles: [String] = []

    @Option(
        help: ArgumentHelp(
            "How long a picture is shown; inf: until the next item is requested.", valueName: "SECONDS|inf"),
        transform: { try ShownFor(parsing: $0) })
    var imageDisplayDuration = ShownFor(duration: .seconds(1))

    /// A duration; nil: unlimited.
    struct ShownFor: Sendable {
        var duration: Duration?
        /// One day; longer durations are written as `inf`.
        private static let longest = 86_400.0

        init(duration: Duration?) { self.duration = duration }

        init(parsing text: String) throws(ValueError) {
            if text == "inf" { return }
            guard let seconds = DecimalNumber.parse(text), seconds >= 0.02, seconds <= Self.longest else {
                throw ValueError("the duration of a picture must be 0.02 to 86400 seconds, or inf")
            }
            duration = .milliseconds(Int64((seconds * 1000).rounded()))
        }
    }

    func apply(to arguments: inout PlayArguments) {
        arguments.options.showsCoverArt = audioDisplay != .no
        arguments.options.prefersExternalCovers = audioDisplay == .externalFirst
        arguments.options.coverSearch = coverArtAuto
        arguments.options.coverFiles = coverArtFiles
        arguments.options.imageDisplayDuration = imageDisplayDuration.duration
    }
}
