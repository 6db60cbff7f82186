/// The user's placement and size of subtitles, in addition to their author's. Names and meanings are mpv's.
public struct SubtitleStyle: Hashable, Sendable, BitwiseCopyable {
    /// How scripts with styles of an author are drawn.
    public enum Override: String, Sendable, BitwiseCopyable, CaseIterable {
        /// As the author intended; position and scale have no effect.
        case no = "no"
        /// As the author intended, with the scale.
        case yes = "yes"
        /// As plain text, with position and scale.
        case force = "force"
    }

    /// The lower edge of the subtitles in percent of the height of the screen, 0…100; 100 is the usual place.
    public var position = 100.0
    /// The factor of the text size.
    public var scale = 1.0
    /// How scripts with styles of an author are drawn.
    public var override = Override.yes

    /// The valid range of `position`.
    package static let positionRange = 0.0...100.0
    /// The valid range of `scale`: larger text does not fit a screen.
    package static let scaleRange = 0.1...10.0

    /// Creates the default style.
    public init() {}
}
