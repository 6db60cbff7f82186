public import MediaCore

/// Which subtitles of each film are shown.
public enum SubtitleChoice: Sendable, Hashable {
    /// What somebody who has no wish expects: the first wanted language that the film has, else what its author or its owner laid
    /// beside it (`MediaSummary.subtitleTrack`).
    case automatic
    case none
    /// By number, 1 is the first.
    case number(Int)

    /// `auto`, `no`, or a number.
    public init(parsing text: String) throws(ValueError) {
        switch text {
        case "auto": self = .automatic
        case "no": self = .none
        default:
            // ignored: the error that is thrown instead says what a choice may be.
            guard let number = try? PlayerOptions.track(parsing: text) else {
                throw ValueError("subtitles are a number, 1 the first, or auto, or no")
            }
            self = .number(number)
        }
    }

    /// The track of a film; nil shows none.
    ///
    /// - Parameters:
    ///   - languages: wanted languages, most wanted first.
    ///   - sound: the sound track that plays.
    public func track(in summary: MediaSummary, languages: [String], beside sound: Track?) -> Track? {
        switch self {
        case .automatic: summary.subtitleTrack(languages: languages, audioLanguage: sound?.language)
        case .none: nil
        case .number(let number): summary.subtitleTrack(number: number)
        }
    }
}
