internal import MediaCore

/// Draws words as an overlay: white with a dark rim, in the upper left corner, sized by the window.
struct MessageDrawing {
    private var drawings: UInt64 = 0

    /// Units of the glyphs from line to line, and the rim around the pen.
    private enum Measure {
        static let line = 11.0
        static let rim = 0.6
        static let ascent = 9.0
        static let descent = 2.6
    }

    /// Nil when there is nothing to see: no words, or no room.
    mutating func overlay(
        _ text: String, in area: PixelSize, at place: ScreenMessage.Place = .top
    ) -> Overlay? {
        let scale = max(1.6, Double(area.height) / 240)
        let margin = Int((Double(area.height) / 36).rounded())
        let border = PenStroke.pen + Measure.rim + 1
        let room = Double(area.width - 2 * margin) / scale - 2 * border
        let lines = LineBreaking.lines(text, within: room).prefix(16)
        var segments: [PenStroke] = []
        var widest = 0.0
        for (number, line) in lines.enumerated() {
            var x = border
            let baseline = border + Measure.ascent + Double(number) * Measure.line
            x += PenStroke.write(line.unicodeScalars, x: x, baseline: baseline, scale: scale, into: &segments)
            widest = max(widest, x - PenStroke.gap + border)
        }
        let height = Measure.ascent + Double(lines.count - 1) * Measure.line + Measure.descent + 2 * border
        var rect = PixelRect(
            x: margin, y: margin, width: min(area.width - 2 * margin, Int((widest * scale).rounded(.up))),
            height: min(area.height - 2 * margin, Int((height * scale).rounded(.up))))
        guard !segments.isEmpty, !rect.isEmpty else { return nil }
        if place == .corner {
            rect.x = area.width - margin - rect.width
            rect.y = area.height - margin - rect.height
        }
        drawings += 1
        let pixels = PenStroke.inked(segments, in: rect.size, pen: PenStroke.pen * scale, rim: Measure.rim * scale)
        return Overlay(rect: rect, pixels: pixels, number: drawings)
    }
}
