internal import Glibc
internal import MediaCore

/// One of eight short sounds that are distinguishable and locatable to a fraction of a sample.
///
/// The band is divided into four, and each quarter of the sound sweeps through one part, up or down. All eight have the
/// same flat spectrum, and thus the same narrow autocorrelation peak (below 0.18 at 0.5 ms distance). The
/// cross-correlation is below 0.3. The set was found by a search through all 384 orders and directions.
package struct ChirpCode: Hashable, Sendable {
    /// The index of the code, 0 to 7.
    let number: Int

    /// All eight codes.
    static let all = (0..<8).map { ChirpCode(number: $0) }

    /// Duration in seconds: detectable at 0 dB signal-to-noise ratio, and perceived as one event.
    static let length = 0.08
    /// Hertz. Small loudspeakers, laptop microphones and recordings at 16 kHz cover all of it.
    static let band = 700.0...7000.0
    /// Peak amplitude relative to full scale; 12 dB of headroom for a speaker's loudness processing remain.
    static let amplitude = 0.35
    /// Duration of fade-in and fade-out, relative to `length`.
    private static let fade = 0.1

    private static let plans: [(order: [Int], rises: [Bool])] = [
        ([0, 1, 3, 2], [true, true, false, true]), ([3, 2, 1, 0], [false, false, true, false]),
        ([1, 3, 0, 2], [true, true, false, true]), ([2, 0, 3, 1], [false, false, false, false]),
        ([3, 0, 1, 2], [false, true, false, true]), ([0, 2, 1, 3], [true, true, false, true]),
        ([2, 3, 1, 0], [true, true, false, false]), ([3, 1, 2, 0], [false, true, true, true]),
    ]

    /// Returns the analytic signal at `time` seconds after the onset; zero outside. Its real part is the sound.
    func value(at time: Double) -> (real: Double, imaginary: Double) {
        guard time >= 0, time < Self.length else { return (0, 0) }
        let (order, rises) = Self.plans[number]
        let interval = Self.length / Double(order.count)
        let width = (Self.band.upperBound - Self.band.lowerBound) / Double(order.count)
        let index = min(order.count - 1, Int(time / interval))
        // The phase is continuous: each part adds its mean frequency times its duration.
        var turns = 0.0
        for earlier in 0..<index { turns += (Self.band.lowerBound + (Double(order[earlier]) + 0.5) * width) * interval }
        let since = time - Double(index) * interval
        let low = Self.band.lowerBound + Double(order[index]) * width
        let (first, slope) = rises[index] ? (low, width / interval) : (low + width, -width / interval)
        turns += first * since + slope * since * since / 2
        let phase = 2 * Double.pi * turns
        let edge = Self.length * Self.fade
        let inside = min(1, min(time, Self.length - time) / edge)
        let level = 0.5 - 0.5 * cos(Double.pi * inside)
        return (level * cos(phase), level * sin(phase))
    }

    /// Adds the sound to mono samples.
    ///
    /// - Parameters:
    ///   - onset: The start in frames of `samples`; may be fractional.
    ///   - rate: Frames per second.
    func add(to samples: inout [Float], onset: Double, rate: Double, amplitude: Double = ChirpCode.amplitude) {
        let first = Int(clamping: onset.rounded(.up), in: 0...samples.count)
        let end = Int(clamping: (onset + Self.length * rate).rounded(.up), in: 0...samples.count)
        guard first < end else { return }
        for frame in first..<end {
            samples[frame] += Float(amplitude * value(at: (Double(frame) - onset) / rate).real)
        }
    }
}
