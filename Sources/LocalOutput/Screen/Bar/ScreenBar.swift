/// The bar of a player along the lower edge of the window: where the film is, and what a pointer can do.
public struct ScreenBar: Sendable, Hashable {
    /// What a person pointed at.
    public enum Part: Sendable, Hashable {
        case previous, play, next
        /// A place on the line, 0…1.
        case place(Double)
        case button(Button)
        /// The bar's ground.
        case nothing
    }

    /// What opens or changes something; each is shown with the words that say how it stands.
    public enum Button: String, Sendable, CaseIterable { case sound, subtitles, rooms, speed, fullScreen }

    public var isPlaying: Bool
    /// Where the film is, 0…1; nil where nobody knows how long it lasts.
    public var place: Double?
    /// How far sound has been handed over, 0…1.
    public var handed: Double?
    /// Where chapters begin, 0…1.
    public var chapters: [Double]
    /// `00:01:02 / 01:02:03`.
    public var time: String
    /// What is shown of each button, such as `1/3`; one that is absent is left out.
    public var buttons: [Button: String]
    /// There is something before, and behind.
    public var hasPrevious: Bool
    public var hasNext: Bool

    public init(
        isPlaying: Bool, place: Double?, handed: Double? = nil, chapters: [Double] = [], time: String,
        buttons: [Button: String] = [:], hasPrevious: Bool = false, hasNext: Bool = false
    ) {
        self.isPlaying = isPlaying
        self.place = place
        self.handed = handed
        self.chapters = chapters
        self.time = time
        self.buttons = buttons
        self.hasPrevious = hasPrevious
        self.hasNext = hasNext
    }
}
