/// The channel layout requested from a sound card, with the meaning of mpv's `--audio-channels`.
public enum ChannelChoice: Sendable, Hashable {
    /// The media's layout if the card or its sound server reports that it supports it, otherwise stereo.
    case autoSafe
    /// The media's layout if the card accepts that number of channels, whether it reports the layout or not.
    case auto
    /// A fixed layout, independent of the media.
    case layout(ChannelLayout)

    /// Parses `auto-safe`, `auto`, `stereo` (or `2.0`), `5.1` or `7.1`; throws for other text.
    public init(parsing text: String) throws(ValueError) {
        switch text {
        case "auto-safe": self = .autoSafe
        case "auto": self = .auto
        case "stereo", "2.0": self = .layout(.stereo)
        case "5.1": self = .layout(.surround51)
        case "7.1": self = .layout(.surround71)
        default: throw ValueError("channels must be auto-safe, auto, stereo, 5.1 or 7.1")
        }
    }
}
