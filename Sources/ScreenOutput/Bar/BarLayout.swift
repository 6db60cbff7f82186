internal import MediaCore
internal import Text

/// The layout of a bar in a window, in pixels. Text is made smaller and shorter before parts are omitted; the least
/// important parts are omitted first.
struct BarLayout: Hashable {
    /// The whole bar.
    let rect: PixelRect
    /// Pixels per unit; the x-height is five units.
    let scale: Double
    /// The touchable area of the seek slider; nil if the duration is unknown.
    let seekBar: PixelRect?
    let elements: [Element]
    /// The area of the time; nil if there is no space.
    let time: PixelRect?
    /// The touchable area of the volume slider and the area of its number; nil if there is no space.
    let volume: Volume?

    struct Volume: Hashable {
        let slider, number: PixelRect

        /// From the end of the line to that of the number.
        fileprivate var beside: PixelRect {
            let left = slider.x + slider.width
            return PixelRect(x: left, y: slider.y, width: number.x + number.width - left, height: slider.height)
        }
    }

    struct Element: Hashable {
        let control: ScreenBar.Control
        let rect: PixelRect
        /// The text; empty for an icon alone.
        let label: String
        /// The width of the icon before the text, in pixels; 0 without one.
        var lead = 0

        /// The area of the text.
        var text: PixelRect { PixelRect(x: rect.x + lead, y: rect.y, width: rect.width - lead, height: rect.height) }
        /// The area of the icon.
        var icon: PixelRect { lead == 0 ? rect : PixelRect(x: rect.x, y: rect.y, width: lead, height: rect.height) }
    }

    /// Returns the width of a line of text, in units.
    typealias Width = (String) -> Double

    /// Dimensions in units.
    enum Measure {
        static let textSize = 11.0
        static let margin = 6.0
        static let gap = 8.0
        static let sign = 14.0
        /// The width of an icon before a text.
        static let lead = 14.5
        static let row = 18.0
        /// From the bar's top to the middle of the seek slider.
        static let seekBarMiddle = 6.0
        /// The touchable distance above and below the middle of the slider.
        static let seekBarReach = 6.0
        static let height = 36.0
        static let volume = 40.0
        /// The widest text of the volume.
        static let number = "130%"
        /// The height of the time box above the slider.
        static let aimHeight = 15.0
    }

    /// A candidate layout: pixels per unit, the minimum text width in units, and whether parts may be omitted.
    private struct Fit {
        var scale: Double
        var shortest: Double
        var mayLeaveOut = false
    }

    /// Creates a layout; nil if the window is too small for touch input.
    init?(_ bar: ScreenBar, in area: PixelSize, width: @escaping Width) {
        // Readable from a distance of 3 m, also on a portrait screen.
        let usual = max(1.3, min(Double(area.height), Double(area.width) * 0.75) / 330)
        let small = max(0.8, usual * 0.6)
        let fits = [
            Fit(scale: usual, shortest: 75), Fit(scale: (usual + small) / 2, shortest: 65),
            Fit(scale: small, shortest: 40), Fit(scale: small, shortest: 40, mayLeaveOut: true),
        ]
        for fit in fits {
            if let layout = BarLayout(bar, in: area, fit, width) {
                self = layout
                return
            }
        }
        return nil
    }

    private init?(_ bar: ScreenBar, in area: PixelSize, _ fit: Fit, _ width: @escaping Width) {
        let scale = fit.scale
        let room = Double(area.width) / scale - 2 * Measure.margin
        guard room >= 3 * Measure.sign, Double(area.height) / scale >= Measure.height * 2 else { return nil }
        self.scale = scale
        let top = Double(area.height) - Measure.height * scale
        rect = PixelRect(
            x: 0, y: Int(pixels: top), width: area.width, height: area.height - Int(pixels: top))
        func pixels(_ x: Double, _ y: Double, width wide: Double, height high: Double) -> PixelRect {
            PixelRect(
                x: Int(pixels: x * scale), y: Int(pixels: top + y * scale),
                width: Int(pixels: wide * scale), height: Int(pixels: high * scale))
        }
        seekBar =
            bar.position == nil
            ? nil
            : pixels(
                Measure.margin, Measure.seekBarMiddle - Measure.seekBarReach, width: room,
                height: 2 * Measure.seekBarReach)

        var row = Row(bar, width: width)
        if fit.mayLeaveOut {
            row.leaveOut(toFit: room, shortest: fit.shortest, width)
        } else if !row.shorten(toFit: room, shortest: fit.shortest, width) {
            return nil
        }
        let y = Measure.height - Measure.row - 2
        var placed: [Element] = []
        var x = Measure.margin
        for control in row.left {
            placed.append(
                Element(control: control, rect: pixels(x, y, width: Measure.sign, height: Measure.row), label: ""))
            x += Measure.sign + Measure.gap
        }
        time = row.time > 0 ? pixels(x, y, width: row.time, height: Measure.row) : nil
        var right = Measure.margin + room
        var volume: Volume?
        for item in row.right.reversed() {
            right -= item.width
            switch item.control {
            case .volume:
                placed.append(
                    Element(control: .mute, rect: pixels(right, y, width: Measure.sign, height: Measure.row), label: "")
                )
                let start = right + Measure.sign + Measure.gap / 2
                volume = Volume(
                    slider: pixels(start, y, width: Measure.volume, height: Measure.row),
                    number: pixels(start + Measure.volume + Measure.gap / 2, y, width: row.number, height: Measure.row))
            default:
                placed.append(
                    Element(
                        control: item.control, rect: pixels(right, y, width: item.width, height: Measure.row),
                        label: item.label, lead: item.label.isEmpty ? 0 : Int(pixels: item.lead * scale)))
            }
            right -= Measure.gap
        }
        self.volume = volume
        elements = placed
    }

    /// The content of the lower row; sizes in units.
    private struct Row {
        struct Item {
            var control: ScreenBar.Control
            /// The alternative texts, longest first.
            var choices: [String] = []
            var label = ""
            var width = Measure.sign
            /// The width of the icon before the text; 0 without one.
            var lead = 0.0
        }

        var left: [ScreenBar.Control] = [.play]
        var time: Double
        /// The width of the volume text.
        let number: Double
        var right: [Item] = []

        init(_ bar: ScreenBar, width: @escaping Width) {
            if bar.hasPrevious { left.insert(.previous, at: 0) }
            if bar.hasNext { left.append(.next) }
            time = bar.time.isEmpty ? 0 : width(bar.time)
            number = width(Measure.number)
            for button in ScreenBar.Button.allCases {
                if button == .fullScreen, bar.volume != nil {
                    let wide = Measure.sign + Measure.volume + number + Measure.gap
                    right.append(Item(control: .volume(0), width: wide))
                }
                guard let choices = bar.buttons[button] else { continue }
                let label = choices.first ?? ""
                var item = Item(control: .button(button), choices: choices, label: label)
                if button == .rooms, bar.output != nil { item.lead = Measure.lead }
                if !label.isEmpty { item.width = max(Measure.sign, item.lead + width(label)) }
                right.append(item)
            }
        }

        /// Shortens the longest texts to a common width, as little as needed. Returns false if that does not suffice.
        mutating func shorten(toFit room: Double, shortest: Double, _ width: @escaping Width) -> Bool {
            for index in right.indices where right[index].choices == [""] {
                (right[index].label, right[index].width) = ("", Measure.sign)
            }
            let named = right.indices.filter { !(right[$0].choices.first ?? "").isEmpty }
            // The last of several alternatives contains no name any more.
            let names = named.map { index in
                let (choices, lead) = (right[index].choices, right[index].lead)
                return (choices.count > 1 ? choices.dropLast() : choices[...])
                    .map { (label: $0, width: lead + width($0)) }
            }
            for (index, ways) in zip(named, names) {
                (right[index].label, right[index].width) = (ways[0].label, max(Measure.sign, ways[0].width))
            }
            let others = self.width - named.reduce(0) { $0 + right[$1].width }
            // An alternative that fits is used whole; the width it leaves is available to the others.
            func needed(at longest: Double) -> Double {
                names.reduce(others) { sum, ways in
                    sum + max(Measure.sign, ways.first { $0.width <= longest }?.width ?? longest)
                }
            }
            var longest = names.joined().map(\.width).max() ?? 0
            while needed(at: longest) > room {
                longest -= 1
                guard longest >= shortest else { return false }
            }
            for (index, ways) in zip(named, names) where right[index].width > longest {
                let lead = right[index].lead
                let label =
                    ways.first { $0.width <= longest }?.label
                    ?? LineBreaking(room: longest - lead, longest: 200, width: width).shortened(ways.last?.label ?? "")
                (right[index].label, right[index].width) = (label, max(Measure.sign, lead + width(label)))
            }
            return true
        }

        var width: Double {
            Double(left.count) * (Measure.sign + Measure.gap) + (time > 0 ? time + Measure.gap : 0)
                + right.reduce(-Measure.gap) { $0 + $1.width + Measure.gap }
        }

        /// Removes names before parts, the least important first; the play button is never removed.
        mutating func leaveOut(toFit room: Double, shortest: Double, _ width: @escaping Width) {
            let hiddenFirst: [ScreenBar.Control] = [
                .button(.speed), .button(.chapters), .volume(0), .button(.audio), .button(.rooms), .button(.subtitles),
            ]
            for control in [nil] + hiddenFirst.map(Optional.some) {
                if let control { right.removeAll { $0.control == control } }
                if shorten(toFit: room, shortest: shortest, width) { return }
                var nameless = self
                for control in hiddenFirst {
                    guard let index = nameless.right.firstIndex(where: { $0.control == control }) else { continue }
                    let choices = nameless.right[index].choices
                    if choices.count > 1 { nameless.right[index].choices = choices.suffix(1) }
                    if nameless.shorten(toFit: room, shortest: shortest, width) {
                        self = nameless
                        return
                    }
                }
            }
            func isWide() -> Bool { self.width > room }
            if isWide() { left = [.play] }
            if isWide() { time = 0 }
            if isWide() { right = [] }
        }
    }

    /// The top of the area that other overlays must avoid. With a slider it includes the time box, so that subtitles do
    /// not move when that appears.
    var top: Int { rect.y - Int((seekBar == nil ? 2 : Measure.aimHeight + 1) * scale) }

    // MARK: Hit testing

    /// Returns the part at a pixel of the window; nil outside the bar.
    ///
    /// The edges of the screen stop the pointer, so the outermost parts extend to them.
    func hit(x: Int, y: Int) -> ScreenBar.Control? {
        guard rect.holds(x, y) || seekBar?.holds(x, y) ?? false else { return nil }
        if let seekBar, y >= seekBar.y, y < seekBar.y + seekBar.height { return .position(share(of: x)) }
        let row = elements.first?.rect ?? rect
        let y = min(y, row.y + row.height - 1)
        if let volume {
            if volume.slider.holds(x, y) { return .volume(loudness(at: x)) }
            if volume.beside.holds(x, y) { return .volumeNumber }
        }
        // Half of each gap belongs to the adjacent part, for touch input.
        let reach = Int(Measure.gap * scale / 2)
        let ends = (elements.map(\.rect.x).min() ?? 0, elements.map { $0.rect.x + $0.rect.width }.max() ?? 0)
        return elements.first { element in
            let rect = element.rect
            let left = rect.x == ends.0 ? 0 : rect.x - reach
            let right = rect.x + rect.width == ends.1 ? self.rect.width : rect.x + rect.width + reach
            return PixelRect(x: left, y: rect.y, width: right - left, height: rect.height).holds(x, y)
        }?.control ?? .nothing
    }

    /// Returns the part for a pointer held down since a press on `control`; it may leave the slider. Nil for other
    /// parts.
    func drag(_ control: ScreenBar.Control, to x: Int) -> ScreenBar.Control? {
        switch control {
        case .position: .position(share(of: x))
        case .volume: .volume(loudness(at: x))
        default: nil
        }
    }

    /// Returns the position on the seek slider at a pixel, clamped to 0…1.
    func share(of x: Int) -> Double { seekBar.map { Self.share(of: x, on: $0) } ?? 0 }

    private func loudness(at x: Int) -> Double { volume.map { Self.share(of: x, on: $0.slider) } ?? 0 }

    private static func share(of x: Int, on seekBar: PixelRect) -> Double {
        seekBar.width > 1 ? min(1, max(0, Double(x - seekBar.x) / Double(seekBar.width - 1))) : 0
    }
}

extension PixelRect {
    fileprivate func holds(_ x: Int, _ y: Int) -> Bool {
        x >= self.x && y >= self.y && x < self.x + width && y < self.y + height
    }
}
