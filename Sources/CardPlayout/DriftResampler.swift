internal import Glibc

/// Resamples a stream at a fractional position that advances by nearly one frame per output frame.
///
/// The filter is a Kaiser-windowed sinc in 256 phases with linear interpolation of the coefficients (J. O. Smith,
/// "Digital Audio Resampling"). With 32 taps errors stay below −90 dB up to 18 kHz at 48 kHz. Ratios stay within a few
/// per cent of 1, so the filter is not narrowed for ratios above 1. An integer position with a step of exactly 1 is a
/// copy.
///
/// Stateless: the caller owns the position. Allocates nothing after `init`. Any thread.
package final class DriftResampler: Sendable {
    /// The number of input frames required before the frame at the position, and after it.
    let framesBefore: Int
    /// The number of input frames required after the frame at the position.
    let framesAfter: Int

    private let taps: Int
    private static let phases = 256
    /// The Kaiser window's shape parameter: 9.6 gives about −95 dB of stop-band attenuation.
    private static let shape = 9.6

    /// Coefficients by phase, each duplicated, so that a vector of them matches interleaved stereo without a shuffle.
    private let table: [Float]

    /// Creates a resampler and its coefficient table.
    ///
    /// - Parameter taps: The filter length, a multiple of 4; fewer taps cost less and attenuate high frequencies.
    package init(taps: Int = 32) {
        precondition(taps >= 4 && taps % 4 == 0, "taps come in groups of four")
        self.taps = taps
        framesBefore = taps / 2 - 1
        framesAfter = taps / 2
        // One additional phase, so that interpolation never wraps.
        var table = [Float](repeating: 0, count: (Self.phases + 1) * taps * 2)
        let half = Double(taps) / 2
        for phase in 0...Self.phases {
            let fraction = Double(phase) / Double(Self.phases)
            var sum = 0.0
            var row = [Double](repeating: 0, count: taps)
            for tap in 0..<taps {
                let distance = Double(tap - framesBefore) - fraction
                let ideal = distance == 0 ? 1 : sin(.pi * distance) / (.pi * distance)
                let across = max(0, 1 - (distance / half) * (distance / half))
                let window = Self.bessel(Self.shape * across.squareRoot()) / Self.bessel(Self.shape)
                row[tap] = ideal * window
                sum += row[tap]
            }
            for tap in 0..<taps {
                // Every phase has unity DC gain; otherwise the phases would modulate a constant.
                let weight = Float(row[tap] / sum)
                table[(phase * taps + tap) * 2] = weight
                table[(phase * taps + tap) * 2 + 1] = weight
            }
        }
        self.table = table
    }

    /// Returns the modified Bessel function of the first kind, order zero, by its power series.
    private static func bessel(_ x: Double) -> Double {
        var (sum, term, k) = (1.0, 1.0, 1.0)
        while term > sum * 1e-12 {
            term *= (x / (2 * k)) * (x / (2 * k))
            sum += term
            k += 1
        }
        return sum
    }

    /// Writes `frames` interleaved frames, the first at `position` of the input and each next one `step` later.
    ///
    /// - Parameters:
    ///   - input: Interleaved frames from `floor(position) − framesBefore` to
    ///     `floor(position + (frames − 1) × step) + framesAfter`.
    ///   - position: The fractional frame number within `input`, at least `framesBefore`.
    func render(
        _ input: UnsafePointer<Float>, channels: Int, position: Double, step: Double,
        into output: UnsafeMutablePointer<Float>, frames: Int
    ) {
        if step == 1, position == position.rounded(.down) {
            output.update(from: input + Int(position) * channels, count: frames * channels)
            return
        }
        table.withUnsafeBufferPointer { table in
            for frame in 0..<frames {
                let at = position + Double(frame) * step
                let index = Int(at)
                let scaled = (at - Double(index)) * Double(Self.phases)
                let phase = Int(scaled)
                let row = table.baseAddress! + phase * taps * 2
                let samples = input + (index - framesBefore) * channels
                let target = output + frame * channels
                let between = Float(scaled - Double(phase))
                if channels == 2 {
                    stereo(samples, row, between, into: target)
                } else {
                    for channel in 0..<channels {
                        target[channel] = single(samples + channel, channels: channels, row: row, between: between)
                    }
                }
            }
        }
    }

    /// Calculates one frame of interleaved stereo, four taps at a time.
    private func stereo(
        _ samples: UnsafePointer<Float>, _ row: UnsafePointer<Float>, _ between: Float,
        into output: UnsafeMutablePointer<Float>
    ) {
        let (samples, row) = (UnsafeRawPointer(samples), UnsafeRawPointer(row))
        let stride = taps * 2 * MemoryLayout<Float>.stride
        let fraction = SIMD8<Float>(repeating: between)
        var sum = SIMD8<Float>(repeating: 0)
        var offset = 0
        while offset < stride {
            let a = row.loadUnaligned(fromByteOffset: offset, as: SIMD8<Float>.self)
            let b = row.loadUnaligned(fromByteOffset: offset + stride, as: SIMD8<Float>.self)
            sum += samples.loadUnaligned(fromByteOffset: offset, as: SIMD8<Float>.self) * (a + (b - a) * fraction)
            offset += 32
        }
        output[0] = sum[0] + sum[2] + sum[4] + sum[6]
        output[1] = sum[1] + sum[3] + sum[5] + sum[7]
    }

    /// Calculates one channel of a frame. Four accumulators break the dependency chain of the additions.
    private func single(
        _ samples: UnsafePointer<Float>, channels: Int, row: UnsafePointer<Float>, between: Float
    ) -> Float {
        let next = row + taps * 2
        var (s0, s1, s2, s3) = (Float(0), Float(0), Float(0), Float(0))
        var tap = 0
        while tap < taps {
            s0 += samples[tap * channels] * (row[tap * 2] + (next[tap * 2] - row[tap * 2]) * between)
            s1 +=
                samples[(tap + 1) * channels]
                * (row[tap * 2 + 2] + (next[tap * 2 + 2] - row[tap * 2 + 2]) * between)
            s2 +=
                samples[(tap + 2) * channels]
                * (row[tap * 2 + 4] + (next[tap * 2 + 4] - row[tap * 2 + 4]) * between)
            s3 +=
                samples[(tap + 3) * channels]
                * (row[tap * 2 + 6] + (next[tap * 2 + 6] - row[tap * 2 + 6]) * between)
            tap += 4
        }
        return s0 + s1 + s2 + s3
    }
}
