internal import Glibc
internal import MediaCore

/// Finds flashes in what a light sensor put out: where each begins, to a fraction of a millisecond.
///
/// Sound inputs let no steady voltage through, so a flash is a jump one way and a jump back; which way is not known
/// beforehand. A backlight's flicker and a panel's slow rise are smoothed over.
struct FlashFinder {
    struct Flash: Equatable {
        /// Where the light is half way up, in frames.
        package var frame: Double
        /// Height of both jumps above what else moves there; 1 is nothing.
        var clarity: Double
    }

    /// The window over which a jump is measured, in seconds: longer than a panel needs, shorter than a flash.
    private static let window = 0.006
    /// Below this the sensor saw no more than flicker.
    static let leastClarity = 4.0

    private let rate: Double
    /// For each frame: mean of the window after it minus mean of the window before it.
    private let jumps: [Float]
    private let noise: Double

    init(_ samples: [Float], rate: Double) {
        self.rate = rate
        let width = max(4, Int(Self.window * rate))
        var sums = [Double](repeating: 0, count: samples.count + 1)
        for index in samples.indices { sums[index + 1] = sums[index] + Double(samples[index]) }
        var jumps = [Float](repeating: 0, count: samples.count)
        if samples.count > 2 * width {
            for index in width..<(samples.count - width) {
                let after = sums[index + width] - sums[index]
                let before = sums[index] - sums[index - width]
                jumps[index] = Float((after - before) / Double(width))
            }
        }
        self.jumps = jumps
        // A sample of the heights is enough for their usual size.
        let heights = stride(from: 0, to: jumps.count, by: 97).map { Double(jumps[$0].magnitude) }
        noise = max(1e-5, OffsetStatistics.median(heights))
    }

    /// Which way the sensor's voltage goes when it becomes light, judged by all flashes together.
    ///
    /// - Parameter flashes: where each should begin and how long it lasts, in frames.
    func polarity(_ flashes: [(frame: Double, length: Double)], reach: Double) -> Double {
        var sum = 0.0
        for flash in flashes {
            let up = best(near: flash.frame, length: flash.length, reach: reach, polarity: 1)?.height ?? 0
            let down = best(near: flash.frame, length: flash.length, reach: reach, polarity: -1)?.height ?? 0
            sum += up - down
        }
        return sum >= 0 ? 1 : -1
    }

    /// The flash of known length that begins nearest to where it should; nil where there is nothing like it.
    ///
    /// - Parameter reach: how far away it may be, in frames.
    func find(near frame: Double, length: Double, reach: Double, polarity: Double) -> Flash? {
        guard let best = best(near: frame, length: length, reach: reach, polarity: polarity) else { return nil }
        let clarity = best.height / noise
        guard clarity >= Self.leastClarity else { return nil }
        return Flash(frame: refined(best.frame, polarity: polarity), clarity: clarity)
    }

    /// The place where a jump up and, a flash's length later, a jump down are together largest; the smaller one counts.
    private func best(
        near frame: Double, length: Double, reach: Double, polarity: Double
    ) -> (frame: Int, height: Double)? {
        let first = Int(clamping: frame - reach, in: 0...jumps.count)
        let last = min(jumps.count - 1 - Int(length), Int(clamping: frame + reach, in: 0...jumps.count))
        guard first < last else { return nil }
        // A screen that refreshes 60 times a second holds a flash up to a refresh longer or shorter.
        let slack = Int(clamping: 0.017 * rate, in: 0...jumps.count)
        let step = max(1, Int(rate / 8000))
        var best: (frame: Int, height: Double)?
        for place in stride(from: first, to: last, by: step) {
            let up = Double(jumps[place]) * polarity
            guard up > (best?.height ?? noise) else { continue }
            var down = 0.0
            for end in stride(
                from: max(0, place + Int(length) - slack), to: min(jumps.count, place + Int(length) + slack), by: step)
            {
                down = max(down, -Double(jumps[end]) * polarity)
            }
            let height = min(up, down)
            if height > (best?.height ?? 0) { best = (place, height) }
        }
        return best
    }

    /// The steepest place: the jump's own maximum near by, between frames by a parabola.
    private func refined(_ place: Int, polarity: Double) -> Double {
        let reach = Int(Self.window * rate)
        var top = place
        for index in max(1, place - reach)...min(jumps.count - 2, place + reach)
        where Double(jumps[index]) * polarity > Double(jumps[top]) * polarity { top = index }
        // The top of the smoothed jump is flat within noise; its flanks at nine tenths say where the middle is.
        let level = Double(jumps[top]) * polarity * 0.9
        var left = top
        while left > 0, Double(jumps[left]) * polarity > level { left -= 1 }
        var right = top
        while right < jumps.count - 1, Double(jumps[right]) * polarity > level { right += 1 }
        return Double(left + right) / 2
    }
}
