internal import CASS
public import MediaCore

/// Draws events of Advanced SubStation Alpha with the styles and fonts of their track, by libass.
///
/// Belongs to one thread at a time. Making one reads the list of the system's fonts, as `TextPainter` does.
public final class ScriptPainter {
    /// An event as Matroska stores it, and when it is seen, in milliseconds.
    public struct Event {
        public var bytes: [UInt8]
        public var start: Int64
        public var duration: Int64

        public init(bytes: [UInt8], start: Int64, duration: Int64) {
            (self.bytes, self.start, self.duration) = (bytes, start, duration)
        }
    }

    /// Where the events are laid out, in pixels.
    public struct Frame: Hashable {
        /// What may be drawn on.
        public var area: PixelSize
        /// The picture in it, which authors lay their events out for.
        public var picture: PixelRect
        /// The picture's size before it was scaled: edges and blur are as wide as they were in it.
        public var storage: PixelSize

        public init(area: PixelSize, picture: PixelRect, storage: PixelSize) {
            (self.area, self.picture, self.storage) = (area, picture, storage)
        }
    }

    private let engine: AssEngine
    private var track: UnsafeMutablePointer<ASS_Track>?
    private var hasOwnFonts = false
    private var frame: Frame?
    /// Names the events that the track holds now.
    private var loaded: [UInt64] = []

    private enum Limit {
        /// Glyphs, and megabytes of drawings, that libass keeps.
        static let glyphs: Int32 = 2000
        static let megabytes: Int32 = 32
        /// Pixels on a side beyond which nothing is drawn.
        static let side = 8192
        /// Bytes of one event.
        static let event = 1 << 16
    }

    /// Nil when there is no memory.
    public init?() {
        guard let engine = AssEngine(glyphs: Limit.glyphs, megabytes: Limit.megabytes) else { return nil }
        self.engine = engine
    }

    deinit { if let track { ass_free_track(track) } }

    /// Takes the styles and fonts of a track in place of those before.
    ///
    /// - Parameter header: all of an ASS document before its events.
    public func use(header: [UInt8], fonts: [EmbeddedFont]) {
        if let track { ass_free_track(track) }
        loaded = []
        if hasOwnFonts || !fonts.isEmpty {
            ass_clear_fonts(engine.library)
            for font in fonts {
                font.bytes.withUnsafeBytes { bytes in
                    // It copies them.
                    ass_add_font(
                        engine.library, font.name, bytes.bindMemory(to: CChar.self).baseAddress,
                        Int32(clamping: bytes.count))
                }
            }
            engine.findFonts()
            hasOwnFonts = !fonts.isEmpty
        }
        track = ass_new_track(engine.library)
        guard let track else { return }
        // Numbers of events begin anew with each decoder, and do not tell them apart.
        ass_set_check_readorder(track, 0)
        var bytes = header.map { CChar(bitPattern: $0) }
        ass_process_codec_private(track, &bytes, Int32(clamping: bytes.count))
    }

    /// What is seen of events at a moment, in pixels of the frame's area.
    ///
    /// - Parameters:
    ///   - events: all of which are seen then; `numbers` names them, so that the same ones are read once.
    ///   - moment: in milliseconds, as the events' times are.
    public func draw(_ events: [Event], numbers: [UInt64], at moment: Int64, in frame: Frame) -> [OverlayImage] {
        guard let track, (1...Limit.side).contains(frame.area.width), (1...Limit.side).contains(frame.area.height)
        else { return [] }
        if numbers != loaded {
            ass_flush_events(track)
            for event in events where event.bytes.count <= Limit.event {
                // Written into while it is read, and kept nowhere.
                var bytes = event.bytes.map { CChar(bitPattern: $0) }
                ass_process_chunk(track, &bytes, Int32(clamping: bytes.count), event.start, event.duration)
            }
            loaded = numbers
        }
        apply(frame)
        return InkComposition.pieces(ass_render_frame(engine.renderer, track, moment, nil), within: frame.area)
    }

    private func apply(_ frame: Frame) {
        guard frame != self.frame else { return }
        self.frame = frame
        let (area, picture) = (frame.area, frame.picture)
        ass_set_frame_size(engine.renderer, Int32(clamping: area.width), Int32(clamping: area.height))
        ass_set_storage_size(
            engine.renderer, Int32(clamping: frame.storage.width), Int32(clamping: frame.storage.height))
        ass_set_margins(
            engine.renderer, Int32(clamping: picture.y), Int32(clamping: area.height - picture.y - picture.height),
            Int32(clamping: picture.x), Int32(clamping: area.width - picture.x - picture.width))
    }
}
