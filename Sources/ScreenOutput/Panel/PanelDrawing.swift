internal import MediaCore
internal import Text

/// Draws a panel as an overlay: light text on a dark translucent background.
struct PanelDrawing {
    let painter: TextPainter

    private enum Paint {
        static let ground = TextScript.Colour(grey: 14, opacity: 217)
        static let current = TextScript.Colour(grey: 74, opacity: 226)
        static let track = TextScript.Colour(grey: 104, opacity: 235)
        static let level = TextScript.Colour(grey: 235, opacity: 245)
        static let text = TextScript.Colour(grey: 255)
        static let faint = TextScript.Colour(grey: 255, opacity: 153)
        static let dark = TextScript.Colour(grey: 0)
    }

    private typealias Measure = PanelLayout.Measure
    private typealias Point = TextScript.Point

    func width(_ text: String) -> Double { painter.width(of: text, size: Measure.textSize) }

    /// Returns the image; nil if there is no space.
    func overlay(_ panel: ScreenPanel, in layout: PanelLayout, of area: PixelSize) -> OverlayImage? {
        guard !layout.rect.isEmpty else { return nil }
        var sheet = Sheet(layout)
        let width = Double(layout.rect.width) / layout.scale
        sheet.fill(x: 0, y: 0, width: width, height: Double(layout.rect.height) / layout.scale, colour: Paint.ground)
        write(
            panel.title, x: Measure.margin, top: Measure.margin, maxWidth: width - 2 * Measure.margin,
            colour: Paint.text, on: &sheet)
        for number in layout.first..<(layout.first + layout.count) {
            draw(
                panel.rows[number], number, panel.marks, isCurrent: number == panel.current && panel.marks != .none,
                in: layout, on: &sheet)
        }
        if let left = layout.codeLeft { draw(panel.code, at: left, in: layout, on: &sheet) }
        if let seen = layout.scroll {
            let (top, end) = (layout.top(of: layout.first), layout.top(of: layout.first + layout.count))
            let left = width - Measure.scroll - 1
            sheet.fill(x: left, y: top, width: Measure.scroll, height: end - top, colour: Paint.track)
            let length = (seen.upperBound - seen.lowerBound) * (end - top)
            sheet.fill(
                x: left, y: top + seen.lowerBound * (end - top), width: Measure.scroll, height: length,
                colour: Paint.level)
        }
        for (number, stroke) in layout.hint.enumerated() {
            let top = layout.hintTop + Double(number) * Measure.hintSize
            sheet.write(stroke, x: Measure.margin, top: top, colour: Paint.faint)
        }
        return painter.draw(sheet.script, in: area)
    }

    private func draw(
        _ row: ScreenPanel.Row, _ number: Int, _ marks: ScreenPanel.Marks, isCurrent: Bool, in layout: PanelLayout,
        on sheet: inout Sheet
    ) {
        let top = layout.top(of: number)
        let shortened = top + (Measure.row - Measure.textSize) / 2
        let width = Double(layout.rect.width) / layout.scale
        if isCurrent { sheet.fill(x: 2, y: top, width: width - 6, height: Measure.row, colour: Paint.current) }
        switch marks {
        case .boxes: box(Measure.margin, top + 9.7, row.mark, on: &sheet)
        case .dots: dot(Measure.margin + 3.2, top + 6.5, row.mark, on: &sheet)
        case .none: break
        }
        if let symbol = row.symbol {
            sheet.draw(
                BarSign(symbol), x: Measure.margin + layout.mark, y: top + 2.2, side: 8.4,
                colour: row.isDim ? Paint.faint : Paint.text)
        }
        let (left, end) = (layout.textLeft, layout.textRight)
        // The detail leaves at least half of the space to the name.
        let beside = row.detail.isEmpty ? 0 : Measure.gap + self.width(row.detail)
        let room =
            layout.column.map { row.detail.isEmpty ? end - left : $0 - Measure.gap }
            ?? max(end - left - beside, (end - left) / 2)
        let reach = write(
            row.text, x: left, top: shortened, maxWidth: room, colour: row.isDim ? Paint.faint : Paint.text, on: &sheet)
        if !row.detail.isEmpty {
            let start = left + (layout.column ?? reach + Measure.gap)
            write(row.detail, x: start, top: shortened, maxWidth: end - start, colour: Paint.faint, on: &sheet)
        }
        if let button = row.button {
            sheet.fill(
                x: layout.buttonLeft, y: top + 1, width: layout.button, height: Measure.row - 2, colour: Paint.track)
            write(
                button, x: layout.buttonLeft + Measure.gap / 2, top: shortened,
                maxWidth: layout.button - Measure.gap + 1,
                colour: Paint.text, on: &sheet)
        }
        guard let level = row.level else { return }
        let middle = top + Measure.row / 2
        let share = min(1, max(0, level))
        sheet.fill(x: layout.barLeft, y: middle - 1, width: Measure.bar, height: 2, colour: Paint.track)
        sheet.fill(x: layout.barLeft, y: middle - 1.6, width: Measure.bar * share, height: 3.2, colour: Paint.level)
        sheet.write(
            "\(Int((min(9.99, max(0, level)) * 100).rounded()))%", x: layout.barLeft - Measure.gap, top: shortened,
            colour: Paint.faint,
            anchor: .topRight)
    }

    /// Draws a QR code, dark on light, with a margin of four modules (ISO/IEC 18004, 6.3.8).
    private func draw(_ code: [[Bool]], at left: Double, in layout: PanelLayout, on sheet: inout Sheet) {
        let count = Double(code.count + 8)
        // Whole pixels: all modules have the same size.
        let module = (Measure.code * layout.scale / count).rounded(.down) / layout.scale
        let left = (left * layout.scale).rounded() / layout.scale
        let top = (layout.top(of: layout.first) * layout.scale).rounded() / layout.scale
        sheet.fill(x: left, y: top, width: module * count, height: module * count, colour: Paint.text)
        for (number, row) in code.enumerated() {
            var column = 0
            while column < row.count {
                let length = row[column...].prefix { $0 }.count
                sheet.fill(
                    x: left + Double(column + 4) * module, y: top + Double(number + 4) * module,
                    width: Double(length) * module, height: module, colour: Paint.dark)
                column += length + 1
            }
        }
    }

    /// Writes a text, shortened to fit `room`. Returns its width, in units.
    @discardableResult
    private func write(
        _ text: String, x: Double, top: Double, maxWidth room: Double, colour: TextScript.Colour, on sheet: inout Sheet
    ) -> Double {
        let shortened = LineBreaking(room: room, longest: 200, width: width).shortened(text)
        sheet.write(shortened, x: x, top: top, colour: colour)
        return shortened.isEmpty ? 0 : width(shortened)
    }

    private func box(_ x: Double, _ bottom: Double, _ mark: ScreenPanel.Row.Mark, on sheet: inout Sheet) {
        func stroke(_ points: [(Double, Double)], _ width: Double, _ colour: TextScript.Colour) {
            sheet.stroke(points.map { Point(x + $0.0, bottom - $0.1) }, width, colour)
        }
        stroke([(0, 0), (0, 6.4), (6.4, 6.4), (6.4, 0), (0, 0)], 0.84, Paint.faint)
        switch mark {
        case .empty: break
        case .ticked: stroke([(1.2, 3.4), (2.8, 1.4), (7.4, 7.6)], 1.2, Paint.text)
        case .pending: for dot in [1.6, 3.2, 4.8] { stroke([(dot - 0.4, 3.2), (dot + 0.4, 3.2)], 1, Paint.text) }
        }
    }

    private func dot(_ x: Double, _ y: Double, _ mark: ScreenPanel.Row.Mark, on sheet: inout Sheet) {
        sheet.ring(x, y, radius: 3.2, width: 0.84, colour: Paint.faint)
        switch mark {
        case .empty: break
        case .ticked: sheet.disc(x, y, radius: 1.8, colour: Paint.text)
        case .pending: sheet.disc(x, y, radius: 0.8, colour: Paint.text)
        }
    }

    /// A script in units, with its origin at the panel's corner.
    private struct Sheet {
        var script = TextScript()
        private let scale: Double
        private let corner: Point

        init(_ layout: PanelLayout) {
            scale = layout.scale
            corner = Point(Double(layout.rect.x), Double(layout.rect.y))
        }

        private func point(_ x: Double, _ y: Double) -> Point { Point(corner.x + x * scale, corner.y + y * scale) }

        mutating func write(
            _ text: String, x: Double, top: Double, colour: TextScript.Colour,
            anchor: TextScript.Anchor = .topLeft
        ) {
            script.write(
                text, at: point(x, top), anchor: anchor, size: Measure.textSize * scale, colour: colour,
                rim: 0.3 * scale,
                rimColour: TextScript.Colour(grey: 0, opacity: colour.opacity / 2))
        }

        /// Fills a rectangle, aligned to whole pixels for sharp edges.
        mutating func fill(x: Double, y: Double, width: Double, height: Double, colour: TextScript.Colour) {
            let (from, to) = (point(x, y), point(x + width, y + height))
            script.fill(
                x: from.x.rounded(), y: from.y.rounded(), width: to.x.rounded() - from.x.rounded(),
                height: to.y.rounded() - from.y.rounded(), colour: colour)
        }

        mutating func draw(_ sign: BarSign, x: Double, y: Double, side: Double, colour: TextScript.Colour) {
            for shape in sign.shapes {
                script.fill(shape.map { point(x + $0.x * side, y + $0.y * side) }, colour: colour)
            }
        }

        mutating func disc(_ x: Double, _ y: Double, radius: Double, colour: TextScript.Colour) {
            script.fillCircle(at: point(x, y), radius: radius * scale, colour: colour)
        }

        mutating func ring(_ x: Double, _ y: Double, radius: Double, width: Double, colour: TextScript.Colour) {
            script.strokeCircle(at: point(x, y), radius: radius * scale, width: width * scale, colour: colour)
        }

        mutating func stroke(_ points: [Point], _ width: Double, _ colour: TextScript.Colour) {
            script.stroke(points.map { point($0.x, $0.y) }, width: width * scale, colour: colour)
        }
    }
}
