internal import Glibc
internal import MediaCore
internal import SyncRendering

/// The rectangle of a video frame in a window: centred, sized by gravity and the user's view settings. It may exceed
/// the window.
struct VideoPlacement: Hashable, Sendable, BitwiseCopyable {
    /// The size of the window or surface, in pixels.
    var area: PixelSize
    /// The part of the area used for video; all of it without overscan compensation.
    var visible: PixelRect
    /// The frame in the area, after rotation.
    var rect: PixelRect
    /// Clockwise degrees: 0, 90, 180 or 270.
    var rotation: Int

    /// The size of the frame in `rect` before rotation.
    var unrotatedSize: PixelSize {
        rotation % 180 == 0 ? rect.size : PixelSize(width: rect.height, height: rect.width)
    }

    init(
        size: PixelSize, pixelAspect: Ratio, rotation: Int, gravity: VideoGravity = .resizeAspect,
        view: VideoGeometry = VideoGeometry(), in area: PixelSize
    ) {
        self.area = area
        visible = PixelRect(x: 0, y: 0, width: area.width, height: area.height)
        self.rotation = Self.normalized(view.rotation(stated: rotation))
        let shape = Self.displaySize(of: size, pixelAspect: pixelAspect, rotation: rotation, view: view)
        let fitted =
            switch gravity {
            case .resizeAspect: Self.fitted(shape, into: area)
            case .resizeAspectFill: Self.filling(shape, area)
            case .resize: area
            }
        let shown = Self.zoomed(fitted, shape, by: view, in: area)
        rect = PixelRect(
            x: (area.width - shown.width) / 2 + Self.moved(shown.width, by: view.panX),
            y: (area.height - shown.height) / 2 + Self.moved(shown.height, by: view.panY), width: shown.width,
            height: shown.height)
    }

    /// Places a frame with its own pixel aspect ratio and rotation, as modified by the view.
    init(of frame: any VideoFrame, gravity: VideoGravity, view: VideoGeometry, in area: PixelSize) {
        self.init(
            size: frame.size, pixelAspect: frame.pixelAspect, rotation: frame.rotation, gravity: gravity,
            view: view, in: area)
    }

    /// Converts a placement on the canvas to the glass.
    func onGlass(_ geometry: ScreenGeometry) -> VideoPlacement {
        guard !geometry.isPlain else { return self }
        var placement = self
        placement.area = geometry.glass
        placement.visible = geometry.onGlass(geometry.visible)
        placement.rect = geometry.onGlass(rect)
        placement.rotation = Self.normalized(rotation + geometry.rotation)
        return placement
    }

    /// Returns the frame size in square pixels, after rotation. The shorter pixel side is stretched, so that no detail
    /// is lost.
    ///
    /// Sizes and ratios come from files, so the result is clamped to 1…65535.
    static func displaySize(
        of size: PixelSize, pixelAspect: Ratio, rotation: Int, view: VideoGeometry = VideoGeometry()
    ) -> PixelSize {
        let aspect = view.pixelAspect(of: size, stated: pixelAspect)
        let wide = aspect >= 1 ? Double(size.width) * aspect : Double(size.width)
        let high = aspect >= 1 ? Double(size.height) : Double(size.height) / aspect
        let upright = PixelSize(width: clamped(wide), height: clamped(high))
        return normalized(view.rotation(stated: rotation)) % 180 == 0
            ? upright : PixelSize(width: upright.height, height: upright.width)
    }

    /// Returns the largest size with this aspect ratio in `area`. A one-pixel border is filled, as it does not justify
    /// scaling.
    static func fitted(_ shape: PixelSize, into area: PixelSize) -> PixelSize {
        let scale = min(
            Double(area.width) / Double(max(1, shape.width)), Double(area.height) / Double(max(1, shape.height)))
        var width = min(area.width, clamped(Double(shape.width) * scale))
        var height = min(area.height, clamped(Double(shape.height) * scale))
        if area.width - width == 1 { width = area.width }
        if area.height - height == 1 { height = area.height }
        return PixelSize(width: width, height: height)
    }

    /// Returns the smallest size with this aspect ratio that covers `area`.
    private static func filling(_ shape: PixelSize, _ area: PixelSize) -> PixelSize {
        let scale = max(
            Double(area.width) / Double(max(1, shape.width)), Double(area.height) / Double(max(1, shape.height)))
        return PixelSize(
            width: max(area.width, clamped(Double(shape.width) * scale)),
            height: max(area.height, clamped(Double(shape.height) * scale)))
    }

    // MARK: View settings

    /// Applies panscan (from fitting towards filling), then zoom.
    private static func zoomed(
        _ fitted: PixelSize, _ shape: PixelSize, by view: VideoGeometry, in area: PixelSize
    ) -> PixelSize {
        guard view.zoom != 0 || view.panscan != 0 else { return fitted }
        let panscan = sane(view.panscan, in: VideoGeometry.panscanRange)
        let filled = filling(shape, area)
        let factor = exp2(sane(view.zoom, in: VideoGeometry.zoomRange))
        func side(_ from: Int, _ to: Int) -> Double {
            (Double(from) + Double(max(0, to - from)) * panscan) * factor
        }
        let (width, height) = (side(fitted.width, filled.width), side(fitted.height, filled.height))
        // The limit preserves the aspect ratio.
        let limit = min(1, largest / max(width, height))
        return PixelSize(width: clamped(width * limit), height: clamped(height * limit))
    }

    private static func moved(_ side: Int, by pan: Double) -> Int {
        pan == 0 ? 0 : Int(pixels: Double(side) * sane(pan, in: VideoGeometry.panRange))
    }

    private static func sane(_ value: Double, in range: ClosedRange<Double>) -> Double {
        value.isFinite ? min(range.upperBound, max(range.lowerBound, value)) : 0
    }

    /// The maximum side after zooming, in pixels.
    private static let largest = 16384.0

    // MARK: Visible part

    /// A part of a frame and its target rectangle.
    struct Region: Equatable {
        /// In pixels of the unrotated frame.
        var source: PixelRect
        /// In the window; may exceed it by a few source pixels.
        var target: PixelRect
    }

    /// Returns the visible part of a frame of this size; nil if nothing is visible.
    ///
    /// - Parameter step: The alignment of the part in pixels, for chroma subsampling.
    func visibleRegion(of size: PixelSize, step: Int) -> Region? {
        let seen = rect.intersection(visible)
        guard !seen.isEmpty, size.width > 0, size.height > 0 else { return nil }
        // Edges as fractions of the rotated frame, from its left and top.
        let left = Double(seen.x - rect.x) / Double(rect.width)
        let right = Double(seen.x + seen.width - rect.x) / Double(rect.width)
        let top = Double(seen.y - rect.y) / Double(rect.height)
        let bottom = Double(seen.y + seen.height - rect.y) / Double(rect.height)
        let (across, along) =
            switch rotation {
            case 90: ((top, bottom), (1 - right, 1 - left))
            case 180: ((1 - right, 1 - left), (1 - bottom, 1 - top))
            case 270: ((1 - bottom, 1 - top), (left, right))
            default: ((left, right), (top, bottom))
            }
        let (x, width) = Self.steps(across, of: size.width, step)
        let (y, height) = Self.steps(along, of: size.height, step)
        // The reverse conversion: the exact target of the aligned source pixels.
        let begin = (x: Double(x) / Double(size.width), y: Double(y) / Double(size.height))
        let end = (x: Double(x + width) / Double(size.width), y: Double(y + height) / Double(size.height))
        let (horizontal, vertical) =
            switch rotation {
            case 90: ((1 - end.y, 1 - begin.y), (begin.x, end.x))
            case 180: ((1 - end.x, 1 - begin.x), (1 - end.y, 1 - begin.y))
            case 270: ((begin.y, end.y), (1 - end.x, 1 - begin.x))
            default: ((begin.x, end.x), (begin.y, end.y))
            }
        func edges(_ fractions: (Double, Double), _ start: Int, _ length: Int) -> (Int, Int) {
            let from = start + Int(pixels: fractions.0 * Double(length))
            return (from, max(1, start + Int(pixels: fractions.1 * Double(length)) - from))
        }
        let (targetX, targetWidth) = edges(horizontal, rect.x, rect.width)
        let (targetY, targetHeight) = edges(vertical, rect.y, rect.height)
        return Region(
            source: PixelRect(x: x, y: y, width: width, height: height),
            target: PixelRect(x: targetX, y: targetY, width: targetWidth, height: targetHeight))
    }

    /// Returns the aligned range that covers an interval, plus one step at each end for the scaler's taps.
    private static func steps(_ stretch: (Double, Double), of length: Int, _ step: Int) -> (start: Int, count: Int) {
        let size = Double(length)
        let first = max(0, Int(pixels: (stretch.0 * size).rounded(.down)) / step - 1) * step
        let last = min(length, (Int(pixels: (stretch.1 * size).rounded(.up)) / step + 2) * step)
        return (first, max(1, last - first))
    }

    /// Returns a rotation as 0, 90, 180 or 270; 0 for any other angle.
    static func normalized(_ rotation: Int) -> Int {
        let turn = ((rotation % 360) + 360) % 360
        return turn % 90 == 0 ? turn : 0
    }

    private static func clamped(_ value: Double) -> Int {
        value.isFinite ? Int(clamping: value, in: 1...65535) : 1
    }
}
