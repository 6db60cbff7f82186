package import MediaCore
package import Profiles

/// A fact recorded by the program in addition to renderer events.
package enum TimelineRemark: Sendable {
    /// A film begins; its displayed name.
    case film(String)
    /// A film begins at a gapless boundary at media time `at`; its own time 0 is at `origin`.
    case gaplessBoundary(name: String, at: MediaTime, origin: MediaTime)
    /// The film repeats from media time `at`; its own time 0 is at `origin`.
    case loop(at: MediaTime, origin: MediaTime)
    /// The player's phase changed; its name.
    case phase(String)
    /// Output `index` was opened.
    case route(index: Int, name: String, kind: String)
    /// The user-provided audio delay, positive: sound later. Recorded errors and offsets do not include it.
    case audioDelay(Duration)
    /// A calibration shifts output `index` by `correction`, positive: later. Not included in errors and offsets.
    case calibration(index: Int, correction: Duration, isExact: Bool)
    /// One share of the delay of output `index`.
    case share(index: Int, LatencyLedger.Share)
    /// The pacing of the display: "unpaced" or "fixed 60.000 Hz".
    case screen(String)
}
