/// The rotation of a screen and the compensation of its overscan.
public struct ScreenArrangement: Sendable, Hashable {
    /// The handling of edges hidden by the display. The names match `UIScreen.OverscanCompensation`.
    public enum Overscan: Sendable, Hashable {
        /// The whole screen is used.
        case none
        /// The video is scaled so that all pixels are visible; the value is the black part of each side in per cent.
        case scale(Double)
        /// The screen's bounds are reduced so that all pixels are visible, in per cent of each side. Video is always
        /// scaled to the window, so the result equals `scale`.
        case insetBounds(Double)
        /// Video fills the screen, and the display hides its edges; text is kept this many per cent of each side away.
        case insetApplicationFrame(Double)

        /// The maximum in per cent of a side. Displays hide at most 5 %.
        package static let maxPercent = 20.0
        /// Per cent of each side outside the action-safe area (EBU R 95), for displays that do not state their
        /// overscan.
        public static let usual = 3.5
    }

    /// The clockwise rotation of all content in degrees: 0, 90, 180 or 270; other values are 0. Applied after the
    /// rotation of the media and of the user's view.
    public var rotation = 0
    /// The handling of edges hidden by the display.
    public var overscan = Overscan.none
    /// The title-safe margin in per cent of each side, after overscan, 0 to `Overscan.maxPercent`; EBU R 95 has 5 for
    /// titles. Subtitles positioned by their author are unaffected.
    public var titleSafe = 0.0

    /// Creates an arrangement without rotation and overscan compensation.
    public init() {}

    /// Whether nothing is rotated or compensated.
    var isPlain: Bool {
        guard rotation == 0, titleSafe == 0, case .none = overscan else { return false }
        return true
    }

    /// Whether the screen is rotated by 90 or 270 degrees.
    var isSideways: Bool { VideoPlacement.normalized(rotation) % 180 != 0 }
}
