internal import CASS
internal import MediaCore

/// The list that libass hands out; valid until it draws again.
struct InkImages: Sequence, IteratorProtocol {
    private var following: UnsafeMutablePointer<ASS_Image>?
    init(first: UnsafeMutablePointer<ASS_Image>?) { following = first }
    mutating func next() -> ASS_Image? {
        guard let image = following?.pointee else { return nil }
        following = image.next
        return image
    }
}

/// Lays libass's images over each other.
enum InkComposition {
    /// Pieces nearer to each other than this many pixels become one.
    private static let gap = 32
    /// Pieces at most.
    private static let mostPieces = 8

    /// One image of all; nil when they cover nothing.
    static func composed(_ first: UnsafeMutablePointer<ASS_Image>?, within area: PixelSize) -> OverlayImage? {
        var rect = PixelRect(x: 0, y: 0, width: 0, height: 0)
        for image in InkImages(first: first) { rect = rect.union(image.inked) }
        rect = rect.intersection(PixelRect(x: 0, y: 0, width: area.width, height: area.height))
        return rect.isEmpty ? nil : blended(first, within: rect)
    }

    /// An image for each place where something is, so that a line above and one below are not as large as the picture.
    static func pieces(_ first: UnsafeMutablePointer<ASS_Image>?, within area: PixelSize) -> [OverlayImage] {
        let whole = PixelRect(x: 0, y: 0, width: area.width, height: area.height)
        var places: [PixelRect] = []
        for image in InkImages(first: first) {
            var place = image.inked.intersection(whole)
            if place.isEmpty { continue }
            // Whatever it touches is one with it.
            while let index = places.firstIndex(where: { $0.isNear(place, gap) }) {
                place = place.union(places.remove(at: index))
            }
            places.append(place)
            if places.count > mostPieces { places = [places.reduce(places[0]) { $0.union($1) }] }
        }
        return places.map { blended(first, within: $0) }
    }

    private static func blended(_ first: UnsafeMutablePointer<ASS_Image>?, within rect: PixelRect) -> OverlayImage {
        var pixels = [UInt8](repeating: 0, count: rect.width * rect.height * 4)
        pixels.withUnsafeMutableBufferPointer { pixels in
            for image in InkImages(first: first) { blend(image, over: pixels, rect) }
        }
        return OverlayImage(rect: rect, pixels: pixels)
    }

    /// Both with straight alpha: what is above takes its share, what is below the rest.
    private static func blend(_ image: ASS_Image, over pixels: UnsafeMutableBufferPointer<UInt8>, _ rect: PixelRect) {
        let visible = image.place.intersection(rect)
        guard !visible.isEmpty, let bitmap = image.bitmap else { return }
        let ink = (blue: image.color >> 8 & 255, green: image.color >> 16 & 255, red: image.color >> 24)
        let opacity = 255 - image.color & 255
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
    /// Whether less than a gap lies between both.
    fileprivate func isNear(_ other: PixelRect, _ gap: Int) -> Bool {
        x < other.x + other.width + gap && other.x < x + width + gap && y < other.y + other.height + gap
            && other.y < y + height + gap
    }
}

extension ASS_Image {
    var place: PixelRect { PixelRect(x: Int(dst_x), y: Int(dst_y), width: Int(w), height: Int(h)) }

    /// The part that covers anything: bitmaps come with empty columns and rows at their ends.
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
