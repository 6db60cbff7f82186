/// A few words over the film.
public struct ScreenMessage: Sendable, Hashable {
    /// One line or several, in any language whose characters Latin-1 holds; others appear as a box.
    public var text: String
    /// How long it stays.
    public var duration: Duration

    public init(_ text: String, for duration: Duration = .milliseconds(1500)) {
        self.text = text
        self.duration = duration
    }
}
