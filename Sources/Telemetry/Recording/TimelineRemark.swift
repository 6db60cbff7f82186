package import MediaCore
package import Profiles

/// What is told to the flight recorder besides the renderers' own events.
package enum TimelineRemark: Sendable {
    /// Another film begins: its name as the user sees it.
    case film(String)
    /// Another film begins at this moment of the timeline, without a seam behind the one before; its own time 0 lies at
    /// `origin`.
    case joint(name: String, at: MediaTime, origin: MediaTime)
    /// The film begins once more at this moment of the timeline; its own time 0 lies at `origin`.
    case loop(at: MediaTime, origin: MediaTime)
    /// The player's phase changed: its name.
    case phase(String)
    /// Sound number `index` goes here from now on.
    case route(index: Int, name: String, kind: String)
    /// Sound is wanted this much later than picture from now on; errors and offsets are told without it.
    case audioDelay(Duration)
    /// Output number `index` is placed this much later than the timeline, as a calibration found; told like `audioDelay`.
    case calibration(index: Int, correction: Duration, isExact: Bool)
    /// One share of output number `index`'s offset.
    case share(index: Int, LatencyLedger.Share)
    /// How pictures are paced: "unpaced" or "fixed 60.000 Hz".
    case screen(String)
}
