/// The display mode requested while the window fills the display.
public enum DisplayMode: Sendable, Hashable {
    /// The mode set in the system.
    case current
    /// The preferred mode of the display; the largest one if the window system does not report it.
    case preferred
    /// A mode of the current size whose refresh rate is a multiple of the frame rate.
    case film
    /// A mode of this size in pixels; without a rate the one with the highest.
    case fixed(width: Int, height: Int, rate: Double?)
}
