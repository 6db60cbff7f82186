/// What a display is asked for while the window fills it.
public enum DisplayMode: Sendable, Hashable {
    /// It stays as the system has set it.
    case current
    /// The one that the display prefers; where the window system does not say, the largest.
    case preferred
    /// One of its present size that refreshes a whole number of times for each picture of the film.
    case film
    /// Of this size in pixels; without a rate the one that refreshes most often.
    case fixed(width: Int, height: Int, rate: Double?)
}
