internal import Glibc

/// The level of a recording; full scale is 1.
struct AudioLevel {
    /// Peak below which nothing was recorded: one step of 16 bits is 3e-5.
    static let silence: Float = 1e-4
    /// RMS of an empty room: −60 dB.
    static let quiet = 1e-3

    let peak: Float
    let rms: Double
    /// The share of samples at full scale.
    let clippedShare: Double

    init(_ samples: [Float]) {
        var (peak, sum, full): (Float, Double, Int) = (0, 0, 0)
        for sample in samples {
            peak = max(peak, sample.magnitude)
            sum += Double(sample) * Double(sample)
            if sample.magnitude >= 0.98 { full += 1 }
        }
        self.peak = peak
        rms = (sum / Double(max(1, samples.count))).squareRoot()
        clippedShare = Double(full) / Double(max(1, samples.count))
    }

    var decibels: Double { 20 * log10(max(rms, 1e-9)) }
}
