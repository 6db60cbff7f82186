/// Extrapolates audio past its end, or before its start, by its own spectrum.
///
/// A resampling filter needs it in place of a neighbour that it cannot see. Burg's method (J. P. Burg, "Maximum Entropy
/// Spectral Analysis", 1975), per channel; its filters are stable, so the extrapolation never grows.
struct LinearPrediction {
    /// Maximum number of frames analysed: about 10 ms at the usual rates.
    static let window = 512
    private static let order = 32

    private var forward = [Double](repeating: 0, count: window)
    private var backward = [Double](repeating: 0, count: window)
    private var coefficients = [Double](repeating: 0, count: order + 1)
    private var previous = [Double](repeating: 0, count: order + 1)
    private var memory = [Double](repeating: 0, count: order)

    /// Writes `count` interleaved frames that continue `frames` frames or, if reversed, precede them.
    mutating func extend(
        _ samples: UnsafePointer<Float>, frames: Int, channels: Int, isReversed: Bool, by count: Int,
        into target: UnsafeMutablePointer<Float>
    ) {
        // The frames next to the extrapolation are used: the first ones if reversed, otherwise the last.
        let used = min(frames, Self.window)
        let first = isReversed ? 0 : frames - used
        for channel in 0..<channels {
            func sample(_ index: Int) -> Double {
                let frame = isReversed ? used - 1 - index : first + index
                return Double(samples[frame * channels + channel])
            }
            for index in 0..<used {
                forward[index] = sample(index)
                backward[index] = forward[index]
            }
            let order = fit(used)
            for index in 0..<order { memory[index] = sample(used - 1 - index) }
            for index in 0..<count {
                var next = 0.0
                for tap in 0..<order { next -= coefficients[tap + 1] * memory[tap] }
                if !next.isFinite { next = 0 }
                for tap in stride(from: order - 1, to: 0, by: -1) { memory[tap] = memory[tap - 1] }
                if order > 0 { memory[0] = next }
                let frame = isReversed ? count - 1 - index : index
                target[frame * channels + channel] = Float(next)
            }
        }
    }

    /// Computes the coefficients for the samples in `forward`. Returns their number.
    private mutating func fit(_ count: Int) -> Int {
        let order = min(Self.order, count / 4)
        coefficients[0] = 1
        for step in 0..<order {
            var (product, energy) = (0.0, 0.0)
            for index in (step + 1)..<count {
                product += forward[index] * backward[index - 1]
                energy += forward[index] * forward[index] + backward[index - 1] * backward[index - 1]
            }
            // Silence, or no residual energy.
            guard energy > 1e-20 else { return step }
            let reflection = -2 * product / energy
            for index in 0...step { previous[index] = coefficients[index] }
            coefficients[step + 1] = 0
            previous[step + 1] = 0
            for index in 1...(step + 1) {
                coefficients[index] = previous[index] + reflection * previous[step + 1 - index]
            }
            for index in stride(from: count - 1, to: step, by: -1) {
                let (ahead, behind) = (forward[index], backward[index - 1])
                forward[index] = ahead + reflection * behind
                backward[index] = behind + reflection * ahead
            }
        }
        return order
    }
}
