public import MediaCore

/// The selection of an item's subtitles.
public enum SubtitleChoice: Sendable, Hashable {
    /// The first preferred language that is available, otherwise the default of the media or an external file
    /// (`MediaSummary.subtitleTrack`).
    case automatic
    /// No subtitles.
    case none
    /// By number; 1 is the first.
    case number(Int)

    /// Parses `auto`, `no`, or a number.
    public init(parsing text: String) throws(ValueError) {
        switch text {
        case "auto": self = .automatic
        case "no": self = .none
        default:
            // ignored: the error that is thrown instead says what a choice may be.
            guard let number = try? PlayerOptions.track(parsing: text) else {
                throw ValueError("subtitles must be a number (1 is the first), auto or no")
            }
            self = .number(number)
        }
    }

    /// Returns the track of an item; nil shows none.
    ///
    /// - Parameters:
    ///   - languages: The languages in order of preference.
    ///   - userLanguages: The languages of the user's session.
    ///   - sound: The playing audio track.
    public func track(
        in summary: MediaSummary, languages: [String], userLanguages: [String] = [], beside sound: Track?
    ) -> Track? {
        switch self {
        case .automatic:
            summary.subtitleTrack(
                languages: languages, userLanguages: userLanguages, audioLanguage: sound?.language)
        case .none: nil
        case .number(let number): summary.subtitleTrack(number: number)
        }
    }
}
