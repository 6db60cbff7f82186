internal import MediaCore

/// A straight stroke of a round pen, in pixels from the top left; letters are made of these.
struct PenStroke {
    var x0, y0, x1, y1: Double

    /// The pen's half width and the space between letters, in units of the glyphs.
    static let pen = 0.5
    static let gap = 1.9

    /// Adds the strokes of a line of text; how far it reaches, in units, with the gap after the last letter.
    static func write(
        _ text: some Sequence<Unicode.Scalar>, x start: Double, baseline: Double, scale: Double,
        into strokes: inout [PenStroke]
    ) -> Double {
        var x = start
        for character in text {
            let glyph = StrokeGlyphs.glyph(for: character)
            for path in paths(of: glyph.strokes) {
                for (from, to) in zip(path, path.dropFirst()) {
                    strokes.append(
                        PenStroke(
                            x0: (x + from.x) * scale, y0: (baseline - from.y) * scale, x1: (x + to.x) * scale,
                            y1: (baseline - to.y) * scale))
                }
            }
            x += glyph.width + gap
        }
        return x - start
    }

    /// How wide a line of text is, in units.
    static func width(of text: some Sequence<Unicode.Scalar>) -> Double {
        max(0, text.reduce(0) { $0 + StrokeGlyphs.glyph(for: $1).width + gap } - gap)
    }

    /// The distance to the nearest stroke decides a pixel: within the pen it is white, within the rim dark.
    static func inked(_ segments: [PenStroke], in size: PixelSize, pen: Double, rim: Double) -> [UInt8] {
        let reach = pen + rim + 1
        var distances = [Float](repeating: Float(reach * reach), count: size.width * size.height)
        for segment in segments {
            let left = max(0, Int(min(segment.x0, segment.x1) - reach))
            let right = min(size.width - 1, Int(max(segment.x0, segment.x1) + reach))
            let top = max(0, Int(min(segment.y0, segment.y1) - reach))
            let bottom = min(size.height - 1, Int(max(segment.y0, segment.y1) + reach))
            guard left <= right, top <= bottom else { continue }
            let (dx, dy) = (segment.x1 - segment.x0, segment.y1 - segment.y0)
            let length = dx * dx + dy * dy
            for y in top...bottom {
                for x in left...right {
                    let (px, py) = (Double(x) + 0.5 - segment.x0, Double(y) + 0.5 - segment.y0)
                    let along = length > 0 ? min(1, max(0, (px * dx + py * dy) / length)) : 0
                    let (ex, ey) = (px - along * dx, py - along * dy)
                    let distance = Float(ex * ex + ey * ey)
                    if distance < distances[y * size.width + x] { distances[y * size.width + x] = distance }
                }
            }
        }
        var pixels = [UInt8](repeating: 0, count: size.width * size.height * 4)
        for index in 0..<distances.count {
            let distance = Double(distances[index].squareRoot())
            let ink = min(1, max(0, pen - distance + 0.5))
            let shade = min(1, max(0, pen + rim - distance + 0.5)) * 0.8
            let alpha = 1 - (1 - ink) * (1 - shade)
            guard alpha > 0 else { continue }
            let light = UInt8((255 * ink / alpha).rounded())
            pixels[index * 4] = light
            pixels[index * 4 + 1] = light
            pixels[index * 4 + 2] = light
            pixels[index * 4 + 3] = UInt8((255 * alpha).rounded())
        }
        return pixels
    }

    private struct Point {
        var x, y: Double
        func middle(_ other: Point) -> Point { Point(x: (x + other.x) / 2, y: (y + other.y) / 2) }
    }

    /// Straight pieces that follow the strokes of a glyph.
    private static func paths(of strokes: String) -> [[Point]] {
        strokes.split(separator: "|").map { stroke in
            let points = stroke.drop { $0 == "~" }.split(separator: " ").map { pair -> Point in
                let numbers = pair.split(separator: ",").compactMap { Double($0) }
                return Point(x: numbers[0], y: numbers[1])
            }
            return stroke.hasPrefix("~") && points.count > 2 ? rounded(points) : points
        }
    }

    private static func rounded(_ points: [Point]) -> [Point] {
        let isClosed = points[0].x == points[points.count - 1].x && points[0].y == points[points.count - 1].y
        // A closed stroke has a corner where it began, too.
        let corners = isClosed ? points + [points[1]] : points
        var start = isClosed ? corners[0].middle(corners[1]) : corners[0]
        var path = [start]
        for index in 1..<(corners.count - 1) {
            let isLast = !isClosed && index == corners.count - 2
            let end = isLast ? corners[index + 1] : corners[index].middle(corners[index + 1])
            let pieces = 6
            for step in 1...pieces {
                let t = Double(step) / Double(pieces)
                let (a, b, c) = ((1 - t) * (1 - t), 2 * t * (1 - t), t * t)
                path.append(
                    Point(
                        x: a * start.x + b * corners[index].x + c * end.x,
                        y: a * start.y + b * corners[index].y + c * end.y))
            }
            start = end
        }
        return path
    }
}
