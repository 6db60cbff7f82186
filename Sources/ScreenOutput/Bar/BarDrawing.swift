internal import MediaCore
internal import Text

/// Draws a bar as an overlay: light icons and text on a dark translucent background.
struct BarDrawing {
    let painter: TextPainter

    private enum Paint {
        static let ground = TextScript.Colour(grey: 14, opacity: 217)
        static let box = TextScript.Colour(grey: 14, opacity: 235)
        static let track = TextScript.Colour(grey: 84, opacity: 235)
        static let loaded = TextScript.Colour(grey: 128, opacity: 235)
        static let handed = TextScript.Colour(grey: 176, opacity: 235)
        static let level = TextScript.Colour(grey: 245, opacity: 250)
        static let chapter = TextScript.Colour(grey: 14)
        static let text = TextScript.Colour(grey: 255)
    }

    private typealias Point = TextScript.Point
    private typealias Measure = BarLayout.Measure

    func width(_ text: String) -> Double { painter.width(of: text, size: Measure.textSize) }

    func overlay(_ bar: ScreenBar, in layout: BarLayout, of area: PixelSize) -> OverlayImage? {
        var sheet = Sheet(scale: layout.scale)
        sheet.fill(layout.rect, Paint.ground)
        if let seekBar = layout.seekBar, let position = bar.position { draw(seekBar, position, bar, on: &sheet) }
        if let time = layout.time { sheet.write(bar.time, in: time) }
        for element in layout.elements {
            let output = element.control == .button(.rooms) ? bar.output : nil
            let colour = output?.isElsewhere == true ? TextScript.Colour.elsewhere : Paint.text
            if !element.label.isEmpty { sheet.write(element.label, in: element.text, colour) }
            if element.label.isEmpty || element.lead > 0 {
                let sign = output.map { BarSign($0.symbol) } ?? BarSign(element.control, of: bar)
                sheet.draw(sign, in: element.icon, colour)
            }
        }
        if let volumeLayout = layout.volume, let volume = bar.volume {
            let middle = volumeLayout.slider.y + volumeLayout.slider.height / 2
            sheet.fill(share: 0...1, of: volumeLayout.slider, at: middle, half: 1.2, Paint.track)
            if let percent = volume.isMuted ? 0 : volume.percent {
                let share = min(1, Double(percent) / 100)
                sheet.fill(share: 0...share, of: volumeLayout.slider, at: middle, half: 1.2, Paint.level)
                sheet.knob(share, of: volumeLayout.slider, at: middle, 2.8, Paint.text)
            }
            sheet.write(volume.isMuted ? "–" : volume.percent.map { "\($0)%" } ?? "?", in: volumeLayout.number)
        }
        if let aim = bar.aim, let seekBar = layout.seekBar {
            write(aim.text, at: aim.position, of: seekBar, layout, of: area, on: &sheet)
        } else if let seekBar = layout.seekBar, !bar.title.isEmpty {
            write(bar.title, at: 0, of: seekBar, layout, of: area, on: &sheet)
        }
        return painter.draw(sheet.script, in: area)
    }

    private func draw(_ seekBar: PixelRect, _ position: Double, _ bar: ScreenBar, on sheet: inout Sheet) {
        let middle = seekBar.y + seekBar.height / 2
        func fill(_ from: Double, _ to: Double, _ colour: TextScript.Colour) {
            sheet.fill(share: from...max(from, min(1, to)), of: seekBar, at: middle, half: 1.2, colour)
        }
        let now = min(1, max(0, position))
        fill(0, 1, Paint.track)
        if let loaded = bar.loaded { fill(now, loaded, Paint.loaded) }
        if let handed = bar.handed { fill(now, handed, Paint.handed) }
        fill(0, now, Paint.level)
        for chapter in bar.chapters where chapter > 0 && chapter < 1 {
            sheet.notch(chapter, of: seekBar, at: middle, half: 1.2, Paint.chapter)
        }
        // Large enough for touch input.
        sheet.knob(now, of: seekBar, at: middle, 3.4, Paint.text)
    }

    /// Draws a text box above a position of the slider, and within the window.
    private func write(
        _ text: String, at position: Double, of seekBar: PixelRect, _ layout: BarLayout, of area: PixelSize,
        on sheet: inout Sheet
    ) {
        let room = Double(area.width) / layout.scale - 2 * Measure.margin
        let shortened = LineBreaking(room: room - 2 * Measure.margin, longest: 200, width: width).shortened(text)
        let wide = Int(pixels: ((width(shortened) + 2 * Measure.margin) * layout.scale).rounded(.up))
        let high = Int(pixels: Measure.aimHeight * layout.scale)
        let middle = Double(seekBar.x) + Double(seekBar.width) * position
        let left = min(area.width - wide, max(0, Int(middle) - wide / 2))
        let box = PixelRect(x: left, y: layout.rect.y - high, width: wide, height: high)
        guard box.y >= 0, left >= 0 else { return }
        sheet.fill(box, Paint.box)
        let margin = Int(pixels: Measure.margin * layout.scale)
        sheet.write(shortened, in: PixelRect(x: left + margin, y: box.y, width: wide - margin, height: high))
    }

    /// A script in window pixels; strokes and font sizes are in units.
    private struct Sheet {
        var script = TextScript()
        let scale: Double

        init(scale: Double) { self.scale = scale }

        mutating func fill(_ rect: PixelRect, _ colour: TextScript.Colour) {
            script.fill(
                x: Double(rect.x), y: Double(rect.y), width: Double(rect.width), height: Double(rect.height),
                colour: colour)
        }

        /// Fills a part of a slider, aligned to whole pixels for sharp edges.
        mutating func fill(
            share: ClosedRange<Double>, of seekBar: PixelRect, at middle: Int, half: Double, _ colour: TextScript.Colour
        ) {
            let half = max(1, (half * scale).rounded())
            let (start, end) = (position(share.lowerBound, on: seekBar), position(share.upperBound, on: seekBar))
            guard end > start else { return }
            script.fill(x: start, y: Double(middle) - half, width: end - start, height: 2 * half, colour: colour)
        }

        mutating func notch(
            _ share: Double, of seekBar: PixelRect, at middle: Int, half: Double, _ colour: TextScript.Colour
        ) {
            let half = max(1, (half * scale).rounded())
            let wide = max(1, (0.8 * scale).rounded())
            let left = position(share, on: seekBar) - (wide / 2).rounded(.down)
            script.fill(x: left, y: Double(middle) - half, width: wide, height: 2 * half, colour: colour)
        }

        mutating func knob(
            _ share: Double, of seekBar: PixelRect, at middle: Int, _ half: Double, _ colour: TextScript.Colour
        ) {
            let half = (half * scale).rounded()
            let centre = position(share, on: seekBar)
            script.fillCircle(at: Point(centre, Double(middle)), radius: half, colour: colour)
        }

        mutating func write(_ text: String, in rect: PixelRect, _ colour: TextScript.Colour = Paint.text) {
            script.write(
                text, at: Point(Double(rect.x), Double(rect.y) + Double(rect.height) / 2), anchor: .left,
                size: Measure.textSize * scale, colour: colour, rim: 0.3 * scale,
                rimColour: TextScript.Colour(grey: 0, opacity: 128))
        }

        mutating func draw(_ sign: BarSign, in rect: PixelRect, _ colour: TextScript.Colour) {
            let side = 9 * scale
            let x = Double(rect.x) + (Double(rect.width) - side) / 2
            let y = Double(rect.y) + (Double(rect.height) - side) / 2
            for shape in sign.shapes {
                script.fill(shape.map { Point(x + $0.x * side, y + $0.y * side) }, colour: colour)
            }
        }

        private func position(_ share: Double, on seekBar: PixelRect) -> Double {
            (Double(seekBar.x) + Double(seekBar.width) * share).rounded()
        }
    }
}
