/// What is told to the flight recorder besides the renderers' own events.
public enum TimelineRemark: Sendable {
    /// Another film begins: its name as the user sees it.
    case film(String)
    /// The player's phase changed.
    case phase(PlayerState.Phase)
    /// Sound number `index` goes here from now on.
    case route(index: Int, name: String, kind: String)
    /// Sound is wanted this much later than picture from now on; errors and offsets are told without it.
    case audioDelay(Duration)
    /// How pictures are paced: "unpaced" or "fixed 60.000 Hz".
    case screen(String)
}
