internal import MediaCore
internal import SyncRendering

/// A method of presenting frames in a window. Used on the thread that owns the window.
protocol VideoPresenter: AnyObject {
    /// The user-facing name: `"window memory"` or that of the graphics processor.
    var description: String { get }
    /// The size of the drawing area, in pixels.
    var area: PixelSize { get }
    /// The scaling of frames into the area. Effective with the next `prepare`.
    var gravity: VideoGravity { get set }
    /// The user's view settings. Effective with the next `prepare`.
    var view: VideoGeometry { get set }
    /// The rotation and overscan compensation of the screen. Effective with the next `prepare`.
    var arrangement: ScreenArrangement { get set }
    /// Whether the presenter tone-maps HDR frames.
    var mapsTones: Bool { get }
    /// Converts, uploads and draws a frame and its overlays, without presenting them. Nil clears to black.
    ///
    /// - Parameter overlays: From bottom to top, in glass coordinates.
    /// - Returns: False if the frame cannot be drawn.
    func prepare(_ frame: (any VideoFrame)?, overlays: [OverlayImage]) -> Bool
    /// Presents the prepared frame. Returns the estimated instant of the flip.
    func present() -> HostInstant
    /// Forces a complete redraw after a change of the window's size or memory.
    func invalidate()
    /// The refresh timing, as far as known.
    var refresh: RefreshEvidence { get }
}

extension VideoPresenter {
    var mapsTones: Bool { false }

    /// Returns the placement of a frame on a glass of this size.
    func placement(of frame: any VideoFrame, on glass: PixelSize) -> VideoPlacement {
        if arrangement.isPlain { return VideoPlacement(of: frame, gravity: gravity, view: view, in: glass) }
        let geometry = ScreenGeometry(arrangement, on: glass)
        return VideoPlacement(of: frame, gravity: gravity, view: view, in: geometry.canvas).onGlass(geometry)
    }
}

/// A presenter's knowledge about flips.
enum RefreshEvidence: Hashable {
    /// Presented immediately; there are no flips.
    case immediate
    /// Flips with this nominal period at unknown times.
    case someTime(period: Duration)
    /// Flips at `phase + n × period`, confirmed by observation.
    case observed(period: Duration, phase: HostInstant)
}
