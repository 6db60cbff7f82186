public import MediaCore
package import SyncRendering

/// An image of the displayed video: rotated, in square pixels, in full-range R'G'B'.
public struct ScreenSnapshot: Sendable {
    /// The size in square pixels.
    public var size: PixelSize
    /// B, G, R, A per pixel; rows without padding.
    public var pixels: [UInt8]
    /// The media time of the frame, on the player's timeline.
    private var time: MediaTime?
    /// The coded size of the frame, rotated.
    private var storage = PixelSize(width: 0, height: 0)

    /// Converts a frame in its own size; nil if the converter cannot.
    ///
    /// - Parameter time: The media time of its subtitles.
    init?(of frame: any VideoFrame, at time: MediaTime?, by converter: any VideoFrameConverter) {
        let size = VideoPlacement.displaySize(
            of: frame.size, pixelAspect: frame.pixelAspect, rotation: frame.rotation)
        let placement = VideoPlacement(
            size: frame.size, pixelAspect: frame.pixelAspect, rotation: frame.rotation, in: size)
        self.init(of: frame, lying: placement, by: converter)
        self.time = time
        storage =
            placement.rotation % 180 == 0
            ? frame.size : PixelSize(width: frame.size.height, height: frame.size.width)
    }

    /// Converts a frame placed in an otherwise black area; nil if the converter cannot.
    init?(of frame: any VideoFrame, lying placement: VideoPlacement, by converter: any VideoFrameConverter) {
        size = placement.area
        guard size.width * size.height <= Self.largest else { return nil }
        let all = PixelRect(x: 0, y: 0, width: frame.size.width, height: frame.size.height)
        let isFullyVisible = placement.rect.isInside(PixelRect(x: 0, y: 0, width: size.width, height: size.height))
        guard
            let seen = isFullyVisible
                ? VideoPlacement.Region(source: all, target: placement.rect)
                : placement.visibleRegion(of: frame.size, step: Self.regionStep)
        else { return nil }
        let destination = seen.target
        let upright =
            placement.rotation % 180 == 0
            ? destination.size : PixelSize(width: destination.height, height: destination.width)
        guard upright.width * upright.height <= Self.largest else { return nil }
        var straight = [UInt8](repeating: 0, count: upright.width * upright.height * 4)
        let isDone = straight.withUnsafeMutableBytes { bytes in
            let target = PixelTarget(base: bytes.baseAddress!, stride: upright.width * 4, size: upright)
            return seen.source == all
                ? converter.convert(frame, to: target) : converter.convert(frame, part: seen.source, to: target)
        }
        guard isDone else { return nil }
        var turned = straight
        if placement.rotation != 0 {
            turned.withUnsafeMutableBytes { target in
                straight.withUnsafeBytes { source in
                    PixelRotation.copy(
                        from: source.baseAddress!.assumingMemoryBound(to: UInt32.self), stride: upright.width,
                        size: upright, turned: placement.rotation,
                        to: target.baseAddress!.assumingMemoryBound(to: UInt32.self), stride: destination.width)
                }
            }
        }
        guard destination.size != size || destination.x != 0 || destination.y != 0 else {
            pixels = turned
            return
        }
        pixels = [UInt8](repeating: 0, count: size.width * size.height * 4)
        let shown = destination.intersection(PixelRect(x: 0, y: 0, width: size.width, height: size.height))
        for row in shown.y..<shown.y + shown.height {
            let from = ((row - destination.y) * destination.width + shown.x - destination.x) * 4
            let to = (row * size.width + shown.x) * 4
            pixels.replaceSubrange(to..<to + shown.width * 4, with: turned[from..<from + shown.width * 4])
        }
    }

    /// Creates a black image; nil if the size exceeds the limit.
    init?(black size: PixelSize) {
        guard size.width * size.height <= Self.largest else { return nil }
        self.size = size
        pixels = [UInt8](repeating: 0, count: size.width * size.height * 4)
        for alpha in stride(from: 3, to: pixels.count, by: 4) { pixels[alpha] = 255 }
    }

    // MARK: Subtitles

    /// Draws the subtitles over the frame in its own size, as on a window of that size. Blocks while drawing; any
    /// thread.
    ///
    /// - Parameter layer: The layer with the subtitles.
    package mutating func lay(subtitles layer: DisplayLayer) {
        guard let time else { return }
        let frame = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        blend(layer.drawSubtitles(at: time, on: SubtitleCanvas(area: size, video: frame, storage: storage)))
    }

    func under(_ images: [OverlayImage]) -> ScreenSnapshot {
        var copy = self
        copy.blend(images)
        return copy
    }

    private mutating func blend(_ images: [OverlayImage]) {
        let bounds = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        for image in images {
            let seen = image.rect.intersection(bounds)
            guard !seen.isEmpty else { continue }
            for row in seen.y..<seen.y + seen.height {
                var from = ((row - image.rect.y) * image.rect.width + seen.x - image.rect.x) * 4
                var to = (row * size.width + seen.x) * 4
                for _ in 0..<seen.width {
                    let alpha = Int(image.pixels[from + 3])
                    if alpha > 0 {
                        for channel in 0..<3 {
                            let under = Int(pixels[to + channel])
                            let over = Int(image.pixels[from + channel])
                            pixels[to + channel] = UInt8(under + (over - under) * alpha / 255)
                        }
                    }
                    from += 4
                    to += 4
                }
            }
        }
    }

    /// The maximum number of pixels, 8K by 8K.
    private static let largest = 8192 * 8192
    /// A multiple of every chroma subsampling step and of the SIMD load width.
    private static let regionStep = 16
}
