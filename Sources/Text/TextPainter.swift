internal import CASS
package import MediaCore

/// Renders text and shapes with libass, in every script for which a font is installed.
///
/// Not thread-safe: one thread at a time. The first instance of a process scans the fonts. This takes some hundredths
/// of a second, much longer without fontconfig's cache; avoid it on threads that display video.
package final class TextPainter {
    private let engine: AssEngine
    /// Widths at size 1, by text.
    private var widths: [String: Double] = [:]

    /// Cache limits.
    private enum Limit {
        /// Glyph and bitmap cache; the latter in megabytes.
        static let glyphs: Int32 = 1000
        static let megabytes: Int32 = 8
        /// Maximum number of cached widths.
        static let widths = 500
    }

    /// Creates a renderer; nil if out of memory.
    package init?() {
        guard let engine = AssEngine(glyphs: Limit.glyphs, megabytes: Limit.megabytes) else { return nil }
        self.engine = engine
    }

    /// False if no font is installed; text is not rendered then.
    package private(set) lazy var hasFonts: Bool = width(of: "M", size: 20) > 0

    /// Renders a script for an area of this size in pixels; nil if nothing is visible.
    package func draw(_ script: TextScript, in area: PixelSize) -> OverlayImage? {
        guard !script.isEmpty else { return nil }
        return rendered(script, in: area) { images in InkComposition.composed(images, within: area) }
    }

    /// Returns the width of a line's visible pixels in the unit of `size`. Lines wider than any screen have the maximum
    /// measurable width. Results are cached.
    package func width(of text: String, size: Double) -> Double {
        if let width = widths[text] { return width * size }
        // Large enough for a precision of 1/100 of the line height.
        let (drawnSize, area) = (40.0, PixelSize(width: 16384, height: 120))
        var script = TextScript()
        script.write(text, at: TextScript.Point(0, 20), size: drawnSize)
        let width = rendered(script, in: area) { images in
            var right = 0
            for image in InkImages(first: images) { right = max(right, image.inked.x + image.inked.width) }
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
        // libass modifies the buffer during parsing and does not retain it.
        let track = document.withUnsafeMutableBufferPointer { bytes in
            ass_read_memory(engine.library, bytes.baseAddress, bytes.count - 1, nil)
        }
        guard let track else { return body(nil) }
        defer { ass_free_track(track) }
        ass_set_frame_size(engine.renderer, Int32(clamping: area.width), Int32(clamping: area.height))
        ass_set_storage_size(engine.renderer, Int32(clamping: area.width), Int32(clamping: area.height))
        return body(ass_render_frame(engine.renderer, track, 0, nil))
    }
}
