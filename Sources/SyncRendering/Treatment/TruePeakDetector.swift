internal import Glibc

/// Estimates how high a signal rises between its samples, by fourfold oversampling as ITU-R BS.1770-4, annex 2, asks.
///
/// The interpolator is an own one: 32 taps for each of three phases, sinc under a Kaiser window; longer than the annex's, because what
/// lies just below half the rate rises highest. Owned by one thread; allocates
/// only when it is made.
struct TruePeakDetector {
    /// Input frames on each side of the place between two of them.
    static let reach = 16
    /// Taps of a phase.
    static let taps = 2 * reach

    /// Phases at ¼, ½ and ¾, one after the other.
    private let kernel: [Float]
    /// No point between samples is higher than this factor of the highest sample around.
    let worstOvershoot: Float

    init() {
        var kernel: [Float] = []
        var worst: Float = 1
        for phase in 1...3 {
            let place = Double(phase) / 4
            var weights = (0..<Self.taps).map { tap -> Double in
                let away = place - Double(tap - Self.reach + 1)
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

    /// The highest of the three points between two neighbours.
    ///
    /// - Parameter samples: `taps` of one channel, the two neighbours in the middle.
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

    private static func sinc(_ place: Double) -> Double { place == 0 ? 1 : sin(.pi * place) / (.pi * place) }

    /// Kaiser's window with β = 5: side lobes some 55 dB down.
    private static func kaiser(_ place: Double) -> Double {
        guard abs(place) < 1 else { return 0 }
        return bessel(5 * (1 - place * place).squareRoot()) / bessel(5)
    }

    /// The modified Bessel function of the first kind and order 0, by its series.
    private static func bessel(_ x: Double) -> Double {
        var (sum, term) = (1.0, 1.0)
        for step in 1..<30 {
            term *= (x / 2) * (x / 2) / Double(step * step)
            sum += term
        }
        return sum
    }
}
