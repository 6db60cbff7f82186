internal import MediaCore
internal import SyncRendering

/// Scales subtitle bitmaps from their plane to the video in a window.
struct BitmapPlacement {
    private let horizontal, vertical: Double
    private let origin: (x: Double, y: Double)
    private let area: PixelSize
    /// Whether the plane is higher than the video, so that parts of it are outside.
    private let isCut: Bool

    /// Fits the plane to the width of the video. With another aspect ratio (a film whose black bars were cropped), it
    /// keeps its own and is centred vertically.
    init(plane: PixelSize, canvas: SubtitleCanvas) {
        let frame = canvas.video
        horizontal = Double(frame.width) / Double(max(1, plane.width))
        let videoShape = Double(frame.width) / Double(max(1, frame.height))
        let shape = Self.shape(of: plane, over: videoShape)
        // A plane of the coded frame size differs only by non-square pixels: it covers the video.
        isCut = plane != canvas.storage && abs(shape / videoShape - 1) > 0.02 && shape < videoShape
        let height = isCut ? Double(frame.width) / shape : Double(frame.height)
        vertical = height / Double(max(1, plane.height))
        origin = (
            Double(frame.x),
            Double(frame.y) + (Double(frame.height) - Double(plane.height) * vertical) / 2
        )
        area = canvas.area
    }

    /// Returns the display aspect ratio of a plane, width by height.
    ///
    /// A DVD plane (ITU-R BT.601) has non-square pixels and is displayed in 4:3 or 16:9. The ratio nearer to that of
    /// the video is used.
    private static func shape(of plane: PixelSize, over videoShape: Double) -> Double {
        let (narrow, wide) = (4.0 / 3, 16.0 / 9)
        guard [704, 720].contains(plane.width), [480, 576].contains(plane.height) else {
            return Double(max(1, plane.width)) / Double(max(1, plane.height))
        }
        return videoShape * videoShape < narrow * wide ? narrow : wide
    }

    /// Returns the bitmaps of a cue at their positions in the window, without invisible ones.
    ///
    /// Bitmaps of a plane higher than the video are moved into the window together.
    func placed(_ images: [OverlayImage]) -> [OverlayImage] {
        var rects = images.map { targetRect($0.rect) }
        if isCut, let top = rects.map(\.y).min(), let bottom = rects.map({ $0.y + $0.height }).max() {
            let shift = max(0, -top) + min(0, area.height - bottom)
            for index in rects.indices { rects[index].y += shift }
        }
        return zip(images, rects).compactMap { placed($0, at: $1) }
    }

    private func targetRect(_ rect: PixelRect) -> PixelRect {
        PixelRect(
            x: Int(pixels: origin.x + Double(rect.x) * horizontal),
            y: Int(pixels: origin.y + Double(rect.y) * vertical),
            width: Int(pixels: Double(rect.width) * horizontal),
            height: Int(pixels: Double(rect.height) * vertical))
    }

    private func placed(_ image: OverlayImage, at wanted: PixelRect) -> OverlayImage? {
        let visible = wanted.intersection(PixelRect(x: 0, y: 0, width: area.width, height: area.height))
        guard !visible.isEmpty, !image.rect.isEmpty else { return nil }
        if wanted.size == image.rect.size, visible == wanted {
            return OverlayImage(rect: wanted, pixels: image.pixels)
        }
        return scaled(image, to: wanted, visible)
    }

    /// Scales an image: bilinear when enlarging, the weighted mean of all covered samples when reducing. Colours are
    /// weighted by alpha.
    private func scaled(_ image: OverlayImage, to target: PixelRect, _ visible: PixelRect) -> OverlayImage {
        let (width, height) = (image.rect.width, image.rect.height)
        let (columns, rows) = (
            Self.taps(from: width, to: target.width, visible.x - target.x, visible.width),
            Self.taps(from: height, to: target.height, visible.y - target.y, visible.height)
        )
        var pixels = [UInt8](repeating: 0, count: visible.width * visible.height * 4)
        image.pixels.withUnsafeBufferPointer { source in
            for (y, row) in rows.enumerated() {
                for (x, column) in columns.enumerated() {
                    var (blue, green, red, alpha) = (Float(0), Float(0), Float(0), Float(0))
                    for (j, high) in row.weights.enumerated() {
                        for (i, wide) in column.weights.enumerated() {
                            let at = ((row.first + j) * width + column.first + i) * 4
                            let opacity = Float(source[at + 3]) * high * wide
                            if opacity == 0 { continue }
                            blue += Float(source[at]) * opacity
                            green += Float(source[at + 1]) * opacity
                            red += Float(source[at + 2]) * opacity
                            alpha += opacity
                        }
                    }
                    guard alpha > 0.5 else { continue }
                    let at = (y * visible.width + x) * 4
                    pixels[at] = UInt8(clamping: Double(blue / alpha), in: 0...255)
                    pixels[at + 1] = UInt8(clamping: Double(green / alpha), in: 0...255)
                    pixels[at + 2] = UInt8(clamping: Double(red / alpha), in: 0...255)
                    pixels[at + 3] = UInt8(clamping: Double(alpha), in: 0...255)
                }
            }
        }
        return OverlayImage(rect: visible, pixels: pixels)
    }

    /// The source samples of one scaled sample; their weights add up to 1.
    private struct Taps {
        var first: Int
        var weights: [Float]
    }

    private static func taps(from count: Int, to scaled: Int, _ first: Int, _ wanted: Int) -> [Taps] {
        let step = Double(count) / Double(max(1, scaled))
        // A triangle filter of one sample per side, wider when reducing.
        let reach = max(1, step)
        return (first..<first + wanted).map { index in
            let middle = (Double(index) + 0.5) * step - 0.5
            let low = max(0, Int(pixels: (middle - reach).rounded(.up)))
            let high = min(count - 1, Int(pixels: (middle + reach).rounded(.down)))
            guard low <= high else { return Taps(first: min(count - 1, max(0, low)), weights: [1]) }
            let weights = (low...high).map { Float(max(0, 1 - abs(Double($0) - middle) / reach)) }
            let sum = weights.reduce(0, +)
            return Taps(first: low, weights: sum > 0 ? weights.map { $0 / sum } : [1])
        }
    }
}
