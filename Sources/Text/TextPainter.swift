internal import CASS
public import MediaCore

/// Draws words and shapes by libass, in every script that the system has fonts for.
///
/// Belongs to one thread at a time. The first one of a process reads the list of fonts, which takes some hundredths of a second,
/// and much longer where fontconfig has no cache: keep it away from threads that show pictures.
public final class TextPainter {
    private let engine: AssEngine
    private var widths: [String: Double] = [:]

    private enum Limit {
        /// Glyphs, and megabytes of drawings, that libass keeps.
        static let glyphs: Int32 = 1000
        static let megabytes: Int32 = 8
        /// Widths that are remembered.
        static let widths = 500
    }

    /// Nil when there is no memory.
    public init?() {
        guard let engine = AssEngine(glyphs: Limit.glyphs, megabytes: Limit.megabytes) else { return nil }
        self.engine = engine
    }

    /// False where the system has no font at all: words are then left out.
    public private(set) lazy var hasFonts: Bool = width(of: "M", size: 20) > 0

    /// Draws a script for a picture of this size; nil where nothing of it is to be seen.
    public func draw(_ script: TextScript, in area: PixelSize) -> OverlayImage? {
        guard !script.isEmpty else { return nil }
        return rendered(script, in: area) { images in InkComposition.composed(images, within: area) }
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
        // It writes into the memory while it reads, and keeps nothing of it.
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
