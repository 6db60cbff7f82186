internal import MediaCore

/// Draws a panel as an overlay: light strokes on a dark ground that lets the film through.
struct PanelDrawing {
    /// Apart from the numbers of messages.
    private var drawings: UInt64 = 1 << 32

    private struct Paint {
        var light: UInt8
        var alpha: UInt8
        static let ground = Paint(light: 14, alpha: 214)
        static let current = Paint(light: 74, alpha: 226)
        static let track = Paint(light: 104, alpha: 235)
        static let level = Paint(light: 235, alpha: 245)
    }

    mutating func overlay(_ panel: ScreenPanel, in layout: PanelLayout) -> Overlay? {
        guard !layout.rect.isEmpty else { return nil }
        let size = layout.rect.size
        let scale = layout.scale
        var pixels = [UInt8](repeating: 0, count: size.width * size.height * 4)
        func fill(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ paint: Paint) {
            let left = max(0, Int((x * scale).rounded())), right = min(size.width, Int(((x + width) * scale).rounded()))
            let top = max(0, Int((y * scale).rounded())),
                bottom = min(size.height, Int(((y + height) * scale).rounded()))
            guard left < right, top < bottom else { return }
            for row in top..<bottom {
                for column in left..<right {
                    let at = (row * size.width + column) * 4
                    (pixels[at], pixels[at + 1], pixels[at + 2]) = (paint.light, paint.light, paint.light)
                    pixels[at + 3] = paint.alpha
                }
            }
        }
        let width = Double(size.width) / scale
        fill(0, 0, width, Double(size.height) / scale, .ground)
        var strokes: [PenStroke] = []
        var faint: [PenStroke] = []
        typealias Measure = PanelLayout.Measure
        write(panel.title, Measure.margin, Measure.margin + 8, width - 2 * Measure.margin, scale, &strokes)
        let end = layout.textRight
        for number in layout.first..<(layout.first + layout.count) {
            let row = panel.rows[number]
            let top = layout.top(of: number)
            let baseline = top + 9.4
            if number == panel.current { fill(2, top, width - 4, Measure.row, .current) }
            let left = Measure.margin
            box(left, baseline, row.mark, scale, &strokes, &faint)
            var x = left + Measure.mark
            let room = min(Measure.longestText, end - x)
            if row.isDim {
                x += write(row.text, x, baseline, room, scale, &faint)
            } else {
                x += write(row.text, x, baseline, room, scale, &strokes)
            }
            if !row.detail.isEmpty {
                write(row.detail, x + Measure.gap, baseline, end - x - Measure.gap, scale, &faint)
            }
            if let level = row.level {
                let middle = top + Measure.row / 2
                fill(layout.barLeft, middle - 1, Measure.bar, 2, .track)
                let share = min(1, max(0, level))
                fill(layout.barLeft, middle - 1.6, Measure.bar * share, 3.2, .level)
                let number = "\(Int((share * 100).rounded()))%"
                let numberWidth = PenStroke.width(of: number.unicodeScalars)
                let right = layout.barLeft - Measure.gap
                write(number, right - numberWidth, baseline, numberWidth + 1, scale, &faint)
            }
        }
        for (number, line) in layout.hint.enumerated() {
            let baseline = layout.hintTop + 8 + Double(number) * Measure.hintLine
            write(line, Measure.margin, baseline, width - 2 * Measure.margin + 1, scale, &faint)
        }
        blend(PenStroke.inked(faint, in: size, pen: 0.42 * scale, rim: 0.3 * scale), share: 0.6, over: &pixels)
        blend(PenStroke.inked(strokes, in: size, pen: PenStroke.pen * scale, rim: 0.3 * scale), share: 1, over: &pixels)
        drawings += 1
        return Overlay(rect: layout.rect, pixels: pixels, number: drawings)
    }

    /// Writes as much as there is room for; how far it reaches, in units.
    @discardableResult
    private func write(
        _ text: String, _ x: Double, _ baseline: Double, _ room: Double, _ scale: Double,
        _ strokes: inout [PenStroke]
    ) -> Double {
        var scalars = Array(text.unicodeScalars.prefix(200))
        if PenStroke.width(of: scalars) > room {
            while !scalars.isEmpty, PenStroke.width(of: scalars + ["…"]) > room { scalars.removeLast() }
            guard !scalars.isEmpty else { return 0 }
            scalars.append("…")
        }
        return PenStroke.write(scalars, x: x, baseline: baseline, scale: scale, into: &strokes)
    }

    private func box(
        _ x: Double, _ baseline: Double, _ mark: ScreenPanel.Row.Mark, _ scale: Double,
        _ strokes: inout [PenStroke], _ faint: inout [PenStroke]
    ) {
        func line(_ points: [(Double, Double)], _ target: inout [PenStroke]) {
            for (from, to) in zip(points, points.dropFirst()) {
                target.append(
                    PenStroke(
                        x0: (x + from.0) * scale, y0: (baseline - from.1) * scale, x1: (x + to.0) * scale,
                        y1: (baseline - to.1) * scale))
            }
        }
        line([(0, 0), (0, 6.4), (6.4, 6.4), (6.4, 0), (0, 0)], &faint)
        switch mark {
        case .empty: break
        case .ticked: line([(1.2, 3.4), (2.8, 1.4), (7.4, 7.6)], &strokes)
        case .pending: for dot in [1.6, 3.2, 4.8] { line([(dot, 3.2), (dot, 3.2)], &strokes) }
        }
    }

    /// Lays ink over the ground, both with straight alpha.
    private func blend(_ ink: [UInt8], share: Double, over pixels: inout [UInt8]) {
        for at in stride(from: 0, to: pixels.count, by: 4) where ink[at + 3] > 0 {
            let above = Double(ink[at + 3]) / 255 * share
            let below = Double(pixels[at + 3]) / 255 * (1 - above)
            let alpha = above + below
            guard alpha > 0 else { continue }
            for channel in 0..<3 {
                let light = (Double(ink[at + channel]) * above + Double(pixels[at + channel]) * below) / alpha
                pixels[at + channel] = UInt8(light.rounded())
            }
            pixels[at + 3] = UInt8((alpha * 255).rounded())
        }
    }
}
