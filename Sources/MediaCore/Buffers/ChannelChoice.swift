/// How many loudspeakers a sound card is given sound for, with the meaning of mpv's `--audio-channels`.
public enum ChannelChoice: Sendable, Hashable {
    /// As many as the film has, if the card, or the sound server behind it, says that it has them; else stereo.
    case autoSafe
    /// As many as the film has, if the card takes that many, whether it says that it has them or not.
    case auto
    /// Those of a layout, whatever the film has.
    case layout(ChannelLayout)

    /// `auto-safe`, `auto`, `stereo`, `5.1` or `7.1`.
    public init(parsing text: String) throws(ValueError) {
        switch text {
        case "auto-safe": self = .autoSafe
        case "auto": self = .auto
        case "stereo", "2.0": self = .layout(.stereo)
        case "5.1": self = .layout(.surround51)
        case "7.1": self = .layout(.surround71)
        default: throw ValueError("channels are auto-safe, auto, stereo, 5.1 or 7.1")
        }
    }
}
