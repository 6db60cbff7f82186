internal import CASS
package import MediaCore

/// Renders events of Advanced SubStation Alpha with the styles and fonts of their track, using libass.
///
/// Not thread-safe: one thread at a time. Creation scans the system fonts, as in `TextPainter`.
package final class ScriptPainter {
    /// An event in Matroska's format.
    package struct Event {
        /// The event without times.
        var bytes: [UInt8]
        /// Start in milliseconds.
        var start: Int64
        /// Duration in milliseconds.
        var duration: Int64

        /// Creates an event.
        package init(bytes: [UInt8], start: Int64, duration: Int64) {
            (self.bytes, self.start, self.duration) = (bytes, start, duration)
        }
    }

    /// The geometry of the layout in pixels.
    package struct Frame: Hashable {
        /// The drawable area.
        package var area: PixelSize
        /// The video rectangle in it, which events are laid out for.
        var video: PixelRect
        /// Video size before scaling, to which borders and blur are relative.
        var storage: PixelSize
        /// How far lines at the bottom are raised, in percent of the height.
        package var raise = 0.0
        /// The factor of the text size.
        package var scale = 1.0
        /// Whether dialogue is drawn in the style of plain text.
        package var isPlain = false

        /// Creates a geometry.
        package init(area: PixelSize, video: PixelRect, storage: PixelSize) {
            (self.area, self.video, self.storage) = (area, video, storage)
        }
    }

    /// Internal for tests.
    let engine: AssEngine
    private var track: UnsafeMutablePointer<ASS_Track>?
    private var hasOwnFonts = false
    private var frame: Frame?
    /// The `numbers` of the events in `track`.
    private var loaded: [UInt64] = []
    /// The `numbers` of events that alone need more than the maximum memory.
    private var exhausting: [UInt64]?

    /// Resource limits for untrusted scripts.
    private enum Limit {
        /// Glyph and bitmap cache; the latter in megabytes.
        static let glyphs: Int32 = 2000
        static let megabytes: Int32 = 32
        /// Maximum width and height of the area in pixels; larger areas are not rendered.
        static let side = 8192
        /// Maximum size of an event in bytes; larger ones are dropped.
        static let event = 1 << 16
        /// Maximum size of simultaneous events in bytes; the rest is dropped. libass lays out about 1 MB in a second.
        static let events = 2 << 20
        /// Maximum memory of libass in bytes; glyphs beyond are not drawn. Counts the previous frame and the caches.
        static let memory = 384 << 20
    }

    /// Creates a renderer; nil if out of memory. Scans the system fonts.
    package convenience init?() { self.init(memory: Limit.memory) }

    /// Creates a renderer with a maximum memory in bytes, for tests.
    init?(memory: Int) {
        guard let engine = AssEngine(glyphs: Limit.glyphs, megabytes: Limit.megabytes, memory: memory) else {
            return nil
        }
        self.engine = engine
    }

    /// True if the events drawn last need too much memory and are incomplete.
    package var isIncomplete: Bool { exhausting != nil }

    deinit { if let track { ass_free_track(track) } }

    /// Replaces the styles and fonts by those of another track.
    ///
    /// - Parameter header: the part of an ASS document before its events.
    package func use(header: [UInt8], fonts: [EmbeddedFont]) {
        if let track { ass_free_track(track) }
        loaded = []
        if hasOwnFonts || !fonts.isEmpty {
            ass_clear_fonts(engine.library)
            for font in fonts {
                font.bytes.withUnsafeBytes { bytes in
                    // libass copies the bytes.
                    ass_add_font(
                        engine.library, font.name, bytes.bindMemory(to: CChar.self).baseAddress,
                        Int32(clamping: bytes.count))
                }
            }
            renewRenderer()
            hasOwnFonts = !fonts.isEmpty
        }
        track = ass_new_track(engine.library)
        guard let track else { return }
        // ReadOrder restarts with each decoder and does not identify events.
        ass_set_check_readorder(track, 0)
        var bytes = header.map { CChar(bitPattern: $0) }
        ass_process_codec_private(track, &bytes, Int32(clamping: bytes.count))
    }

    /// Returns the rendered events in pixels of the frame's area; empty if nothing is visible.
    ///
    /// - Parameters:
    ///   - events: the events that are active at `moment`.
    ///   - numbers: identifies the events, so that unchanged ones are not parsed again.
    ///   - moment: milliseconds, like the events' times.
    package func draw(_ events: [Event], numbers: [UInt64], at moment: Int64, in frame: Frame) -> [OverlayImage] {
        guard let track, (1...Limit.side).contains(frame.area.width), (1...Limit.side).contains(frame.area.height)
        else { return [] }
        if numbers != loaded {
            ass_flush_events(track)
            var size = 0
            for event in events where event.bytes.count <= Limit.event {
                size += event.bytes.count
                if size > Limit.events { break }
                // libass modifies the buffer during the call and does not retain it.
                var bytes = event.bytes.map { CChar(bitPattern: $0) }
                ass_process_chunk(track, &bytes, Int32(clamping: bytes.count), event.start, event.duration)
            }
            loaded = numbers
        }
        if exhausting != numbers, isIncomplete { renewRenderer() }
        var images = render(track, at: moment, in: frame)
        if engine.isExhausted, !isIncomplete {
            // Second attempt, without caches and the previous frame.
            renewRenderer()
            images = render(track, at: moment, in: frame)
            if engine.isExhausted { exhausting = numbers }
        }
        return InkComposition.pieces(images, within: frame.area)
    }

    private func render(
        _ track: UnsafeMutablePointer<ASS_Track>, at moment: Int64, in frame: Frame
    ) -> UnsafeMutablePointer<ASS_Image>? {
        engine.limited {
            apply(frame)
            return ass_render_frame(engine.renderer, track, moment, nil)
        }
    }

    private func renewRenderer() {
        engine.renewRenderer()
        (frame, exhausting) = (nil, nil)
    }

    private func apply(_ frame: Frame) {
        guard frame != self.frame else { return }
        self.frame = frame
        let (area, picture) = (frame.area, frame.video)
        ass_set_frame_size(engine.renderer, Int32(clamping: area.width), Int32(clamping: area.height))
        ass_set_storage_size(
            engine.renderer, Int32(clamping: frame.storage.width), Int32(clamping: frame.storage.height))
        ass_set_margins(
            engine.renderer, Int32(clamping: picture.y), Int32(clamping: area.height - picture.y - picture.height),
            Int32(clamping: picture.x), Int32(clamping: area.width - picture.x - picture.width))
        ass_set_line_position(engine.renderer, frame.raise)
        ass_set_font_scale(engine.renderer, frame.scale)
        if frame.isPlain { setPlainStyle() }
        let bits = ASS_OVERRIDE_BIT_STYLE.rawValue | ASS_OVERRIDE_BIT_SELECTIVE_FONT_SCALE.rawValue
        ass_set_selective_style_override_enabled(engine.renderer, frame.isPlain ? Int32(bits) : 0)
    }

    /// Sets the style of plain text, which libavcodec gives to subtitles without styles, for a height of 288 lines.
    private func setPlainStyle() {
        "Arial".withCString { name in
            var style = ASS_Style()
            style.FontName = UnsafeMutablePointer(mutating: name)
            (style.FontSize, style.ScaleX, style.ScaleY) = (16, 1, 1)
            // Red, green, blue, transparency.
            (style.PrimaryColour, style.SecondaryColour) = (0xFFFF_FF00, 0xFFFF_FF00)
            (style.BorderStyle, style.Outline, style.Alignment) = (1, 1, 2)
            (style.MarginL, style.MarginR, style.MarginV) = (10, 10, 10)
            // libass copies it.
            ass_set_selective_style_override(engine.renderer, &style)
        }
    }
}
