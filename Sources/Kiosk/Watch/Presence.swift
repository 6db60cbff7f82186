internal import MediaCore

/// Counts the frames that were presented to a visible window, and detects a missing window or output. A value; the
/// caller provides the time.
struct Presence: Sendable {
    /// The time without window or output before it is a fault. Recreating the window and changing outputs take less.
    static let tolerance = Duration.seconds(3)

    /// The number of frames presented at the last observation, with or without a window.
    private var counted: Int?
    private var hiddenSince: HostInstant?
    private var silentSince: HostInstant?
    /// The number of frames presented to a visible window.
    private(set) var frames = 0
    /// When the last of these was presented.
    private(set) var lastFrame: HostInstant?

    /// Processes one observation.
    ///
    /// - Parameters:
    ///   - shown: The number of frames presented so far, with or without a window.
    ///   - lastShown: When the last one was presented.
    ///   - isVisible: Whether the window is on a display; nil if no window is wanted.
    ///   - isHeard: Whether an output has the audio; nil if no audio is expected.
    mutating func observe(
        shown: Int, lastShown: HostInstant?, isVisible: Bool?, isHeard: Bool?, at now: HostInstant
    ) {
        let new = shown - (counted ?? 0)
        if isVisible == true, new > 0 {
            frames += new
            lastFrame = lastShown
        }
        counted = shown
        hiddenSince = isVisible == false ? hiddenSince ?? now : nil
        silentSince = isHeard == false ? silentSince ?? now : nil
    }

    /// Returns the fault as a sentence; nil without one.
    func fault(at now: HostInstant) -> String? {
        if let hiddenSince, now - hiddenSince >= Self.tolerance {
            return "no display: no visible window for \(Self.seconds(now - hiddenSince)) s"
        }
        if let silentSince, now - silentSince >= Self.tolerance {
            return "no sound: no output connected for \(Self.seconds(now - silentSince)) s"
        }
        return nil
    }

    private static func seconds(_ duration: Duration) -> String { Decimals.text(duration.inSeconds, 0) }
}
