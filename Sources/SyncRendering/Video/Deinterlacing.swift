internal import MediaCore

/// Which video frames are deinterlaced, because they consist of two fields captured at different times.
public enum Deinterlacing: String, Sendable, CaseIterable {
    /// Frames marked as interlaced.
    case auto = "auto"
    /// All frames, because some media lack the mark.
    case yes = "yes"
    /// No frames.
    case no = "no"
}

/// The current deinterlacing mode, which decoders query before each video frame, so that it may change during playback.
/// Any thread.
package final class DeinterlacingSwitch: Sendable {
    private let state: Lock<Deinterlacing>

    /// Creates a switch.
    package init(_ mode: Deinterlacing = .auto) { state = Lock(mode) }

    /// The current mode.
    package var mode: Deinterlacing {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
