internal import MediaCore
internal import SyncRendering

/// One way of bringing pictures to the glass. Belongs to the thread that owns the window.
protocol PicturePresenter: AnyObject {
    /// For people: what is used, `"window memory"` or the graphics processor's name.
    var description: String { get }
    /// The drawing area in pixels.
    var area: PixelSize { get }
    /// How pictures lie in it, from the next `prepare` on.
    var gravity: VideoGravity { get set }
    /// What a person changed of that, from the next `prepare` on.
    var view: PictureView { get set }
    /// How the window's screen hangs, from the next `prepare` on.
    var arrangement: ScreenArrangement { get set }
    /// Pictures in HDR may come as they are coded.
    var mapsTones: Bool { get }
    /// Brings a picture and what lies over it, from the bottom up and placed on the glass, as close to the glass as possible; nil clears to black.
    /// False when the picture cannot be shown.
    func prepare(_ picture: (any Picture)?, overlays: [OverlayImage]) -> Bool
    /// Shows what was prepared; returns the moment of the flip as near as it can be known.
    func present() -> HostInstant
    /// The window's size or memory changed: everything is drawn anew next time.
    func invalidate()
    /// How the display paces itself, as far as known.
    var refresh: RefreshEvidence { get }
}

extension PicturePresenter {
    var mapsTones: Bool { false }

    /// Where a picture lies on a glass of that size.
    func placement(of picture: any Picture, on glass: PixelSize) -> PicturePlacement {
        if arrangement.isPlain { return PicturePlacement(of: picture, gravity: gravity, view: view, in: glass) }
        let geometry = ScreenGeometry(arrangement, on: glass)
        return PicturePlacement(of: picture, gravity: gravity, view: view, in: geometry.canvas).onGlass(geometry)
    }
}

/// What a presenter knows about flips.
enum RefreshEvidence: Hashable {
    /// Shown at once; there are no flips.
    case immediate
    /// Flips exist, about this long apart, but nobody knows when.
    case someTime(period: Duration)
    /// Flips at `phase + n × period`, proven by observation.
    case observed(period: Duration, phase: HostInstant)
}
