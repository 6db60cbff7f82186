public import MediaCore

/// The selection of an item's track for an additional audio output.
public enum AudioTrackChoice: Sendable, Hashable {
    /// The first track in the first of these languages that the item has (`["de", "eng"]`), as
    /// `PlayerOptions.audioLanguages`.
    case languages([String])
    /// By number; 1 is the first.
    case number(Int)

    /// The first track in this language (`"de"`, `"eng"`).
    public static func language(_ language: String) -> AudioTrackChoice { .languages([language]) }

    /// Returns the track of an item, the default one if there is no match; nil if it has no audio.
    public func track(in summary: MediaSummary) -> Track? {
        switch self {
        case .languages(let languages): summary.track(.audio, languages: languages)
        case .number(let number): summary.track(.audio, number: number) ?? summary.track(.audio)
        }
    }
}

/// Identifies an additional audio track of a player while it plays.
public struct AddedAudioID: Sendable, Hashable {
    let number: Int
}
