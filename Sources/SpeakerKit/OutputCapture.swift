package import Foundation
public import MediaCore

/// Samples that an output played, with the host instants at which they were audible.
public struct OutputCapture: Sendable {
    /// One channel, full scale ±1.
    public let samples: [Float]
    /// Frames per second.
    public let rate: Double
    private let times: Times

    /// Median deviation of the recorder's anchors from a straight line, in milliseconds.
    package var residual: Double { times.residual }

    /// Host time of frame 0 relative to `base`, and per frame, in nanoseconds.
    private struct Times {
        var base: Double
        var origin = 0.0
        var perFrame: Double
        var residual = 0.0
    }

    private struct Sidecar: Decodable {
        struct Anchor: Decodable {
            var frame: Double
            var monotonicNanoseconds: Double

            enum CodingKeys: String, CodingKey {
                case frame
                case monotonicNanoseconds = "monotonic_ns"
            }
        }
        var anchors: [Anchor]
    }

    /// Reads a recording. Without a sidecar with time anchors, time starts at 0.
    ///
    /// - Parameters:
    ///   - file: 16-bit samples; its sidecar has the extension `.json`.
    ///   - channel: Counted from 0.
    package init(file: URL, channel: Int = 0) throws {
        (samples, rate) = Self.readSamples(in: [UInt8](try Data(contentsOf: file)), channel)
        let sidecar = file.appendingPathExtension("json")
        var anchors: [Sidecar.Anchor] = []
        if FileManager.default.fileExists(atPath: sidecar.path) {
            anchors = try JSONDecoder().decode(Sidecar.self, from: Data(contentsOf: sidecar)).anchors
        }
        times = Self.fitTimes(through: anchors, nominal: 1e9 / rate)
    }

    /// Creates a recording from samples.
    ///
    /// - Parameter start: instant at which the first sample was audible.
    public init(samples: [Float], rate: Double, start: HostInstant) {
        self.samples = samples
        self.rate = rate
        times = Times(base: Double(start.nanoseconds), perFrame: 1e9 / rate)
    }

    /// Returns this recording and a later one of the same rate, joined with the silence between them.
    package func followed(by later: OutputCapture) -> OutputCapture {
        let gap = (later.instant(of: 0) - instant(of: Double(samples.count))) / times.perFrame
        let start = HostInstant(nanoseconds: Int64(instant(of: 0)))
        let silence = [Float](repeating: 0, count: max(0, Int(gap.rounded())))
        return OutputCapture(samples: samples + silence + later.samples, rate: rate, start: start)
    }

    private static func readSamples(in bytes: [UInt8], _ channel: Int) -> (samples: [Float], rate: Double) {
        func integer(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
        var offset = 12
        var (channels, rate) = (2, 48000)
        var samples: [Float] = []
        while offset + 8 <= bytes.count {
            let name = String(decoding: bytes[offset..<(offset + 4)], as: UTF8.self)
            let size = integer(offset + 4) | integer(offset + 6) << 16
            if name == "fmt " {
                (channels, rate) = (integer(offset + 10), integer(offset + 12) | integer(offset + 14) << 16)
            }
            if name == "data" {
                let end = min(bytes.count, offset + 8 + size) - 1
                for position in stride(from: offset + 8 + channel * 2, to: end, by: channels * 2) {
                    samples.append(Float(Int16(truncatingIfNeeded: integer(position))) / 32768)
                }
            }
            offset += 8 + size + size % 2
        }
        return (samples, Double(rate))
    }

    private static func fitTimes(through anchors: [Sidecar.Anchor], nominal: Double) -> Times {
        let base = anchors.first?.monotonicNanoseconds ?? 0
        var times = Times(base: base, perFrame: nominal)
        var points = anchors.map { (x: $0.frame, y: $0.monotonicNanoseconds - base) }
        for _ in 0..<4 where !points.isEmpty {
            let n = Double(points.count)
            let (mx, my) = (points.reduce(0) { $0 + $1.x } / n, points.reduce(0) { $0 + $1.y } / n)
            let sxx = points.reduce(0) { $0 + ($1.x - mx) * ($1.x - mx) }
            let slope = points.count > 1 ? points.reduce(0) { $0 + ($1.x - mx) * ($1.y - my) } / max(1, sxx) : nominal
            let origin = my - slope * mx
            let residuals = points.map { abs($0.y - origin - slope * $0.x) }.sorted()
            let spread = residuals[residuals.count / 2]
            (times.perFrame, times.origin, times.residual) = (slope, origin, spread / 1e6)
            points = points.filter { abs($0.y - origin - slope * $0.x) < 3 * spread + 10_000 }
        }
        return times
    }

    /// Returns the host time at which a frame was audible, in nanoseconds.
    package func instant(of frame: Double) -> Double { times.base + times.origin + times.perFrame * frame }

    /// Returns the centres of the pulses in host nanoseconds, with their peaks.
    package func pulses(above level: Float) -> [(at: Double, peak: Float)] {
        var found: [(Double, Float)] = []
        var index = 0
        while index < samples.count {
            guard samples[index] > level else {
                index += 1
                continue
            }
            // Centre of gravity of the samples above a quarter of the level.
            var (weight, moment, peak) = (0.0, 0.0, Float(0))
            let end = min(samples.count, index + 200)
            for at in max(0, index - 100)..<end where samples[at] > level / 4 {
                weight += Double(samples[at])
                moment += Double(samples[at]) * Double(at)
                peak = max(peak, samples[at])
            }
            found.append((instant(of: moment / weight), peak))
            index = end
        }
        return found
    }

    /// Returns the longest run of frames below a level between two host times.
    package func longestSilence(from: Double, to: Double, below level: Float) -> Int {
        var (longest, run) = (0, 0)
        for (index, sample) in samples.enumerated() {
            let at = instant(of: Double(index))
            if at < from || at > to { continue }
            run = abs(sample) < level ? run + 1 : 0
            longest = max(longest, run)
        }
        return longest
    }
}
