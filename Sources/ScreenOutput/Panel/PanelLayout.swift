internal import MediaCore
internal import Text

/// The layout of a panel in a window, in pixels. Rows that do not fit are reached by scrolling.
struct PanelLayout: Hashable {
    /// The whole panel.
    let rect: PixelRect
    /// Pixels per unit; the x-height is five units.
    let scale: Double
    /// The first visible row, and the number of visible rows.
    let first: Int
    let count: Int

    /// Returns the width of a line of text, in units.
    typealias Width = (String) -> Double

    /// Dimensions in units.
    enum Measure {
        /// The line spacing of text.
        static let textSize = 11.0
        static let margin = 6.0
        static let row = 13.0
        static let title = 15.0
        static let hintSize = 11.0
        static let hintGap = 4.0
        static let mark = 11.0
        static let symbol = 13.0
        static let bar = 42.0
        /// The widest number beside a level bar.
        static let number = "130%"
        static let gap = 6.0
        /// The width of the scroll indicator at the right edge.
        static let scroll = 2.0
        /// The side of a QR code, with its margin.
        static let code = 100.0
    }

    let hasBars: Bool
    /// The width of a number beside a level bar, in units.
    private let number: Double
    /// The width of the mark before a row's icon and text including its gap, in units.
    let mark: Double
    /// The offset of the texts from the rows' left edge, in units.
    let textLeft: Double
    /// The offset of the details from the texts, in units, if they form a column; nil otherwise.
    let column: Double?
    /// The visible part of the list, 0…1; nil if all of it is visible.
    let scroll: ClosedRange<Double>?
    /// The width of the QR code with its gap, in units; 0 if there is none, or no space.
    private let code: Double
    /// The width of the buttons before the numbers, in units; 0 without one.
    let button: Double
    /// The lines of the hint, wrapped to the window; empty if it does not fit completely.
    let hint: [String]

    /// Creates a layout; nil if the window is too small for one row.
    ///
    /// - Parameter bar: The bar that the panel must stay above.
    init?(_ panel: ScreenPanel, in area: PixelSize, above bar: BarLayout? = nil, width: @escaping Width) {
        let usual = max(1.3, Double(area.height) / 330)
        // A small window gets smaller text before the hint is omitted.
        let sizes: [(scale: Double, hasHint: Bool)] = [(usual, true), (1, true), (0.8, true), (usual, false)]
        for size in sizes {
            if let layout = PanelLayout(
                panel, in: area, above: bar, scale: min(usual, size.scale), hasHint: size.hasHint, textWidth: width)
            {
                self = layout
                return
            }
        }
        return nil
    }

    private init?(
        _ panel: ScreenPanel, in area: PixelSize, above bar: BarLayout?, scale: Double, hasHint: Bool,
        textWidth: @escaping Width
    ) {
        let floor = bar?.rect.y ?? area.height
        let (width, height) = (Double(area.width) / scale, Double(floor) / scale)
        guard width > 60 else { return nil }
        hasBars = panel.rows.contains { $0.level != nil }
        number = hasBars ? textWidth(Measure.number) : 0
        mark = panel.marks == .none ? 0 : Measure.mark
        let symbol = panel.rows.contains { $0.symbol != nil } ? Measure.symbol : 0
        textLeft = Measure.margin + mark + symbol
        hint =
            hasHint && !panel.hint.isEmpty
            ? LineBreaking(room: width - 8 - 2 * Measure.margin, width: textWidth).lines(panel.hint) : []
        let fixed =
            Measure.margin * 2 + Measure.title
            + (hint.isEmpty ? 0 : Double(hint.count) * Measure.hintSize + Measure.hintGap)
        let room = Int((height - fixed - 4) / Measure.row)
        guard room >= 1 else { return nil }
        self.scale = scale
        count = min(room, panel.rows.count)
        let current = min(max(0, panel.current ?? 0), max(0, panel.rows.count - 1))
        // A page without marks is scrolled to its row; in a list the selected row is in the middle.
        first = max(0, min(panel.marks == .none ? current : current - count / 2, panel.rows.count - count))
        let all = Double(panel.rows.count)
        scroll = count < panel.rows.count ? Double(first) / all...Double(first + count) / all : nil
        let names = panel.rows.map { textWidth($0.text) }.max() ?? 0
        let column = panel.marks == .none ? min(names, (width - 8) * 0.45) + Measure.gap : nil
        self.column = column
        func text(_ row: ScreenPanel.Row) -> Double {
            if row.detail.isEmpty { return textWidth(row.text) }
            return (column ?? textWidth(row.text) + Measure.gap) + textWidth(row.detail)
        }
        let widest = panel.rows.map(text).max() ?? 0
        button = panel.rows.compactMap { $0.button.map(textWidth) }.max().map { $0 + Measure.gap } ?? 0
        let body =
            mark + symbol + max(80, widest) + (hasBars ? Measure.gap * 2 + number + Measure.bar : 0)
            + (button > 0 ? button + Measure.gap : 0)
        let headerWidth = ([panel.title] + hint).map(textWidth).max() ?? 0
        let needed = max(body, headerWidth) + Measure.margin * 2
        let hasCode = !panel.code.isEmpty && Double(count) * Measure.row >= Measure.code
        let beside = Measure.gap + Measure.code
        code = hasCode && needed + beside <= width - 8 ? beside : 0
        let wanted = min(width - 8, needed + code)
        let size = PixelSize(
            width: Int(pixels: (wanted * scale).rounded(.up)),
            height: Int(pixels: (fixed + Double(count) * Measure.row) * scale))
        let margin = Int(2 * scale)
        var corner = (x: (area.width - size.width) / 2, y: max(0, (floor - size.height) / 2))
        switch panel.position {
        case .middle: break
        case .topLeft: corner = (margin, margin)
        case .above(let button):
            if let button = bar?.elements.first(where: { $0.control == .button(button) })?.rect {
                let x = button.x + (button.width - size.width) / 2
                corner = (
                    max(margin, min(area.width - margin - size.width, x)), max(0, floor - margin - size.height)
                )
            }
        }
        rect = PixelRect(x: corner.x, y: corner.y, width: size.width, height: size.height)
    }

    /// Returns the top of a row within the panel, in units.
    func top(of row: Int) -> Double { Measure.margin + Measure.title + Double(row - first) * Measure.row }

    /// The top of the hint within the panel, in units.
    var hintTop: Double { top(of: first + count) + Measure.hintGap }

    /// The end of the texts in rows, before buttons, numbers and level bars, in units.
    var textRight: Double { button > 0 ? buttonLeft - Measure.gap : buttonRight }

    /// The start and the end of the buttons within the panel, in units.
    var buttonLeft: Double { buttonRight - button }
    private var buttonRight: Double {
        hasBars
            ? barLeft - 2 * Measure.gap - number : Double(rect.width) / scale - Measure.margin - code
    }

    /// The start of the QR code within the panel, in units; nil if it is not drawn.
    var codeLeft: Double? { code > 0 ? Double(rect.width) / scale - Measure.margin - Measure.code : nil }

    /// The start of the level bars within the panel, in units.
    var barLeft: Double { Double(rect.width) / scale - Measure.margin - Measure.bar }

    /// Returns the row and its part at a pixel of the window; nil outside.
    func hit(x: Int, y: Int, rows: Int) -> (row: Int, part: ScreenPanel.Element)? {
        let (left, high) = (Double(x - rect.x) / scale, Double(y - rect.y) / scale)
        guard left >= 0, high >= 0, x < rect.x + rect.width else { return nil }
        let row = first + Int(pixels: ((high - Measure.margin - Measure.title) / Measure.row).rounded(.down))
        guard row >= first, row < min(rows, first + count) else { return nil }
        if left < Measure.margin + mark { return (row, .mark) }
        if hasBars, left >= barLeft - 2 {
            return (row, .level(min(1, max(0, (left - barLeft) / Measure.bar))))
        }
        if button > 0, left >= buttonLeft - Measure.gap / 2, left <= buttonLeft + button { return (row, .button) }
        return (row, .text)
    }

    /// Returns whether a pixel of the window is on the panel.
    func contains(x: Int, y: Int) -> Bool {
        x >= rect.x && y >= rect.y && x < rect.x + rect.width && y < rect.y + rect.height
    }
}
