internal import MediaCore
internal import Text

/// Draws a dashboard: labels in one column, texts in another, as large as the display allows.
struct DashboardDrawing {
    let painter: TextPainter

    /// Dimensions in units; a line of text is one unit high.
    private enum Measure {
        static let title = 1.4
        static let titleGap = 0.8
        static let row = 1.5
        static let margin = 1.0
        static let gap = 0.8
        /// The minimum width of a display in units, so that a film's name fits.
        static let width = 32.0
        static let height = 14.0
    }

    private enum Paint {
        static let title = TextScript.Colour(grey: 255)
        static let label = TextScript.Colour(grey: 150)
        static let text = TextScript.Colour(grey: 235)
        static let trouble = TextScript.Colour(red: 255, green: 176, blue: 64)
    }

    /// Returns the image; nil without text or space.
    func overlay(_ dashboard: DashboardContent, in area: PixelSize) -> OverlayImage? {
        let wanted = 2 * Measure.margin + Measure.title + Measure.titleGap + Double(dashboard.rows.count) * Measure.row
        let unit = min(Double(area.width) / Measure.width, Double(area.height) / max(wanted, Measure.height))
        guard unit >= 4 else { return nil }
        func width(_ text: String) -> Double { painter.width(of: text, size: unit) }
        func shortened(_ text: String, _ room: Double) -> String {
            LineBreaking(room: room, longest: 200, width: width).shortened(text)
        }
        var script = TextScript()
        let (left, right) = (Measure.margin * unit, Double(area.width) - Measure.margin * unit)
        var top = Measure.margin * unit
        script.write(
            shortened(dashboard.title, (right - left) / Measure.title), at: TextScript.Point(left, top),
            size: Measure.title * unit, colour: Paint.title)
        top += (Measure.title + Measure.titleGap) * unit
        let widest = dashboard.rows.map { width($0.label) }.max() ?? 0
        let column = left + min(widest + Measure.gap * unit, (right - left) / 2)
        for row in dashboard.rows {
            script.write(
                shortened(row.label, column - left - Measure.gap * unit / 2), at: TextScript.Point(left, top),
                size: unit, colour: Paint.label)
            script.write(
                shortened(row.text, right - column), at: TextScript.Point(column, top), size: unit,
                colour: row.isTrouble ? Paint.trouble : Paint.text)
            top += Measure.row * unit
        }
        return painter.draw(script, in: area)
    }
}
