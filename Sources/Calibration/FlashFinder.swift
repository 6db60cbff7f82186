internal import Glibc
internal import MediaCore

/// Finds flashes in a light sensor's signal, to a fraction of a millisecond.
///
/// Audio inputs block DC, so a flash is a step in one direction and a step back; the polarity is unknown. Backlight
/// flicker and slow panel response are smoothed.
struct FlashFinder {
    /// A detected flash.
    struct Flash: Equatable {
        /// The frame at half brightness.
        var frame: Double
        /// Height of both steps relative to the noise; 1 is noise.
        var clarity: Double
    }

    /// Window of the step detection in seconds: longer than a panel's response, shorter than a flash.
    private static let window = 0.006
    /// Minimum clarity; below it only flicker was recorded.
    static let minClarity = 4.0

    private let rate: Double
    /// Per frame: the mean of the window after it minus the mean of the window before it.
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
        // A subset of the frames is sufficient for a median.
        let heights = stride(from: 0, to: jumps.count, by: 97).map { Double(jumps[$0].magnitude) }
        noise = max(1e-5, OffsetStatistics.median(heights))
    }

    /// Returns the sign of the signal for increasing light, from all flashes.
    ///
    /// - Parameter flashes: The expected start and the duration of each, in frames.
    func polarity(_ flashes: [(frame: Double, length: Double)], reach: Double) -> Double {
        var sum = 0.0
        for flash in flashes {
            let up = best(near: flash.frame, length: flash.length, reach: reach, polarity: 1)?.height ?? 0
            let down = best(near: flash.frame, length: flash.length, reach: reach, polarity: -1)?.height ?? 0
            sum += up - down
        }
        return sum >= 0 ? 1 : -1
    }

    /// Returns the flash of known duration near its expected start, or nil if there is none.
    ///
    /// - Parameter reach: The maximum distance in frames.
    func find(near frame: Double, length: Double, reach: Double, polarity: Double) -> Flash? {
        guard let best = best(near: frame, length: length, reach: reach, polarity: polarity) else { return nil }
        let clarity = best.height / noise
        guard clarity >= Self.minClarity else { return nil }
        return Flash(frame: refined(best.frame, polarity: polarity), clarity: clarity)
    }

    /// Returns the position with the largest pair of opposite steps at a flash's distance; the smaller step counts.
    private func best(
        near frame: Double, length: Double, reach: Double, polarity: Double
    ) -> (frame: Int, height: Double)? {
        let first = Int(clamping: frame - reach, in: 0...jumps.count)
        let last = min(jumps.count - 1 - Int(length), Int(clamping: frame + reach, in: 0...jumps.count))
        guard first < last else { return nil }
        // At 60 Hz a flash can be one refresh longer or shorter.
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

    /// Returns the centre of the step, to half a frame.
    private func refined(_ place: Int, polarity: Double) -> Double {
        let reach = Int(Self.window * rate)
        var top = place
        for index in max(1, place - reach)...min(jumps.count - 2, place + reach)
        where Double(jumps[index]) * polarity > Double(jumps[top]) * polarity { top = index }
        // The smoothed maximum is flat within the noise; the middle between its flanks at 90 % is more exact.
        let level = Double(jumps[top]) * polarity * 0.9
        var left = top
        while left > 0, Double(jumps[left]) * polarity > level { left -= 1 }
        var right = top
        while right < jumps.count - 1, Double(jumps[right]) * polarity > level { right += 1 }
        return Double(left + right) / 2
    }
}
