internal import MediaCore
internal import SyncRendering

/// Where a picture lies in a window: centred, and as large as its gravity says; it may reach over the edges.
struct PicturePlacement: Hashable, Sendable, BitwiseCopyable {
    /// The window or surface, in pixels.
    var area: PixelSize
    /// The picture within it, after rotation.
    var rect: PixelRect
    /// Clockwise, 0, 90, 180 or 270.
    var rotation: Int

    /// Size of the picture within `rect` before rotation.
    var unrotatedSize: PixelSize {
        rotation % 180 == 0 ? rect.size : PixelSize(width: rect.height, height: rect.width)
    }

    init(
        size: PixelSize, pixelAspect: Ratio, rotation: Int, gravity: VideoGravity = .resizeAspect, in area: PixelSize
    ) {
        self.area = area
        self.rotation = Self.normalized(rotation)
        let shape = Self.displaySize(of: size, pixelAspect: pixelAspect, rotation: rotation)
        let fitted =
            switch gravity {
            case .resizeAspect: Self.fitted(shape, into: area)
            case .resizeAspectFill: Self.filling(shape, area)
            case .resize: area
            }
        rect = PixelRect(
            x: (area.width - fitted.width) / 2, y: (area.height - fitted.height) / 2, width: fitted.width,
            height: fitted.height)
    }

    /// Size in square pixels, turned; the shorter pixel side is stretched, so that no detail is lost.
    ///
    /// Sizes and ratios come from files, so the result is kept within 1…65535.
    static func displaySize(of size: PixelSize, pixelAspect: Ratio, rotation: Int) -> PixelSize {
        let aspect = pixelAspect.value
        let wide = aspect >= 1 ? Double(size.width) * aspect : Double(size.width)
        let high = aspect >= 1 ? Double(size.height) : Double(size.height) / aspect
        let upright = PixelSize(width: clamped(wide), height: clamped(high))
        return normalized(rotation) % 180 == 0
            ? upright : PixelSize(width: upright.height, height: upright.width)
    }

    /// The largest size of that shape inside `area`. A bar of one pixel is not worth a rescale: it is filled.
    static func fitted(_ shape: PixelSize, into area: PixelSize) -> PixelSize {
        let scale = min(
            Double(area.width) / Double(max(1, shape.width)), Double(area.height) / Double(max(1, shape.height)))
        var width = min(area.width, clamped(Double(shape.width) * scale))
        var height = min(area.height, clamped(Double(shape.height) * scale))
        if area.width - width == 1 { width = area.width }
        if area.height - height == 1 { height = area.height }
        return PixelSize(width: width, height: height)
    }

    /// The smallest size of that shape that covers `area`.
    private static func filling(_ shape: PixelSize, _ area: PixelSize) -> PixelSize {
        let scale = max(
            Double(area.width) / Double(max(1, shape.width)), Double(area.height) / Double(max(1, shape.height)))
        return PixelSize(
            width: max(area.width, clamped(Double(shape.width) * scale)),
            height: max(area.height, clamped(Double(shape.height) * scale)))
    }

    /// Quarter turns only; anything else is shown upright.
    static func normalized(_ rotation: Int) -> Int {
        let turn = ((rotation % 360) + 360) % 360
        return turn % 90 == 0 ? turn : 0
    }

    private static func clamped(_ value: Double) -> Int {
        value.isFinite ? Int(min(65535, max(1, value.rounded()))) : 1
    }
}
