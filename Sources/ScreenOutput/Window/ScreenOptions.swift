public import MediaCore
public import SyncRendering

/// The configuration of a screen.
public struct ScreenOptions: Sendable {
    /// The method of presenting frames.
    public enum Presentation: String, Sendable, CaseIterable {
        /// The graphics processor if there is one, otherwise window memory.
        case automatic = "automatic"
        /// libplacebo with a graphics processor; if unavailable, as `automatic` without it.
        case placebo = "placebo"
        /// Conversion by the CPU into window memory: the cheapest method without a graphics processor.
        case surface = "surface"
        /// Upload of the planes to a graphics processor through SDL's renderer.
        case texture = "texture"
    }

    /// A display of this computer.
    public enum Display: Sendable, Equatable {
        /// The index in the window system, from 0.
        case index(Int)
        /// The name or a part of it, as listed by `doctor`.
        case name(String)

        /// Parses a display: `"1"` is an index, any other text a name.
        public init(_ text: String) {
            if let index = Int(text), index >= 0 { self = .index(index) } else { self = .name(text) }
        }
    }

    /// The display of the dashboard.
    package enum DashboardDisplay: Sendable, Equatable {
        /// The first display without the video.
        case other
        case chosen(Display)
    }

    /// The title of the window.
    public var title = "Talkie"
    /// The size of the window in pixels; nil: the size of the video, scaled down to fit the display.
    public var size: PixelSize?
    /// Whether the window fills the display when it opens.
    public var isFullScreen = false
    /// The display mode while the window fills the display; `ScreenControl.setMode` changes it.
    public var mode = DisplayMode.current
    /// Whether the pointer is always hidden over the window.
    public var hidesCursor = false
    /// Whether screen saver and DPMS are inhibited as long as the window exists, not only during playback.
    public var staysAwake = false
    /// Whether the window is recreated when displays change, and waits for a display if there is none.
    ///
    /// Otherwise a window stays where it is, and a program started without a display never gets one.
    package var followsDisplays = false
    /// Whether the user places the window, as on a desktop; has an effect with `followsDisplays`.
    ///
    /// The window is then recreated only if no active display shows it: on any of them if `display` is missing, from
    /// where it returns to `display`. A program started without a display never gets a window.
    package var isPlacedByUser = false
    /// The rotation and overscan compensation; `ScreenControl.arrangement` changes them.
    package var arrangement = ScreenArrangement()
    /// The display of the window; nil: selected by the window system.
    public var display: Display?
    /// The display of `ScreenControl.show(dashboard:)` while it is connected; nil: no dashboard. Requires
    /// `followsDisplays`.
    package var dashboardDisplay: DashboardDisplay?
    /// The method of presenting frames.
    public var presentation = Presentation.automatic
    /// Tone mapping and scaling; the converter must have the same settings.
    public var drawing = VideoRenderingOptions()
    /// The delay between a flip and light, calibrated or set by the user; zero if unknown.
    public var panelDelay: Duration = .zero

    /// Creates the default options.
    public init() {}
}
