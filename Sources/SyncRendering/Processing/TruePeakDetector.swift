internal import Glibc

/// Estimates the true peak between samples by fourfold oversampling as required by ITU-R BS.1770-4, annex 2.
///
/// The interpolator has 32 taps for each of three phases, a sinc with a Kaiser window. It is longer than the annex's,
/// because frequencies just below half the sample rate overshoot most. Confined to one thread; allocates only in
/// `init`.
struct TruePeakDetector {
    /// The number of input frames on each side of the interpolated position.
    static let reach = 16
    /// The number of taps per phase.
    static let taps = 2 * reach

    /// The coefficients of the phases ¼, ½ and ¾ in sequence.
    private let kernel: [Float]
    /// The maximum ratio of an interpolated value to the highest surrounding sample.
    let worstOvershoot: Float

    init() {
        var kernel: [Float] = []
        var worst: Float = 1
        for phase in 1...3 {
            let position = Double(phase) / 4
            var weights = (0..<Self.taps).map { tap -> Double in
                let away = position - Double(tap - Self.reach + 1)
                return Self.sinc(away) * Self.kaiser(away / Double(Self.reach))
            }
            let sum = weights.reduce(0, +)
            weights = weights.map { $0 / sum }
            worst = max(worst, Float(weights.reduce(0) { $0 + abs($1) }))
            kernel += weights.map(Float.init)
        }
        self.kernel = kernel
        worstOvershoot = worst
    }

    /// Returns the absolute maximum of the three values between two samples.
    ///
    /// - Parameter samples: `taps` samples of one channel, with the two in the middle.
    func peak(around samples: UnsafePointer<Float>) -> Float {
        kernel.withUnsafeBufferPointer { kernel in
            var (first, second, third) = (Float(0), Float(0), Float(0))
            for tap in 0..<Self.taps {
                let sample = samples[tap]
                first += sample * kernel[tap]
                second += sample * kernel[Self.taps + tap]
                third += sample * kernel[2 * Self.taps + tap]
            }
            return max(abs(first), max(abs(second), abs(third)))
        }
    }

    private static func sinc(_ position: Double) -> Double {
        position == 0 ? 1 : sin(.pi * position) / (.pi * position)
    }

    /// Returns a Kaiser window with β = 5, whose side lobes are about 55 dB down.
    private static func kaiser(_ position: Double) -> Double {
        guard abs(position) < 1 else { return 0 }
        return bessel(5 * (1 - position * position).squareRoot()) / bessel(5)
    }

    /// Returns the modified Bessel function of the first kind, order 0, by its series.
    private static func bessel(_ x: Double) -> Double {
        var (sum, term) = (1.0, 1.0)
        for step in 1..<30 {
            term *= (x / 2) * (x / 2) / Double(step * step)
            sum += term
        }
        return sum
    }
}
