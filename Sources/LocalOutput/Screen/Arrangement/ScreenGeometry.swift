internal import MediaCore

/// A window's pixels against the upright sheet that everything is laid out on.
///
/// The *glass* is the window as the display scans it. The *canvas* is what people see of it, upright: pictures, words and pointers have their
/// places there, and only what is handed to a presenter is brought to the glass.
struct ScreenGeometry: Hashable, Sendable, BitwiseCopyable {
    let glass: PixelSize
    /// Clockwise, from the canvas to the glass: 0, 90, 180 or 270.
    let rotation: Int
    /// Where the canvas lies on the glass.
    let field: PixelRect
    let canvas: PixelSize
    /// The part of the canvas on which anything is drawn.
    let visible: PixelRect
    /// The part of it that words keep to.
    let words: PixelRect

    init(_ arrangement: ScreenArrangement, on glass: PixelSize) {
        self.glass = glass
        rotation = PicturePlacement.normalized(arrangement.rotation)
        let whole = PixelRect(x: 0, y: 0, width: glass.width, height: glass.height)
        switch arrangement.overscan {
        case .none, .insetApplicationFrame: field = whole
        case .scale(let share), .insetBounds(let share): field = whole.inset(by: share)
        }
        canvas = rotation % 180 == 0 ? field.size : PixelSize(width: field.height, height: field.width)
        let sheet = PixelRect(x: 0, y: 0, width: canvas.width, height: canvas.height)
        visible = sheet
        var words = sheet
        if case .insetApplicationFrame(let share) = arrangement.overscan { words = sheet.inset(by: share) }
        self.words = arrangement.titleSafe == 0 ? words : words.inset(by: arrangement.titleSafe)
    }

    /// The canvas is the glass.
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

    /// The pixel of the canvas at a pixel of the glass; outside of the canvas where the glass is not covered by it.
    func onCanvas(x: Int, y: Int) -> (x: Int, y: Int) {
        let (x, y) = (x - field.x, y - field.y)
        switch rotation {
        case 90: return (y, canvas.height - 1 - x)
        case 180: return (canvas.width - 1 - x, canvas.height - 1 - y)
        case 270: return (canvas.width - 1 - y, x)
        default: return (x, y)
        }
    }

    /// The same image turned to lie on the glass, without what is not seen; nil where nothing is.
    func onGlass(_ image: OverlayImage) -> OverlayImage? {
        let seen = image.rect.intersection(visible)
        guard !seen.isEmpty else { return nil }
        let place = onGlass(seen)
        if rotation == 0, seen == image.rect { return OverlayImage(rect: place, pixels: image.pixels) }
        var pixels = [UInt8](
            repeating: 0, count: image.pixels.count / (image.rect.width * image.rect.height) * seen.width * seen.height)
        image.pixels.withUnsafeBytes { source in
            pixels.withUnsafeMutableBytes { target in
                let corner = (seen.y - image.rect.y) * image.rect.width + seen.x - image.rect.x
                PixelRotation.copy(
                    from: source.baseAddress!.assumingMemoryBound(to: UInt32.self) + corner, stride: image.rect.width,
                    size: seen.size, turned: rotation, to: target.baseAddress!.assumingMemoryBound(to: UInt32.self),
                    stride: place.width)
            }
        }
        return OverlayImage(rect: place, pixels: pixels)
    }
}

extension PixelRect {
    /// Without a share of each side, in per cent of its width at left and right and of its height above and below.
    fileprivate func inset(by share: Double) -> PixelRect {
        let part = share.isFinite ? min(ScreenArrangement.Overscan.most, max(0, share)) / 100 : 0
        let (across, along) = (Int((Double(width) * part).rounded()), Int((Double(height) * part).rounded()))
        return PixelRect(
            x: x + across, y: y + along, width: max(1, width - 2 * across), height: max(1, height - 2 * along))
    }
}
