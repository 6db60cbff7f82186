internal import MediaCore

/// Where the parts of a bar lie in a window, in pixels. What does not fit is left out, what matters least first; nothing is cut.
struct BarLayout: Hashable {
    /// The whole bar.
    let rect: PixelRect
    /// Pixels for a unit; a small letter is five units high.
    let scale: Double
    /// The line that shows where the film is; nil where nobody knows how long it lasts.
    let line: PixelRect?
    let parts: [Place]
    /// Where the time is written; nil where there is no room for it.
    let time: PixelRect?

    struct Place: Hashable {
        let part: ScreenBar.Part
        let rect: PixelRect
        /// What stands there; empty for a sign.
        let words: String
    }

    /// How wide a line of text is, in units.
    typealias Width = (String) -> Double

    /// In units.
    enum Measure {
        static let line = 11.0
        static let margin = 6.0
        static let gap = 8.0
        static let sign = 14.0
        static let row = 18.0
        /// From the bar's upper edge to the line, and the line's own height where a pointer may touch it.
        static let lineTop = 5.0
        static let lineReach = 10.0
        static let height = 36.0
    }

    /// Nil where the window is too small for a finger.
    init?(_ bar: ScreenBar, in area: PixelSize, width: Width) {
        // Letters that one reads from three metres; in a small window smaller ones before anything is left out.
        let usual = max(1.3, Double(area.height) / 330)
        for scale in [usual, min(usual, 1), min(usual, 0.8)] {
            if let layout = BarLayout(bar, in: area, scale: scale, width: width, mayLeaveOut: scale <= 0.8) {
                self = layout
                return
            }
        }
        return nil
    }

    private init?(_ bar: ScreenBar, in area: PixelSize, scale: Double, width: Width, mayLeaveOut: Bool) {
        let room = Double(area.width) / scale - 2 * Measure.margin
        guard room >= 3 * Measure.sign, Double(area.height) / scale >= Measure.height * 2 else { return nil }
        self.scale = scale
        let top = Double(area.height) - Measure.height * scale
        rect = PixelRect(
            x: 0, y: Int(top.rounded()), width: area.width, height: area.height - Int(top.rounded()))
        func pixels(_ x: Double, _ y: Double, _ wide: Double, _ high: Double) -> PixelRect {
            PixelRect(
                x: Int((x * scale).rounded()), y: Int((top + y * scale).rounded()),
                width: Int((wide * scale).rounded()), height: Int((high * scale).rounded()))
        }
        line =
            bar.place == nil
            ? nil : pixels(Measure.margin, Measure.lineTop - Measure.lineReach / 2 + 1, room, Measure.lineReach)

        var left = [ScreenBar.Part.play]
        if bar.hasPrevious { left.insert(.previous, at: 0) }
        if bar.hasNext { left.append(.next) }
        var shown = ScreenBar.Button.allCases.filter { bar.buttons[$0] != nil }
        var showsTime = !bar.time.isEmpty
        func wanted() -> Double {
            Double(left.count) * (Measure.sign + Measure.gap) + (showsTime ? width(bar.time) + Measure.gap : 0)
                + shown.reduce(0) { $0 + Self.width(of: $1, bar, width) + Measure.gap }
        }
        // The last to go is what begins and stops the film.
        let leastWanted: [ScreenBar.Button] = [.speed, .sound, .rooms, .subtitles, .fullScreen]
        for button in leastWanted where wanted() > room {
            guard mayLeaveOut else { return nil }
            shown.removeAll { $0 == button }
        }
        if wanted() > room { left = [.play] }
        if wanted() > room { showsTime = false }

        let y = Measure.height - Measure.row - 2
        var places: [Place] = []
        var x = Measure.margin
        for part in left {
            places.append(Place(part: part, rect: pixels(x, y, Measure.sign, Measure.row), words: ""))
            x += Measure.sign + Measure.gap
        }
        time = showsTime ? pixels(x, y, width(bar.time), Measure.row) : nil
        var right = Measure.margin + room
        for button in shown.reversed() {
            let wide = Self.width(of: button, bar, width)
            right -= wide
            places.append(
                Place(
                    part: .button(button), rect: pixels(right, y, wide, Measure.row), words: bar.buttons[button] ?? ""))
            right -= Measure.gap
        }
        parts = places
    }

    private static func width(of button: ScreenBar.Button, _ bar: ScreenBar, _ width: Width) -> Double {
        let words = bar.buttons[button] ?? ""
        return words.isEmpty ? Measure.sign : max(Measure.sign, width(words))
    }

    /// The part at a pixel of the window; nil outside of the bar.
    func hit(x: Int, y: Int) -> ScreenBar.Part? {
        guard rect.holds(x, y) || line?.holds(x, y) ?? false else { return nil }
        if let line, line.holds(x, y) { return .place(share(of: x)) }
        // Fingers are wide: half the gap on each side belongs to a part.
        let reach = Int(Measure.gap * scale / 2)
        return parts.first { place in
            let rect = place.rect
            return PixelRect(x: rect.x - reach, y: rect.y, width: rect.width + 2 * reach, height: rect.height)
                .holds(x, y)
        }?.part ?? .nothing
    }

    /// The place on the line that lies above or below a pixel; for a pointer that is held down, also beside it.
    func share(of x: Int) -> Double {
        guard let line, line.width > 1 else { return 0 }
        return min(1, max(0, Double(x - line.x) / Double(line.width - 1)))
    }
}

extension PixelRect {
    fileprivate func holds(_ x: Int, _ y: Int) -> Bool {
        x >= self.x && y >= self.y && x < self.x + width && y < self.y + height
    }
}
