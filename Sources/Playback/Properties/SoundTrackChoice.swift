public import MediaCore

/// Which sound track of each film a further sound plays.
public enum SoundTrackChoice: Sendable, Hashable {
    /// The first track in this language (`"de"`, `"eng"`).
    case language(String)
    /// By number, 1 is the first.
    case number(Int)

    /// The track of a film; where it has none like that, the one that plays for somebody who has no wish. Nil without sound.
    public func track(in summary: MediaSummary) -> Track? {
        switch self {
        case .language(let language): summary.track(.audio, languages: [language])
        case .number(let number): summary.track(.audio, number: number) ?? summary.track(.audio)
        }
    }
}

/// Names a further sound of a player, for as long as that plays it.
public struct SoundID: Sendable, Hashable {
    let number: Int
}
