package import MediaCore
package import SyncRendering
internal import Text

/// Draws subtitles for a window: scripts with libass, bitmaps scaled to the video. Used by one thread at a time.
package final class SubtitlePainter: SubtitleDrawing {
    private let painter = ScriptPainter()
    private var sheet: SubtitleStyleSheet?
    /// The bitmaps last scaled, by cue and canvas.
    private var scaled: (number: UInt64, canvas: SubtitleCanvas, images: [OverlayImage])?
    private var trouble: String?
    /// Whether incomplete drawing was reported for `sheet`.
    private var isReported = false

    /// Creates a painter. Without memory for libass only bitmaps are drawn; `consumeProblem` has the reason.
    package init() { if painter == nil { trouble = "not enough memory to draw subtitles" } }

    /// Returns the reason why scripts cannot be drawn, once; nil if they can.
    package func consumeProblem() -> String? {
        trouble.take()
    }

    /// Returns the images of the active cues at a media time, in pixels of the canvas' area.
    package func draw(_ cues: [ActiveCue], at time: MediaTime, on canvas: SubtitleCanvas) -> [OverlayImage] {
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
            // At a gapless boundary, the last lines of the old track yield to the new one's.
            guard case .script(let bytes, let own) = cue.cue.content, own === sheet else { continue }
            // All cues are active now: rounding to whole milliseconds must not hide one.
            let start = cue.start.nanoseconds.flooredMilliseconds
            let end = cue.end.map { $0.nanoseconds.flooredMilliseconds + 1 } ?? start + 3_600_000
            events.append(ScriptPainter.Event(bytes: bytes, start: start, duration: max(1, end - start)))
            numbers.append(cue.number)
        }
        if sheet !== self.sheet {
            painter.use(header: sheet.header, fonts: sheet.fonts)
            (self.sheet, isReported) = (sheet, false)
        }
        // Unstyled text is scaled with the window and may cover borders, as in mpv (`sub-scale-with-window`,
        // `sub-use-margins`). Text positioned by an author belongs to the video.
        var frame = ScriptPainter.Frame(
            area: canvas.area, video: sheet.isAuthored ? canvas.video : canvas.textArea,
            storage: sheet.isAuthored ? canvas.storage : canvas.textArea.size)
        let style = canvas.style
        frame.isPlain = sheet.isAuthored && style.override == .force
        if !sheet.isAuthored || frame.isPlain { frame.raise = 100 - style.position }
        if !sheet.isAuthored || style.override != .no { frame.scale = style.scale }
        let images = painter.draw(events, numbers: numbers, at: time.nanoseconds.flooredMilliseconds, in: frame)
        if painter.isIncomplete, !isReported {
            (trouble, isReported) = ("some subtitles need too much memory and are shown incompletely", true)
        }
        return images
    }

    // MARK: Bitmaps

    private func placed(
        _ bitmaps: [OverlayImage], of plane: PixelSize, _ number: UInt64, on canvas: SubtitleCanvas
    ) -> [OverlayImage] {
        if let scaled, scaled.number == number, scaled.canvas == canvas { return scaled.images }
        let raise = Int(pixels: Double(canvas.area.height) * (100 - canvas.style.position) / 100)
        let images = BitmapPlacement(plane: plane, canvas: canvas).placed(bitmaps).map { image in
            guard raise != 0 else { return image }
            var rect = image.rect
            rect.y = max(0, rect.y - raise)
            return OverlayImage(rect: rect, pixels: image.pixels)
        }
        scaled = (number, canvas, images)
        return images
    }
}

extension Int64 {
    /// Nanoseconds as whole milliseconds, rounded down.
    fileprivate var flooredMilliseconds: Int64 { self >= 0 ? self / 1_000_000 : (self - 999_999) / 1_000_000 }
}
