internal import Glibc

/// Reads a stream of frames at a fractional position that advances by nearly one frame per output frame.
///
/// A Kaiser-windowed sinc in 256 phases, coefficients interpolated linearly between phases (J. O. Smith, "Digital
/// Audio Resampling"): with 32 taps errors stay below −90 dB up to 18 kHz at 48 kHz. It is meant for ratios within a
/// few per cent of 1, so the filter is not narrowed for ratios above 1. A whole position with a step of exactly 1 is
/// a copy.
///
/// Without state: the position belongs to the caller. Nothing here allocates after `init`.
public final class DriftResampler: Sendable {
    /// Frames of the input needed before the frame that holds the position, and after it.
    public let framesBefore: Int
    public let framesAfter: Int

    private let taps: Int
    private static let phases = 256
    /// Kaiser's shape parameter: 9.6 gives about −95 dB of stop band.
    private static let shape = 9.6

    /// Coefficients by phase, each twice, so that a group of them meets interleaved stereo without shuffling.
    private let table: [Float]

    /// - Parameter taps: a multiple of 4; fewer are cheaper and duller.
    public init(taps: Int = 32) {
        precondition(taps >= 4 && taps % 4 == 0, "taps come in groups of four")
        self.taps = taps
        framesBefore = taps / 2 - 1
        framesAfter = taps / 2
        // One phase more than needed, so that interpolation never wraps.
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
                // Every phase passes a constant unchanged; otherwise the phases would modulate it.
                let weight = Float(row[tap] / sum)
                table[(phase * taps + tap) * 2] = weight
                table[(phase * taps + tap) * 2 + 1] = weight
            }
        }
        self.table = table
    }

    /// The modified Bessel function of the first kind, order zero, by its power series.
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
    ///   - input: interleaved; must hold frames from `floor(position) − framesBefore` to
    ///     `floor(position + (frames − 1) × step) + framesAfter`.
    ///   - position: fractional frame number within `input`, at least `framesBefore`.
    public func render(
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
                let whole = Int(at)
                let scaled = (at - Double(whole)) * Double(Self.phases)
                let phase = Int(scaled)
                let row = table.baseAddress! + phase * taps * 2
                let samples = input + (whole - framesBefore) * channels
                let target = output + frame * channels
                let between = Float(scaled - Double(phase))
                if channels == 2 {
                    stereo(samples, row, between, into: target)
                } else {
                    for channel in 0..<channels {
                        target[channel] = single(samples + channel, channels, row, between)
                    }
                }
            }
        }
    }

    /// One frame of interleaved stereo: four taps at a time.
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

    /// One channel of a frame; four sums, because one chain of additions would wait for itself.
    private func single(
        _ samples: UnsafePointer<Float>, _ channels: Int, _ row: UnsafePointer<Float>, _ between: Float
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
