/// A short text over the video.
public struct ScreenMessage: Sendable, Hashable {
    /// The position of a message.
    public enum Position: Sendable, Hashable {
        /// The upper left corner.
        case top
        /// The lower right corner.
        case corner
        /// The centre, for a screen without other content.
        case middle
    }

    /// One or more lines, in any script with an installed font, each in its own direction.
    public var text: String
    /// The display time, from when the message is visible.
    public var duration: Duration

    /// The position of the message.
    public var position: Position
    /// Whether the text is blue instead of white, as for audio that plays on another output than this computer.
    public var isAccented: Bool

    /// Creates a message.
    public init(
        _ text: String, for duration: Duration = .milliseconds(1500), at position: Position = .top,
        isAccented: Bool = false
    ) {
        self.text = text
        self.duration = duration
        self.position = position
        self.isAccented = isAccented
    }
}
