public import MediaCore
public import SyncRendering
internal import Text

/// Draws subtitles for a window: scripts by libass, bitmaps scaled to the picture.
public final class SubtitlePainter: SubtitleDrawing {
    private let painter = ScriptPainter()
    private var sheet: SubtitleStyleSheet?
    /// Bitmaps as they were scaled last, by cue and canvas.
    private var scaled: (number: UInt64, canvas: SubtitleCanvas, images: [OverlayImage])?
    private var trouble: String?

    public init() { if painter == nil { trouble = "there is no memory to draw subtitles with" } }

    public func takeTrouble() -> String? {
        defer { trouble = nil }
        return trouble
    }

    public func draw(_ cues: [ActiveCue], at time: MediaTime, on canvas: SubtitleCanvas) -> [OverlayImage] {
        var images: [OverlayImage] = []
        for cue in cues {
            if case .images(let bitmaps, let plane) = cue.cue.content {
                images += placed(bitmaps, of: plane, cue.number, on: canvas)
            }
        }
        return images + scripts(cues, at: time, on: canvas)
    }

    // MARK: Scripts

    private func scripts(_ cues: [ActiveCue], at time: MediaTime, on canvas: SubtitleCanvas) -> [OverlayImage] {
        var events: [ScriptPainter.Event] = []
        var numbers: [UInt64] = []
        var newest: SubtitleStyleSheet?
        for cue in cues { if case .script(_, let sheet) = cue.cue.content { newest = sheet } }
        guard let painter, let sheet = newest else { return [] }
        for cue in cues {
            // Where a list changes films, the old track's last lines make room for the new one's.
            guard case .script(let bytes, let own) = cue.cue.content, own === sheet else { continue }
            // All are seen now: whole milliseconds must not hide one.
            let start = cue.start.nanoseconds.flooredMilliseconds
            let end = cue.end.map { $0.nanoseconds.flooredMilliseconds + 1 } ?? start + 3_600_000
            events.append(ScriptPainter.Event(bytes: bytes, start: start, duration: max(1, end - start)))
            numbers.append(cue.number)
        }
        if sheet !== self.sheet {
            painter.use(header: sheet.header, fonts: sheet.fonts)
            self.sheet = sheet
        }
        // Plain words are as large as the window allows and stand on bars too, as in mpv (`sub-scale-with-window`,
        // `sub-use-margins`); what an author has placed belongs to the picture.
        let frame = ScriptPainter.Frame(
            area: canvas.area, picture: sheet.isAuthored ? canvas.picture : canvas.words,
            storage: sheet.isAuthored ? canvas.storage : canvas.words.size)
        return painter.draw(events, numbers: numbers, at: time.nanoseconds.flooredMilliseconds, in: frame)
    }

    // MARK: Bitmaps

    private func placed(
        _ bitmaps: [OverlayImage], of plane: PixelSize, _ number: UInt64, on canvas: SubtitleCanvas
    ) -> [OverlayImage] {
        if let scaled, scaled.number == number, scaled.canvas == canvas { return scaled.images }
        let images = BitmapPlacement(plane: plane, canvas: canvas).placed(bitmaps)
        scaled = (number, canvas, images)
        return images
    }
}

extension Int64 {
    /// Nanoseconds as whole milliseconds, towards the past.
    fileprivate var flooredMilliseconds: Int64 { self >= 0 ? self / 1_000_000 : (self - 999_999) / 1_000_000 }
}
