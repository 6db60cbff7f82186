internal import CASS
public import MediaCore

/// Draws words and shapes by libass, in every script that the system has fonts for.
///
/// Belongs to one thread at a time. The first one of a process reads the list of fonts, which takes some hundredths of a second,
/// and much longer where fontconfig has no cache: keep it away from threads that show pictures.
public final class TextPainter {
    private let library: OpaquePointer
    private let renderer: OpaquePointer
    private var widths: [String: Double] = [:]

    private enum Limit {
        /// Glyphs and megabytes of drawings that libass keeps; the second one is the unit of `ass_set_cache_limits`.
        static let glyphs: Int32 = 1000
        static let megabytes: Int32 = 8
        /// Widths that are remembered.
        static let widths = 500
    }

    /// Nil when there is no memory.
    public init?() {
        guard let library = ass_library_init() else { return nil }
        cass_be_quiet(library)
        guard let renderer = ass_renderer_init(library) else {
            ass_library_done(library)
            return nil
        }
        (self.library, self.renderer) = (library, renderer)
        ass_set_cache_limits(renderer, Limit.glyphs, Limit.megabytes)
        ass_set_fonts(renderer, nil, "sans-serif", Int32(ASS_FONTPROVIDER_AUTODETECT.rawValue), nil, 1)
    }

    deinit {
        ass_renderer_done(renderer)
        ass_library_done(library)
    }

    /// False where the system has no font at all: words are then left out.
    public private(set) lazy var hasFonts: Bool = width(of: "M", size: 20) > 0

    /// Draws a script for a picture of this size; nil where nothing of it is to be seen.
    public func draw(_ script: TextScript, in area: PixelSize) -> OverlayImage? {
        guard !script.isEmpty else { return nil }
        return rendered(script, in: area) { images in Self.composed(images, within: area) }
    }

    /// How wide the ink of a line of text is, in units in which the size is given; what is too wide for every screen counts as
    /// the widest that can be measured.
    public func width(of text: String, size: Double) -> Double {
        if let width = widths[text] { return width * size }
        // Large enough for hundredths of a line.
        let (drawnSize, area) = (40.0, PixelSize(width: 16384, height: 120))
        var script = TextScript()
        script.write(text, at: TextScript.Point(0, 20), size: drawnSize)
        let width = rendered(script, in: area) { images in
            var right = 0
            for image in Images(first: images) { right = max(right, image.inked.x + image.inked.width) }
            return Double(right) / drawnSize
        }
        if widths.count >= Limit.widths { widths.removeAll(keepingCapacity: true) }
        widths[text] = width
        return width * size
    }

    // MARK: libass

    private func rendered<Result>(
        _ script: TextScript, in area: PixelSize, _ body: (UnsafeMutablePointer<ASS_Image>?) -> Result
    ) -> Result {
        guard area.width > 0, area.height > 0 else { return body(nil) }
        var document = Array(script.document(width: area.width, height: area.height).utf8CString)
        // It writes into the memory while it reads, and keeps nothing of it.
        let track = document.withUnsafeMutableBufferPointer { bytes in
            ass_read_memory(library, bytes.baseAddress, bytes.count - 1, nil)
        }
        guard let track else { return body(nil) }
        defer { ass_free_track(track) }
        ass_set_frame_size(renderer, Int32(clamping: area.width), Int32(clamping: area.height))
        ass_set_storage_size(renderer, Int32(clamping: area.width), Int32(clamping: area.height))
        return body(ass_render_frame(renderer, track, 0, nil))
    }

    /// Lays the images over each other; nil when they cover nothing.
    private static func composed(_ first: UnsafeMutablePointer<ASS_Image>?, within area: PixelSize) -> OverlayImage? {
        let images = Images(first: first)
        var rect = PixelRect(x: 0, y: 0, width: 0, height: 0)
        for image in images { rect = rect.union(image.inked) }
        rect = rect.intersection(PixelRect(x: 0, y: 0, width: area.width, height: area.height))
        guard !rect.isEmpty else { return nil }
        var pixels = [UInt8](repeating: 0, count: rect.width * rect.height * 4)
        pixels.withUnsafeMutableBufferPointer { pixels in
            for image in images { blend(image, over: pixels, rect) }
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

    /// The list that libass hands out; valid until it draws again.
    private struct Images: Sequence, IteratorProtocol {
        private var following: UnsafeMutablePointer<ASS_Image>?
        init(first: UnsafeMutablePointer<ASS_Image>?) { following = first }
        mutating func next() -> ASS_Image? {
            guard let image = following?.pointee else { return nil }
            following = image.next
            return image
        }
    }
}

extension ASS_Image {
    fileprivate var place: PixelRect { PixelRect(x: Int(dst_x), y: Int(dst_y), width: Int(w), height: Int(h)) }

    /// The part that covers anything: bitmaps come with empty columns and rows at their ends.
    fileprivate var inked: PixelRect {
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
