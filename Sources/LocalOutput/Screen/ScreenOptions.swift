public import MediaCore
public import SyncRendering

/// How a screen is wanted.
public struct ScreenOptions: Sendable {
    /// How pictures reach the glass.
    public enum Presentation: String, Sendable, CaseIterable {
        /// The graphics processor when there is one, otherwise the window's own memory.
        case automatic
        /// Planes handed to libplacebo, which draws with a graphics processor; where it cannot, as `automatic` says without it.
        case placebo
        /// Converted by the processor straight into the window's memory: cheapest without a graphics processor.
        case surface
        /// Planes handed to a graphics processor through SDL's own renderer.
        case texture
    }

    /// One of the displays of this computer.
    public enum Display: Sendable, Equatable {
        /// As counted by the window system, from 0.
        case index(Int)
        /// By name or a part of it, as `doctor` lists them.
        case name(String)

        /// `"1"` is an index, anything else a name.
        public init(_ text: String) {
            if let index = Int(text), index >= 0 { self = .index(index) } else { self = .name(text) }
        }
    }

    /// Where a board is shown, beside the film.
    package enum BoardDisplay: Sendable, Equatable {
        /// The first display that is not the film's.
        case other
        case chosen(Display)
    }

    public var title = "Talkie"
    /// Size of the window in pixels; nil is the picture's own, scaled down to fit the display.
    public var size: PixelSize?
    public var isFullScreen = false
    /// What the display is asked for while the window fills it; `ScreenControl.setMode` changes it.
    public var mode = DisplayMode.current
    /// The pointer is never shown over the window.
    public var hidesCursor = false
    /// Screensaver and DPMS are held off for as long as there is a window, not only while a film runs.
    public var staysAwake = false
    /// The window is made anew when displays come, go or change, and the loop waits for one where there is none. Without it a window stays where it
    /// is, and a program without a display has none for good.
    public var followsDisplays = false
    /// How the screen hangs; `ScreenControl.arrangement` changes it.
    public var arrangement = ScreenArrangement()
    /// Nil is the window system's choice.
    public var display: Display?
    /// Where `ScreenControl.show(board:)` is shown, for as long as that display is there; nil is nowhere. With `followsDisplays`.
    package var boardDisplay: BoardDisplay?
    public var presentation = Presentation.automatic
    /// How tones are mapped and pictures scaled; the converter is told the same.
    public var drawing = PictureDrawing()
    /// What the panel adds between a flip and light, as calibrated or set by the user; zero when nobody knows.
    public var panelDelay: Duration = .zero

    public init() {}
}
