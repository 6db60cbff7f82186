import Foundation
import MediaCore

/// What a sink played, and at which host instants.
struct Recording {
    /// The first channel, full scale ±1.
    let samples: [Float]
    let rate: Double
    /// Host nanoseconds of frame 0 relative to `base`, and per frame.
    private let origin: Double
    private let perFrame: Double
    private let base: Double
    /// How far the anchors lie from the line, in milliseconds.
    let residual: Double

    private struct Sidecar: Decodable {
        struct Anchor: Decodable {
            var frame: Double
            var monotonicNanoseconds: Double

            enum CodingKeys: String, CodingKey {
                case frame
                case monotonicNanoseconds = "monotonic_ns"
            }
        }
        var rate: Double
        var anchors: [Anchor]
    }

    init(file: URL) throws {
        let data = try Data(contentsOf: file)
        // The 44 bytes of a plain WAV header, then 16-bit stereo.
        let frames = (data.count - 44) / 4
        samples = (0..<max(0, frames)).map { index in
            let at = 44 + index * 4
            return Float(Int16(bitPattern: UInt16(data[at]) | UInt16(data[at + 1]) << 8)) / 32768
        }
        let sidecar = try JSONDecoder().decode(
            Sidecar.self, from: Data(contentsOf: file.appendingPathExtension("json")))
        rate = sidecar.rate
        base = sidecar.anchors.first?.monotonicNanoseconds ?? 0
        var points = sidecar.anchors.map {
            (x: $0.frame, y: $0.monotonicNanoseconds - (sidecar.anchors.first?.monotonicNanoseconds ?? 0))
        }
        var (slope, offset, spread) = (1e9 / rate, 0.0, 0.0)
        for _ in 0..<4 {
            let n = Double(points.count)
            let (mx, my) = (points.reduce(0) { $0 + $1.x } / n, points.reduce(0) { $0 + $1.y } / n)
            let sxx = points.reduce(0) { $0 + ($1.x - mx) * ($1.x - mx) }
            slope = points.reduce(0) { $0 + ($1.x - mx) * ($1.y - my) } / max(1, sxx)
            offset = my - slope * mx
            let residuals = points.map { abs($0.y - offset - slope * $0.x) }.sorted()
            spread = residuals[residuals.count / 2]
            points = points.filter { abs($0.y - offset - slope * $0.x) < 3 * spread + 10_000 }
        }
        (perFrame, origin, residual) = (slope, offset, spread / 1e6)
    }

    /// When a frame was heard, as nanoseconds of the host clock.
    func instant(of frame: Double) -> Double { base + origin + perFrame * frame }

    /// Centres of the pulses in it, as host nanoseconds, with their peaks.
    func pulses(above level: Float) -> [(at: Double, peak: Float)] {
        var found: [(Double, Float)] = []
        var index = 0
        while index < samples.count {
            guard samples[index] > level else {
                index += 1
                continue
            }
            // The centre of gravity of what stands out around here.
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

    /// The longest run of frames in a stretch that are all below a level.
    func longestSilence(from: Double, to: Double, below level: Float) -> Int {
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
