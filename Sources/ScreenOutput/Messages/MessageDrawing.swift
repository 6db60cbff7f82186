internal import MediaCore
internal import Text

/// Draws text as an overlay: white or blue with a dark outline, scaled with the window.
struct MessageDrawing {
    let painter: TextPainter

    /// Dimensions in units, of which the x-height is five: line spacing and outline.
    private enum Measure {
        static let textSize = 11.0
        static let rim = 0.6
        static let maxLines = 16
    }

    /// Returns the image; nil without text or space.
    func overlay(
        _ text: String, in area: PixelSize, at position: ScreenMessage.Position = .top, isAccented: Bool = false
    ) -> OverlayImage? {
        let scale = max(1.6, Double(area.height) / 240)
        let margin = (Double(area.height) / 36).rounded()
        let room = Double(area.width) - 2 * margin - 2 * Measure.rim * scale
        let breaking = LineBreaking(room: room / scale) { painter.width(of: $0, size: Measure.textSize) }
        let lines = breaking.lines(text, atMost: Measure.maxLines)
        var script = TextScript()
        let (at, anchor): (TextScript.Point, TextScript.Anchor) =
            switch position {
            case .top: (TextScript.Point(margin, margin), .topLeft)
            case .corner: (TextScript.Point(Double(area.width) - margin, Double(area.height) - margin), .bottomRight)
            case .middle: (TextScript.Point(Double(area.width) / 2, Double(area.height) / 2), .middle)
            }
        script.write(
            lines.joined(separator: "\n"), at: at, anchor: anchor,
            size: Measure.textSize * scale, colour: isAccented ? .elsewhere : TextScript.Colour(grey: 255),
            rim: Measure.rim * scale,
            rimColour: TextScript.Colour(grey: 0, opacity: 204))
        return painter.draw(script, in: area)
    }
}
