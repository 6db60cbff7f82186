/// How a screen hangs on its wall, and how much of it people see.
public struct ScreenArrangement: Sendable, Hashable {
    /// What is done about edges that the display hides.
    public enum Overscan: Sendable, Hashable {
        /// Nothing: the whole screen is used.
        case none
        /// Everything is drawn smaller, so that nothing is hidden; per cent of each side that stays black.
        case scale(Double)
        /// The picture fills the screen; words keep away from its edges by this many per cent of each side.
        case insetBounds(Double)
        /// The picture is as large as the screen and lies in a black frame of this many per cent of each side, which cuts off what reaches under
        /// it; words keep inside.
        case insetFrame(Double)

        /// Per cent of a side. More would leave too little: displays hide five at most.
        public static let most = 20.0
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
