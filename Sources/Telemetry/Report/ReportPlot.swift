internal import MediaCore

/// Draws a report as SVG 1.1: the offset, the lateness of picture and sound, and rows of events.
///
/// The events are dropped frames, underruns and starts. The size of the file does not depend on the duration.
struct ReportPlot {
    private static let width = 1200.0
    private static let left = 70.0
    private static let right = 34.0
    private static let panelHeight = 190.0
    private static let gap = 54.0
    private static let top = 64.0
    /// Colours for colour-blind viewers, from the palette of Okabe and Ito.
    private static let colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]

    private let report: TimelineReport
    /// Seconds across the width of the drawing.
    private let span: Double
    private var body = ""
    private var y = ReportPlot.top

    init(_ report: TimelineReport) {
        self.report = report
        span = max(1, report.seconds)
    }

    /// Returns the SVG document.
    mutating func svg() -> String {
        body = ""
        y = Self.top
        let routes = Array(report.routes.prefix(Self.colours.count))
        panel(
            "offset in ms, as reported: above 0 sound is later than picture",
            routes.map { (name(of: $0), $0.offset.series, $0.offset.quantities) })
        panel("picture in ms: above 0 later than due", [("", report.videoSeries, report.videoError)])
        panel("sound in ms: above 0 later than due", routes.map { (name(of: $0), $0.errorSeries, $0.error) })
        events()
        let height = y + 24
        let title = "Lip sync as reported by the player" + (report.films.first.map { ": " + $0 } ?? "")
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Int(Self.width))" height="\(Int(height))" \
            viewBox="0 0 \(Int(Self.width)) \(Int(height))" font-family="sans-serif" font-size="13" fill="#222">
            <rect width="100%" height="100%" fill="#fff"/>
            <text x="\(Int(Self.left))" y="30" font-size="18">\(SVGText.escaped(String(title.prefix(110))))</text>
            \(body)</svg>

            """
    }

    private func name(of route: ReportedRoutes.Route) -> String {
        report.routes.count > 1 ? "\(route.index) \(route.name)" : ""
    }

    private func x(_ seconds: Double) -> Double {
        Self.left + min(1, seconds / span) * (Self.width - Self.left - Self.right)
    }

    private func number(_ value: Double) -> String { Decimals.text(value, 1) }

    // MARK: Panels

    private mutating func panel(_ title: String, _ curves: [(name: String, DecimatedSeries, QuantileSketch)]) {
        text(title, x: Self.left, y: y - 8)
        let range = Self.range(of: curves.map { $0.2 })
        let top = y
        let bottom = y + Self.panelHeight
        func height(_ value: Double) -> Double {
            bottom - (max(range.low, min(range.high, value)) - range.low) / (range.high - range.low) * (bottom - top)
        }
        let step = Self.step(for: range.high - range.low, lines: 6)
        var tick = (range.low / step).rounded(.up) * step
        while tick <= range.high + step / 1000 {
            let isZero = tick.magnitude < step / 1000
            line(
                x1: Self.left, y1: height(tick), x2: Self.width - Self.right, y2: height(tick), isZero ? "#888" : "#ddd"
            )
            text(
                Decimals.text(tick, step < 0.1 ? 2 : step < 1 ? 1 : 0), x: Self.left - 6, y: height(tick) + 4,
                anchor: "end")
            tick += step
        }
        for (index, curve) in curves.enumerated() where !curve.1.columns.isEmpty {
            let colour = Self.colours[index % Self.colours.count]
            draw(curve.1, colour: colour, height: height)
            if !curve.name.isEmpty {
                text(
                    String(curve.name.prefix(24)), x: Self.width - Self.right, y: top - 8 - Double(index) * 15,
                    anchor: "end", colour)
            }
        }
        if curves.allSatisfy({ $0.1.columns.isEmpty }) { text("nothing recorded", x: Self.left + 12, y: top + 24) }
        timeAxis(at: bottom)
        y = bottom + Self.gap
    }

    /// Draws minimum to maximum per column as a band, and the mean as a line.
    private mutating func draw(_ series: DecimatedSeries, colour: String, height: (Double) -> Double) {
        var band = ""
        var mean = ""
        var isPenDown = false
        for (index, column) in series.columns.enumerated() {
            guard column.count > 0 else {
                // Narrow columns can be empty between reports; a gap in wide ones interrupts the line.
                if series.width > 2 { isPenDown = false }
                continue
            }
            let middle = number(x((Double(index) + 0.5) * series.width))
            band += "M\(middle) \(number(height(column.lowest) + 0.4))V\(number(height(column.highest) - 0.4))"
            mean += "\(isPenDown ? "L" : "M")\(middle) \(number(height(column.mean)))"
            isPenDown = true
        }
        let pixel = number(max(1, x(series.width) - x(0)))
        body +=
            "<path d=\"\(band)\" stroke=\"\(colour)\" stroke-opacity=\"0.35\" stroke-width=\"\(pixel)\" fill=\"none\"/>\n"
        body += "<path d=\"\(mean)\" stroke=\"\(colour)\" stroke-width=\"1.2\" fill=\"none\"/>\n"
    }

    /// Draws a row of marks per kind of event.
    private mutating func events() {
        let rows: [(String, DecimatedSeries, String)] = [
            ("dropped", report.dropSeries, "#d55e00"), ("dry", report.underrunSeries, "#cc0000"),
            ("start", report.anchorSeries, "#009e73"),
        ]
        y -= 22
        for (name, series, colour) in rows {
            line(x1: Self.left, y1: y + 7, x2: Self.width - Self.right, y2: y + 7, "#ddd")
            text(name, x: Self.left - 6, y: y + 11, anchor: "end")
            var marks = ""
            for (index, column) in series.columns.enumerated() where column.count > 0 {
                marks += "M\(number(x((Double(index) + 0.5) * series.width))) \(number(y))v14"
            }
            if !marks.isEmpty { body += "<path d=\"\(marks)\" stroke=\"\(colour)\" stroke-width=\"1.5\"/>\n" }
            y += 20
        }
    }

    private mutating func timeAxis(at bottom: Double) {
        line(x1: Self.left, y1: bottom, x2: Self.width - Self.right, y2: bottom, "#888")
        let steps: [Double] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400]
        let step = steps.first { span / $0 <= 12 } ?? (span / 12)
        var tick = 0.0
        while tick <= span {
            line(x1: x(tick), y1: bottom, x2: x(tick), y2: bottom + 4, "#888")
            text(Decimals.clock(seconds: tick), x: x(tick), y: bottom + 18, anchor: "middle")
            tick += step
        }
    }

    // MARK: Scales

    /// Returns the range of all but the outermost 0.1 % on each side, including zero; outliers are drawn at the edge.
    private static func range(of sketches: [QuantileSketch]) -> (low: Double, high: Double) {
        var (low, high) = (-1.0, 1.0)
        for sketch in sketches {
            guard let ends = sketch.quantiles([0.001, 0.999]) else { continue }
            low = min(low, ends[0])
            high = max(high, ends[1])
        }
        let margin = (high - low) * 0.06
        return (low - margin, high + margin)
    }

    /// Returns 1, 2 or 5 times a power of ten for about `lines` grid lines.
    private static func step(for range: Double, lines: Double) -> Double {
        var step = 0.01
        for factor in [2, 2.5, 2].cycled(times: 12) {
            if range / step <= lines { break }
            step *= factor
        }
        return step
    }

    // MARK: Drawing

    private mutating func line(x1: Double, y1: Double, x2: Double, y2: Double, _ colour: String) {
        body += "<path d=\"M\(number(x1)) \(number(y1))L\(number(x2)) \(number(y2))\" stroke=\"\(colour)\"/>\n"
    }

    private mutating func text(
        _ text: String, x: Double, y: Double, anchor: String = "start", _ colour: String = "#222"
    ) {
        body +=
            "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\" fill=\"\(colour)\">\(SVGText.escaped(text))</text>\n"
    }
}

extension [Double] {
    fileprivate func cycled(times: Int) -> [Double] { (0..<times).flatMap { _ in self } }
}
