/// A few words over the film.
public struct ScreenMessage: Sendable, Hashable {
    public enum Place: Sendable, Hashable {
        /// The upper left corner.
        case top
        /// The lower right corner, out of the way.
        case corner
    }

    /// One line or several, in any language whose characters Latin-1 holds; others appear as a box.
    public var text: String
    /// How long it stays.
    public var duration: Duration

    public var place: Place

    public init(_ text: String, for duration: Duration = .milliseconds(1500), at place: Place = .top) {
        self.text = text
        self.duration = duration
        self.place = place
    }
}
