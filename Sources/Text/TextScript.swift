internal import Glibc
internal import MediaCore

/// Text and shapes at positions in a frame, in drawing order, bottom to top.
///
/// Lengths are pixels of the target frame; the origin is its top left corner. Text is literal: it cannot contain ASS
/// tags.
package struct TextScript: Sendable, Hashable {
    /// The point of the text that is placed at the position; raw values are those of ASS (`\an`).
    package enum Anchor: Int, Sendable {
        /// Rows from bottom to top, each from left to right, as on a numeric keypad.
        case bottomLeft = 1, bottom, bottomRight, left, middle, right, topLeft, top, topRight
    }

    /// An RGB colour with components 0…255; opacity 255 is opaque.
    package struct Colour: Sendable, Hashable {
        /// The components.
        package var red, green, blue, opacity: UInt8

        /// Creates a colour.
        package init(red: UInt8, green: UInt8, blue: UInt8, opacity: UInt8 = 255) {
            (self.red, self.green, self.blue, self.opacity) = (red, green, blue, opacity)
        }

        /// Creates a grey.
        package init(grey: UInt8, opacity: UInt8 = 255) {
            self.init(red: grey, green: grey, blue: grey, opacity: opacity)
        }

        /// Returns ASS tags: `&HBBGGRR&`, and transparency instead of opacity.
        fileprivate func tags(_ number: Int) -> String {
            "\\\(number)c&H" + Hex.byte(blue) + Hex.byte(green) + Hex.byte(red) + "&\\\(number)a&H"
                + Hex.byte(255 - opacity) + "&"
        }
    }

    /// A position in pixels.
    package struct Point: Sendable, Hashable {
        /// Distance from the left and the top edge.
        package var x, y: Double
        /// Creates a point.
        package init(_ x: Double, _ y: Double) { (self.x, self.y) = (x, y) }
    }

    /// ASS events without their times.
    private(set) var events: [String] = []
    /// Maximum number of characters per call; the rest is dropped.
    static let longest = 2000

    /// Creates an empty script.
    package init() {}

    /// True if nothing is drawn.
    var isEmpty: Bool { events.isEmpty }

    /// Adds text of one or several lines.
    ///
    /// - Parameters:
    ///   - size: line height.
    ///   - rim: width of an outline around the glyphs.
    package mutating func write(
        _ text: String, at place: Point, anchor: Anchor = .topLeft, size: Double, colour: Colour = Colour(grey: 255),
        rim: Double = 0, rimColour: Colour = Colour(grey: 0)
    ) {
        let escapedText = Self.escaped(text)
        guard !escapedText.isEmpty else { return }
        events.append(
            "{\\an\(anchor.rawValue)\\pos(\(Self.number(place.x)),\(Self.number(place.y)))\\fs\(Self.number(size))"
                + "\\bord\(Self.number(rim))" + colour.tags(1) + rimColour.tags(3) + "}" + escapedText)
    }

    /// Fills polygons; overlaps are filled once.
    private mutating func fill(_ shapes: [[Point]], colour: Colour) {
        let corners = shapes.joined()
        // libass positions a drawing by its bounding box, so the path starts at the minimum coordinates.
        guard let left = corners.map(\.x).min(), let top = corners.map(\.y).min() else { return }
        let path = shapes.map { shape in
            shape.enumerated().map { index, corner in
                (index == 0 ? "m " : index == 1 ? "l " : "") + Self.number(corner.x - left) + " "
                    + Self.number(corner.y - top)
            }.joined(separator: " ")
        }.joined(separator: " ")
        events.append(
            "{\\an7\\pos(\(Self.number(left)),\(Self.number(top)))\\bord0" + colour.tags(1) + "\\p1}" + path)
    }

    /// Fills a polygon; ignored with fewer than three corners.
    package mutating func fill(_ corners: [Point], colour: Colour) {
        if corners.count > 2 { fill([corners], colour: colour) }
    }

    /// Fills a rectangle.
    package mutating func fill(x: Double, y: Double, width: Double, height: Double, colour: Colour) {
        guard width > 0, height > 0 else { return }
        let corners = [Point(x, y), Point(x + width, y), Point(x + width, y + height), Point(x, y + height)]
        fill([corners], colour: colour)
    }

    /// Fills a circle, approximated by a polygon with an error below a tenth of a pixel.
    package mutating func fillCircle(at centre: Point, radius: Double, colour: Colour) {
        fill(Self.circle(at: centre, radius: radius), colour: colour)
    }

    /// Draws a circle with a line of this width, centred on the radius.
    package mutating func strokeCircle(at centre: Point, radius: Double, width: Double, colour: Colour) {
        let corners = Self.circle(at: centre, radius: radius)
        stroke(corners + corners.prefix(1), width: width, colour: colour)
    }

    private static func circle(at centre: Point, radius: Double) -> [Point] {
        guard radius > 0 else { return [] }
        let count = Int(clamping: (4 * radius.squareRoot() * 3.2).rounded(.up), in: 12...10_000)
        return (0..<count).map { number in
            let angle = 2 * Double.pi * Double(number) / Double(count)
            return Point(centre.x + radius * cos(angle), centre.y + radius * sin(angle))
        }
    }

    /// Draws a polyline.
    package mutating func stroke(_ points: [Point], width: Double, colour: Colour) {
        let strokes = zip(points, points.dropFirst()).compactMap { from, to -> [Point]? in
            let (dx, dy) = (to.x - from.x, to.y - from.y)
            let length = (dx * dx + dy * dy).squareRoot()
            guard length > 0 else { return nil }
            // Half the width to each side and beyond each end, so that corners are closed.
            let (ax, ay) = (dx / length * width / 2, dy / length * width / 2)
            return [
                Point(from.x - ax + ay, from.y - ay - ax), Point(to.x + ax + ay, to.y + ay - ax),
                Point(to.x + ax - ay, to.y + ay + ax), Point(from.x - ax - ay, from.y - ay + ax),
            ]
        }
        fill(strokes, colour: colour)
    }

    /// Returns the complete document for a frame of this size (Advanced SubStation Alpha v4.00+).
    func document(width: Int, height: Int) -> String {
        var text = """
            [Script Info]
            ScriptType: v4.00+
            PlayResX: \(width)
            PlayResY: \(height)
            WrapStyle: 2
            ScaledBorderAndShadow: yes
            YCbCr Matrix: None

            [V4+ Styles]
            Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, \
            Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, \
            MarginV, Encoding
            Style: Default,sans-serif,20,&H00FFFFFF,&H00FFFFFF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,1,0,0,7,0,0,0,-1

            [Events]
            Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text

            """
        for (layer, event) in events.enumerated() {
            text += "Dialogue: \(layer),0:00:00.00,9:59:59.99,Default,,0,0,0,,\(event)\n"
        }
        return text
    }

    /// Escapes text for libass: braces and backslashes are literal, newlines become `\N`, control characters are
    /// dropped.
    static func escaped(_ text: String) -> String {
        var escapedText = ""
        for scalar in text.unicodeScalars.prefix(longest) {
            switch scalar {
            case "\n": escapedText += "\\N"
            // A word joiner separates the backslash from a letter with which it would form a tag.
            case "\\": escapedText += "\\\u{2060}"
            case "{": escapedText += "\\{"
            case "}": escapedText += "\\}"
            case "\t": escapedText += " "
            default:
                let kind = scalar.properties.generalCategory
                if kind != .control, kind != .lineSeparator, kind != .paragraphSeparator {
                    escapedText.unicodeScalars.append(scalar)
                }
            }
        }
        return escapedText
    }

    /// Formats two decimals, finer than a pixel; clamped to ±1e6, NaN and infinity become 0.
    private static func number(_ value: Double) -> String {
        let hundredths = Int(clamping: (value.isFinite ? value : 0) * 100, in: -100_000_000...100_000_000)
        let (whole, rest) = abs(hundredths).quotientAndRemainder(dividingBy: 100)
        return "\(hundredths < 0 ? "-" : "")\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }

    private enum Hex {
        static func byte(_ value: UInt8) -> String {
            (value < 16 ? "0" : "") + String(value, radix: 16, uppercase: true)
        }
    }
}
