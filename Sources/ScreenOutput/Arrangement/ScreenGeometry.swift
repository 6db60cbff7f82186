internal import MediaCore

/// The conversion between the pixels of a window and its upright layout area.
///
/// The *glass* is the window as scanned out by the display. The *canvas* is its visible part, upright. Video, text and
/// pointer positions are in canvas coordinates; only input to a presenter is in glass coordinates.
struct ScreenGeometry: Hashable, Sendable, BitwiseCopyable {
    let glass: PixelSize
    /// The clockwise rotation from canvas to glass: 0, 90, 180 or 270.
    let rotation: Int
    /// The canvas in glass coordinates.
    let field: PixelRect
    let canvas: PixelSize
    /// The part of the canvas that is drawn on.
    let visible: PixelRect
    /// The title-safe part of it, for text.
    let titleSafe: PixelRect

    init(_ arrangement: ScreenArrangement, on glass: PixelSize) {
        self.glass = glass
        rotation = VideoPlacement.normalized(arrangement.rotation)
        let bounds = PixelRect(x: 0, y: 0, width: glass.width, height: glass.height)
        switch arrangement.overscan {
        case .none, .insetApplicationFrame: field = bounds
        case .scale(let share), .insetBounds(let share): field = bounds.inset(by: share)
        }
        canvas = rotation % 180 == 0 ? field.size : PixelSize(width: field.height, height: field.width)
        let sheet = PixelRect(x: 0, y: 0, width: canvas.width, height: canvas.height)
        visible = sheet
        var safeArea = sheet
        if case .insetApplicationFrame(let share) = arrangement.overscan { safeArea = sheet.inset(by: share) }
        self.titleSafe = arrangement.titleSafe == 0 ? safeArea : safeArea.inset(by: arrangement.titleSafe)
    }

    /// Whether canvas and glass are equal.
    var isPlain: Bool { rotation == 0 && field.size == glass && visible.size == glass }

    func onGlass(_ rect: PixelRect) -> PixelRect {
        let turned =
            switch rotation {
            case 90:
                PixelRect(x: canvas.height - rect.y - rect.height, y: rect.x, width: rect.height, height: rect.width)
            case 180:
                PixelRect(
                    x: canvas.width - rect.x - rect.width, y: canvas.height - rect.y - rect.height, width: rect.width,
                    height: rect.height)
            case 270:
                PixelRect(x: rect.y, y: canvas.width - rect.x - rect.width, width: rect.height, height: rect.width)
            default: rect
            }
        return PixelRect(x: turned.x + field.x, y: turned.y + field.y, width: turned.width, height: turned.height)
    }

    /// Converts a pixel from glass to canvas coordinates. The result is outside the canvas for pixels that it does not
    /// cover.
    func onCanvas(x: Int, y: Int) -> (x: Int, y: Int) {
        let (x, y) = (x - field.x, y - field.y)
        switch rotation {
        case 90: return (y, canvas.height - 1 - x)
        case 180: return (canvas.width - 1 - x, canvas.height - 1 - y)
        case 270: return (canvas.width - 1 - y, x)
        default: return (x, y)
        }
    }

    /// Rotates an image to glass orientation, without invisible parts; nil if nothing is visible.
    func onGlass(_ image: OverlayImage) -> OverlayImage? {
        let seen = image.rect.intersection(visible)
        guard !seen.isEmpty else { return nil }
        let glassRect = onGlass(seen)
        if rotation == 0, seen == image.rect { return OverlayImage(rect: glassRect, pixels: image.pixels) }
        var pixels = [UInt8](
            repeating: 0, count: image.pixels.count / (image.rect.width * image.rect.height) * seen.width * seen.height)
        image.pixels.withUnsafeBytes { source in
            pixels.withUnsafeMutableBytes { target in
                let corner = (seen.y - image.rect.y) * image.rect.width + seen.x - image.rect.x
                PixelRotation.copy(
                    from: source.baseAddress!.assumingMemoryBound(to: UInt32.self) + corner, stride: image.rect.width,
                    size: seen.size, turned: rotation, to: target.baseAddress!.assumingMemoryBound(to: UInt32.self),
                    stride: glassRect.width)
            }
        }
        return OverlayImage(rect: glassRect, pixels: pixels)
    }
}

extension PixelRect {
    /// Returns the rectangle without `share` per cent of its width left and right and of its height above and below.
    fileprivate func inset(by share: Double) -> PixelRect {
        let fraction = share.isFinite ? min(ScreenArrangement.Overscan.maxPercent, max(0, share)) / 100 : 0
        let (across, along) = (Int(pixels: Double(width) * fraction), Int(pixels: Double(height) * fraction))
        return PixelRect(
            x: x + across, y: y + along, width: max(1, width - 2 * across), height: max(1, height - 2 * along))
    }
}

extension Int {
    /// Creates the nearest position or length in pixels, clamped to ±2^24, beyond every screen; NaN becomes the lower
    /// limit.
    init(pixels value: Double) { self.init(clamping: value, in: -(1 << 24)...1 << 24) }
}
