internal import CASS
internal import MediaCore

/// Iterates over libass's image list, which is valid until the next rendering.
struct InkImages: Sequence, IteratorProtocol {
    /// Maximum number of pixels in all images; those after it are not drawn. Thousands may share one bitmap.
    private static let maxPixels = 1 << 30
    private var following: UnsafeMutablePointer<ASS_Image>?
    private var pixels = 0
    init(first: UnsafeMutablePointer<ASS_Image>?) { following = first }
    mutating func next() -> ASS_Image? {
        guard let image = following?.pointee else { return nil }
        pixels += Int(image.w) * Int(image.h)
        guard pixels <= Self.maxPixels else { return nil }
        following = image.next
        return image
    }
}

/// Composites libass's images.
enum InkComposition {
    /// Rectangles closer than this many pixels are merged.
    private static let gap = 32
    /// Maximum number of separate images; more are merged into one.
    private static let maxPieces = 8

    /// Returns one image of all; nil if nothing is visible.
    static func composed(_ first: UnsafeMutablePointer<ASS_Image>?, within area: PixelSize) -> OverlayImage? {
        var rect = PixelRect(x: 0, y: 0, width: 0, height: 0)
        for image in InkImages(first: first) { rect = rect.union(image.inked) }
        rect = rect.intersection(PixelRect(x: 0, y: 0, width: area.width, height: area.height))
        return rect.isEmpty ? nil : blended(first, within: rect)
    }

    /// Returns an image per separate region, so that lines at top and bottom do not need an image of the frame's size.
    static func pieces(_ first: UnsafeMutablePointer<ASS_Image>?, within area: PixelSize) -> [OverlayImage] {
        let bounds = PixelRect(x: 0, y: 0, width: area.width, height: area.height)
        var regions: [PixelRect] = []
        for image in InkImages(first: first) {
            var region = image.inked.intersection(bounds)
            if region.isEmpty { continue }
            // Merges every region that it touches.
            while let index = regions.firstIndex(where: { $0.isNear(region, gap) }) {
                region = region.union(regions.remove(at: index))
            }
            regions.append(region)
            if regions.count > maxPieces { regions = [regions.reduce(regions[0]) { $0.union($1) }] }
        }
        return regions.map { blended(first, within: $0) }
    }

    /// Returns the composition of all images in a rectangle.
    private static func blended(_ first: UnsafeMutablePointer<ASS_Image>?, within rect: PixelRect) -> OverlayImage {
        var pixels = [UInt8](repeating: 0, count: rect.width * rect.height * 4)
        pixels.withUnsafeMutableBufferPointer { pixels in
            for image in InkImages(first: first) { blend(image, over: pixels, rect) }
        }
        return OverlayImage(rect: rect, pixels: pixels)
    }

    /// Source-over compositing; source and destination have straight alpha.
    private static func blend(_ image: ASS_Image, over pixels: UnsafeMutableBufferPointer<UInt8>, _ rect: PixelRect) {
        let visible = image.rect.intersection(rect)
        let ink = (blue: image.color >> 8 & 255, green: image.color >> 16 & 255, red: image.color >> 24)
        let opacity = 255 - image.color & 255
        guard !visible.isEmpty, opacity > 0, let bitmap = image.bitmap else { return }
        for y in visible.y..<(visible.y + visible.height) {
            let row = bitmap + (y - Int(image.dst_y)) * Int(image.stride) - Int(image.dst_x)
            for x in visible.x..<(visible.x + visible.width) where row[x] != 0 {
                let above = UInt32(row[x]) * opacity / 255
                let at = ((y - rect.y) * rect.width + x - rect.x) * 4
                let below = UInt32(pixels[at + 3]) * (255 - above) / 255
                let alpha = above + below
                guard alpha > 0 else { continue }
                pixels[at] = UInt8((ink.blue * above + UInt32(pixels[at]) * below + alpha / 2) / alpha)
                pixels[at + 1] = UInt8((ink.green * above + UInt32(pixels[at + 1]) * below + alpha / 2) / alpha)
                pixels[at + 2] = UInt8((ink.red * above + UInt32(pixels[at + 2]) * below + alpha / 2) / alpha)
                pixels[at + 3] = UInt8(alpha)
            }
        }
    }
}

extension PixelRect {
    /// Returns true if the distance of both is less than `gap` pixels.
    fileprivate func isNear(_ other: PixelRect, _ gap: Int) -> Bool {
        x < other.x + other.width + gap && other.x < x + width + gap && y < other.y + other.height + gap
            && other.y < y + height + gap
    }
}

extension ASS_Image {
    /// Position and size of the bitmap.
    var rect: PixelRect { PixelRect(x: Int(dst_x), y: Int(dst_y), width: Int(w), height: Int(h)) }

    /// The bounding rectangle of visible pixels; libass's bitmaps have empty rows and columns at their edges.
    var inked: PixelRect {
        guard let bitmap, color & 255 < 255 else { return PixelRect(x: 0, y: 0, width: 0, height: 0) }
        var (left, right, top, bottom) = (Int(w), -1, Int(h), -1)
        for y in 0..<Int(h) {
            let row = bitmap + y * Int(stride)
            guard let first = (0..<Int(w)).first(where: { row[$0] != 0 }) else { continue }
            var last = Int(w) - 1
            while row[last] == 0 { last -= 1 }
            (left, right, top, bottom) = (min(left, first), max(right, last), min(top, y), y)
        }
        return PixelRect(
            x: Int(dst_x) + left, y: Int(dst_y) + top, width: max(0, right - left + 1), height: max(0, bottom - top + 1)
        )
    }
}
