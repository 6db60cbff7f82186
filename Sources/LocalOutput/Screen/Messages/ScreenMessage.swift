/// A few words over the film.
public struct ScreenMessage: Sendable, Hashable {
    public enum Place: Sendable, Hashable {
        /// The upper left corner.
        case top
        /// The lower right corner, out of the way.
        case corner
        /// The middle, for a screen that shows nothing else.
        case middle
    }

    /// One line or several, in every script that the system has fonts for, each in its own direction.
    public var text: String
    /// How long it stays once it can be read.
    public var duration: Duration

    public var place: Place

    public init(_ text: String, for duration: Duration = .milliseconds(1500), at place: Place = .top) {
        self.text = text
        self.duration = duration
        self.place = place
    }
}
