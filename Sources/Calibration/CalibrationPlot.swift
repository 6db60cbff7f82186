internal import MediaCore
internal import Profiles
internal import SyncRendering

/// Draws a result as SVG 1.1: the offset of each event over time, rejected ones hollow,
/// and the result with its interval.
package struct CalibrationPlot {
    private static let (width, left, right, top, height) = (1000.0, 70.0, 30.0, 60.0, 360.0)
    /// Colours for colour-blind viewers, from the palette of Okabe and Ito.
    private static let colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]

    /// The result to draw.
    let answer: CalibrationAnswer

    package init(answer: CalibrationAnswer) {
        self.answer = answer
    }

    /// The SVG document.
    package var svg: String {
        let all = answer.speakers.flatMap { speaker in speaker.readings.compactMap { shown($0, of: speaker) } }
        let span = max(1, answer.speakers.flatMap(\.readings).map(\.time).max() ?? 1)
        var (low, high) = (all.min() ?? -1, all.max() ?? 1)
        let margin = max(1, (high - low) * 0.15)
        (low, high) = (low - margin, high + margin)
        func x(_ time: Double) -> String {
            Decimals.text(Self.left + time / span * (Self.width - Self.left - Self.right), 1)
        }
        func y(_ value: Double) -> String {
            Decimals.text(Self.top + (high - max(low, min(high, value))) / (high - low) * Self.height, 1)
        }
        var body = ""
        let step = Self.step(high - low)
        var tick = (low / step).rounded(.up) * step
        while tick <= high {
            let isZero = tick.magnitude < step / 100
            body +=
                "<path d=\"M\(x(0)) \(y(tick))L\(x(span)) \(y(tick))\" stroke=\"\(isZero ? "#888" : "#ddd")\"/>\n"
                + "<text x=\"\(Self.left - 8)\" y=\"\(y(tick))\" text-anchor=\"end\">\(Decimals.text(tick, step < 1 ? 1 : 0))</text>\n"
            tick += step
        }
        for (index, speaker) in answer.speakers.enumerated() {
            let colour = Self.colours[index % Self.colours.count]
            let middle =
                speaker.isOffsetKnown ? speaker.offset : speaker.audioRest - (answer.speakers.first?.audioRest ?? 0)
            let half = (speaker.interval.upperBound - speaker.interval.lowerBound) / 2
            body +=
                "<path d=\"M\(x(0)) \(y(middle - half))L\(x(span)) \(y(middle - half))L\(x(span)) \(y(middle + half))L\(x(0)) \(y(middle + half))Z\" fill=\"\(colour)\" fill-opacity=\"0.15\"/>\n"
                + "<path d=\"M\(x(0)) \(y(middle))L\(x(span)) \(y(middle))\" stroke=\"\(colour)\"/>\n"
            for reading in speaker.readings {
                guard let value = shown(reading, of: speaker) else { continue }
                let fill = reading.rejection == nil ? colour : "#fff"
                body +=
                    "<circle cx=\"\(x(reading.time))\" cy=\"\(y(value))\" r=\"4\" fill=\"\(fill)\" stroke=\"\(colour)\"><title>\(SVGText.escaped(reading.rejection ?? "used")): \(Decimals.signed(value, 3)) ms</title></circle>\n"
            }
            let label =
                "\(speaker.speaker.name): \(Decimals.signed(middle, 2)) ms ± \(Decimals.text(half, 2)), σ \(Decimals.text(speaker.sigma, 2)), \(speaker.used) events"
            body +=
                "<text x=\"\(Self.left)\" y=\"\(Self.top + Self.height + 44 + Double(index) * 18)\" fill=\"\(colour)\">\(SVGText.escaped(String(label.prefix(120))))</text>\n"
        }
        let bottom = Self.top + Self.height
        for second in stride(from: 0.0, through: span, by: span > 30 ? 10 : 5) {
            body +=
                "<text x=\"\(x(second))\" y=\"\(bottom + 20)\" text-anchor=\"middle\">\(Decimals.text(second, 0)) s</text>\n"
        }
        let total = Int(bottom) + 60 + answer.speakers.count * 18
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Int(Self.width))" height="\(total)" \
            viewBox="0 0 \(Int(Self.width)) \(total)" font-family="sans-serif" font-size="13" fill="#222">
            <rect width="100%" height="100%" fill="#fff"/>
            <text x="\(Int(Self.left))" y="30" font-size="18">\(SVGText.escaped(title))</text>
            \(body)</svg>

            """
    }

    private var title: String {
        answer.speakers.first?.isOffsetKnown == false
            ? "Sound after the first speaker, in ms" : "Sound minus picture, in ms: above 0 sound is later"
    }

    /// Returns the drawn value: the offset, or the delay to the first speaker if only differences were measured.
    private func shown(_ reading: SpeakerAnswer.Reading, of speaker: SpeakerAnswer) -> Double? {
        guard let offset = reading.offset else { return nil }
        if speaker.isOffsetKnown { return offset }
        return offset + speaker.screenRest - (answer.speakers.first?.audioRest ?? 0)
    }

    /// Returns 1, 2 or 5 times a power of ten that gives about six grid lines.
    private static func step(_ range: Double) -> Double {
        var step = 0.1
        for factor in [2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2] {
            if range / step <= 7 { break }
            step *= factor
        }
        return step
    }
}
