internal import MediaCore
internal import Text

/// Draws a bar as an overlay: light signs and words on a dark ground that lets the film through.
struct BarDrawing {
    let painter: TextPainter

    private enum Paint {
        static let ground = TextScript.Colour(grey: 14, opacity: 200)
        static let track = TextScript.Colour(grey: 104, opacity: 235)
        static let handed = TextScript.Colour(grey: 160, opacity: 235)
        static let level = TextScript.Colour(grey: 245, opacity: 250)
        static let chapter = TextScript.Colour(grey: 14)
        static let words = TextScript.Colour(grey: 255)
    }

    private typealias Point = TextScript.Point
    private typealias Measure = BarLayout.Measure

    func width(_ text: String) -> Double { painter.width(of: text, size: Measure.line) }

    func overlay(_ bar: ScreenBar, in layout: BarLayout, of area: PixelSize) -> OverlayImage? {
        var script = TextScript()
        let rect = layout.rect
        script.fill(
            x: Double(rect.x), y: Double(rect.y), width: Double(rect.width), height: Double(rect.height),
            colour: Paint.ground)
        if let line = layout.line, let place = bar.place { draw(line, place, bar, layout.scale, on: &script) }
        if let time = layout.time { write(bar.time, in: time, layout.scale, on: &script) }
        for place in layout.parts {
            if place.words.isEmpty {
                draw(place.part, in: place.rect, isPlaying: bar.isPlaying, layout.scale, on: &script)
            } else {
                write(place.words, in: place.rect, layout.scale, on: &script)
            }
        }
        return painter.draw(script, in: area)
    }

    private func draw(
        _ line: PixelRect, _ place: Double, _ bar: ScreenBar, _ scale: Double, on script: inout TextScript
    ) {
        let (left, width) = (Double(line.x), Double(line.width))
        let middle = (Double(line.y) + Double(line.height) / 2).rounded()
        let half = max(1, (1.2 * scale).rounded())
        func fill(_ from: Double, _ to: Double, _ half: Double, _ colour: TextScript.Colour) {
            let (start, end) = ((left + width * from).rounded(), (left + width * to).rounded())
            script.fill(x: start, y: middle - half, width: end - start, height: 2 * half, colour: colour)
        }
        let now = min(1, max(0, place))
        fill(0, 1, half, Paint.track)
        if let handed = bar.handed { fill(now, max(now, min(1, handed)), half, Paint.handed) }
        fill(0, now, half, Paint.level)
        for chapter in bar.chapters where chapter > 0 && chapter < 1 {
            let x = (left + width * chapter).rounded()
            script.fill(x: x - 1, y: middle - half, width: 2, height: 2 * half, colour: Paint.chapter)
        }
        // A knob that a finger finds.
        let knob = (3.2 * scale).rounded()
        let x = (left + width * now).rounded()
        script.fill(x: x - knob / 2, y: middle - knob, width: knob, height: 2 * knob, colour: Paint.words)
    }

    private func write(_ text: String, in rect: PixelRect, _ scale: Double, on script: inout TextScript) {
        script.write(
            text, at: Point(Double(rect.x), Double(rect.y) + Double(rect.height) / 2), anchor: .left,
            size: Measure.line * scale, colour: Paint.words, rim: 0.3 * scale,
            rimColour: TextScript.Colour(grey: 0, opacity: 128))
    }

    /// Signs that need no font.
    private func draw(
        _ part: ScreenBar.Part, in rect: PixelRect, isPlaying: Bool, _ scale: Double, on script: inout TextScript
    ) {
        let side = 9 * scale
        let (x, y) = (
            Double(rect.x) + (Double(rect.width) - side) / 2, Double(rect.y) + (Double(rect.height) - side) / 2
        )
        func shape(_ corners: [(Double, Double)]) {
            script.fill(corners.map { Point(x + $0.0 * side, y + $0.1 * side) }, colour: Paint.words)
        }
        func block(_ left: Double, _ top: Double, _ width: Double, _ height: Double) {
            shape([(left, top), (left + width, top), (left + width, top + height), (left, top + height)])
        }
        switch part {
        case .play where isPlaying:
            block(0.1, 0, 0.28, 1)
            block(0.62, 0, 0.28, 1)
        case .play: shape([(0.1, 0), (1, 0.5), (0.1, 1)])
        case .next:
            shape([(0.05, 0.1), (0.7, 0.5), (0.05, 0.9)])
            block(0.75, 0.1, 0.18, 0.8)
        case .previous:
            shape([(0.95, 0.1), (0.3, 0.5), (0.95, 0.9)])
            block(0.07, 0.1, 0.18, 0.8)
        case .button(.fullScreen):
            // Four corners.
            for (left, top) in [(0.0, 0.0), (0.65, 0), (0, 0.65), (0.65, 0.65)] {
                block(left, top == 0 ? 0 : 0.87, 0.35, 0.13)
                block(left == 0 ? 0 : 0.87, top, 0.13, 0.35)
            }
        case .button, .place, .nothing: break
        }
    }
}
