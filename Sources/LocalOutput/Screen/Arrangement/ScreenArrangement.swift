/// How a screen hangs on its wall, and how much of it people see.
public struct ScreenArrangement: Sendable, Hashable {
    /// What is done about edges that the display hides. The names mean what `UIScreen.OverscanCompensation` means by them.
    public enum Overscan: Sendable, Hashable {
        /// The whole screen is used.
        case none
        /// The picture is scaled, so that all pixels are visible; per cent of each side that stays black.
        case scale(Double)
        /// The screen's bounds are smaller, so that all pixels are visible; per cent of each side. Pictures are scaled to their window in
        /// any case, so that this shows the same as `scale`.
        case insetBounds(Double)
        /// The picture fills the screen, and the display hides its edges; words keep away from them by this many per cent of each side.
        case insetApplicationFrame(Double)

        /// Per cent of a side. More would leave too little: displays hide five at most.
        public static let most = 20.0
        /// Per cent of each side outside of the action-safe area (EBU R 95), for a display that does not state its own.
        public static let usual = 3.5
    }

    /// By how many degrees all that is drawn is turned clockwise: 0, 90, 180 or 270, anything else is 0. The film's own turn and a person's come
    /// on top of it.
    public var rotation = 0
    public var overscan = Overscan.none
    /// Per cent of each side, of what overscan leaves, that words keep free, 0 to `Overscan.most`: EBU R 95 has 5 for titles. What the author of
    /// subtitles placed in the picture stays where it is.
    public var titleSafe = 0.0

    public init() {}

    /// Upright and whole, as nearly every screen is.
    var isPlain: Bool {
        guard rotation == 0, titleSafe == 0, case .none = overscan else { return false }
        return true
    }

    /// Whether the screen hangs on its side.
    var isSideways: Bool { PicturePlacement.normalized(rotation) % 180 != 0 }
}
