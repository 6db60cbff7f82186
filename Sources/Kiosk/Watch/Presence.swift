internal import MediaCore

/// Decides what of the statistics reached a viewer: pictures presented to a visible window, and how long there was none. A value; the caller
/// provides the time.
struct Presence: Sendable {
    /// Recreating the window and changing outputs take less.
    static let tolerance = Duration.seconds(3)

    private var counted: Int?
    private var hiddenSince: HostInstant?
    private var silentSince: HostInstant?
    /// The number of pictures that were presented to a visible window.
    private(set) var pictures = 0
    private(set) var lastPicture: HostInstant?

    /// - Parameters:
    ///   - shown: pictures presented so far, also where there is no window.
    ///   - lastShown: when the last of these was.
    ///   - isVisible: there is a window on a display; nil where none is wanted.
    ///   - isHeard: an output has the sound that is to be heard; nil where none is.
    mutating func note(
        shown: Int, lastShown: HostInstant?, isVisible: Bool?, isHeard: Bool?, at now: HostInstant
    ) {
        let new = shown - (counted ?? 0)
        if isVisible == true, new > 0 {
            pictures += new
            lastPicture = lastShown
        }
        counted = shown
        hiddenSince = isVisible == false ? hiddenSince ?? now : nil
        silentSince = isHeard == false ? silentSince ?? now : nil
    }

    /// Returns what is missing, as a sentence; nil where nothing is.
    func fault(at now: HostInstant) -> String? {
        if let hiddenSince, now - hiddenSince >= Self.tolerance {
            return "no display: there is no visible window since \(Self.seconds(now - hiddenSince)) s"
        }
        if let silentSince, now - silentSince >= Self.tolerance {
            return "no sound: no output is connected since \(Self.seconds(now - silentSince)) s"
        }
        return nil
    }

    private static func seconds(_ duration: Duration) -> String { Decimals.text(duration.inSeconds, 0) }
}
