internal import Foundation
internal import MediaCore

/// Analysis of a recording by tones.
extension OutputCapture {
    /// Returns the level of a frequency in a range of samples (1 for a full-scale tone), and its phase in turns at
    /// sample 0.
    package func tone(_ hertz: Int, _ range: Range<Int>) -> (level: Double, turns: Double) {
        var (sine, cosine) = (0.0, 0.0)
        for index in range where samples.indices.contains(index) {
            let angle = 2 * Double.pi * Double(hertz) * Double(index) / rate
            sine += Double(samples[index]) * sin(angle)
            cosine += Double(samples[index]) * cos(angle)
        }
        let count = Double(range.count)
        return (2 * (sine * sine + cosine * cosine).squareRoot() / count, atan2(cosine, sine) / (2 * .pi))
    }

    /// An interval in which one frequency dominates, in seconds of the recording.
    package struct Stretch: CustomStringConvertible {
        package var hertz: Int
        package var start: Double
        package var end: Double

        package init(hertz: Int, start: Double, end: Double) {
            (self.hertz, self.start, self.end) = (hertz, start, end)
        }

        package var description: String { "\(hertz) Hz \(String(format: "%.2f…%.2f", start, end))" }
    }

    /// Returns the intervals of the recording, analysed in windows of 20 ms; silence is omitted.
    package func stretches(of hertz: [Int], above threshold: Double = 0.03) -> [Stretch] {
        let window = Int(rate * 0.02)
        var all: [Stretch] = []
        for start in stride(from: 0, to: samples.count - window, by: window) {
            let levels = hertz.map { (hertz: $0, level: tone($0, start..<(start + window)).level) }
            guard let strongest = levels.max(by: { $0.level < $1.level }), strongest.level > threshold else { continue }
            let (from, to) = (Double(start) / rate, Double(start + window) / rate)
            if let last = all.last, last.hertz == strongest.hertz, from - last.end < 0.03 {
                all[all.count - 1].end = to
            } else {
                all.append(Stretch(hertz: strongest.hertz, start: from, end: to))
            }
        }
        return all
    }

    /// Returns the phase error between two tones, in samples of 48 kHz modulo the second tone's period: samples that a
    /// gapless boundary lost or repeated. Both tones have phase zero at the boundary, and the first one's period is a
    /// multiple of the second one's. Returns NaN if an interval is too short.
    ///
    /// The phases are extrapolated to the boundary from a quarter of a second on each side: a card's drift correction
    /// changes them continuously, which is no error of the boundary.
    package func jointError(_ first: Stretch, _ second: Stretch) -> Double {
        func shift(of hertz: Int, at edge: Double, from near: Double, to far: Double) -> Double {
            let (middle, period) = ((near + far) / 2, 48000 / Double(hertz))
            func mean(_ one: Double, _ other: Double) -> Double {
                let range = Int(min(one, other) * rate)..<Int(max(one, other) * rate)
                // An interval next to a hole may be too short for the analysis.
                guard range.count > 96 else { return .nan }
                let (level, turns) = tone(hertz, range)
                return level > 0 ? -turns * period : .nan
            }
            let (nearby, distant) = (mean(near, middle), mean(middle, far))
            let step = nearby - distant
            let away = abs(edge - (near + middle) / 2) / (abs(far - near) / 2)
            return nearby + (step - (step / period).rounded() * period) * away
        }
        let before = shift(
            of: first.hertz, at: first.end, from: first.end - 0.05, to: max(first.start + 0.05, first.end - 0.3))
        let after = shift(
            of: second.hertz, at: second.start, from: second.start + 0.05,
            to: min(second.end - 0.05, second.start + 0.3))
        let period = 48000 / Double(second.hertz)
        let away = (after - before) / period
        return (away - away.rounded()) * period
    }

    /// Returns the index of the first sample above a level; nil if there is none.
    package func onset(above level: Float) -> Int? { samples.firstIndex { abs($0) > level } }

    /// Returns the phase shift of a tone across a moment of the recording, in samples of 48 kHz modulo its period:
    /// samples that a gapless boundary lost or repeated. The mean of the shifts before and after it is subtracted:
    /// drift correction changes the phase continuously.
    package func shift(of hertz: Int, at seconds: Double) -> Double {
        func lateness(_ from: Double) -> Double {
            let range = Int((from * rate).rounded())..<Int(((from + 0.1) * rate).rounded())
            return -tone(hertz, range).turns / Double(hertz) * 48000
        }
        let period = 48000 / Double(hertz)
        func step(_ from: Double) -> Double {
            let away = (lateness(from + 0.16) - lateness(from)) / period
            return (away - away.rounded()) * period
        }
        return step(seconds - 0.13) - (step(seconds - 0.29) + step(seconds + 0.03)) / 2
    }

    /// Returns the longest run of quiet samples within 50 ms of a moment of the recording.
    package func longestSilence(around seconds: Double, below level: Float) -> Duration {
        let range = Int((seconds - 0.05) * rate)..<Int((seconds + 0.05) * rate)
        var (longest, run) = (0, 0)
        for index in range where samples.indices.contains(index) {
            run = abs(samples[index]) < level ? run + 1 : 0
            longest = max(longest, run)
        }
        return .seconds(Double(longest) / rate)
    }
}
