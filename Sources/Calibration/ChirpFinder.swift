internal import Glibc
internal import MediaCodecs
internal import MediaCore

/// Finds chirps in a recording by matched filter, to a fraction of a frame. Owned and used by one thread.
///
/// Frequencies outside the chirps' band are excluded, so hum and rumble have no effect.
final class ChirpFinder {
    /// A detected chirp.
    struct Peak: Equatable {
        var code: ChirpCode
        /// The onset in frames.
        var frame: Double
        /// Normalized correlation: 1 for a clean chirp, 0.7 in noise of equal level.
        var likeness: Double
        /// The amplitude relative to full scale.
        var amplitude: Double
        /// The strongest other arrival within 80 ms, relative to this one.
        var echo: Double
    }

    /// Minimum likeness of a chirp. Different codes have less, and so does noise.
    ///
    /// In noise one of 10⁶ independent positions reaches 0.25 (Rayleigh distribution at a
    /// time-bandwidth product of 500).
    static let minLikeness = 0.3
    /// Relative strength from which an earlier arrival is the direct sound; more than any side lobe.
    private static let firstArrival = 0.5
    /// The range of the search for echoes, and the width of a peak's flank, in seconds.
    private static let echoReach = 0.08
    private static let flank = 0.002
    /// Minimum distance of chirps in seconds.
    private static let separation = 0.04
    private static let maxPeaks = 400
    private static let maxMaxima = 200_000

    /// A local maximum of the matched filter.
    private struct Maximum {
        var frame: Double
        var strength: Double
        var likeness: Double
    }

    private let rate: Double
    private let length: Int
    private let transform: FourierTransform
    private var templates: [ChirpCode: (spectrum: [Float], energy: Double)] = [:]

    /// - Parameter rate: Frames per second of the recording.
    init(rate: Double) {
        self.rate = rate
        length = Int(clamping: (ChirpCode.length * rate).rounded(.up), in: 1...1 << 20)
        var size = 1024
        while size < length * 4 { size *= 2 }
        transform = FourierTransform(count: size)
    }

    /// Returns the best matches per code in order of time, at most `maxPeaks` each.
    ///
    /// - Parameter range: Frames in which chirps may begin; nil: all.
    func find(_ codes: [ChirpCode], in samples: [Float], range: Range<Int>? = nil) -> [ChirpCode: [Peak]] {
        var maxima: [ChirpCode: [Maximum]] = [:]
        let (size, output) = (transform.count, transform.output)
        let hop = size - length
        let limits = (range ?? 0..<samples.count).clamped(to: 0..<samples.count)
        let bins = (Self.bandEdge.lowerBound / rate * Double(size), Self.bandEdge.upperBound / rate * Double(size))
        let first = Int(clamping: bins.0.rounded(.down), in: 0...size / 2)
        let last = Int(clamping: bins.1.rounded(.up), in: 0...size / 2)
        // Pointers, because elements of arrays cost a call each without optimization.
        let spectrum = UnsafeMutablePointer<Float>.allocate(capacity: 2 * size)
        let energies = UnsafeMutablePointer<Double>.allocate(capacity: size + 1)
        let strengths = UnsafeMutablePointer<Float>.allocate(capacity: hop + 2)
        defer {
            spectrum.deallocate()
            energies.deallocate()
            strengths.deallocate()
        }
        energies[0] = 0
        strengths.initialize(repeating: 0, count: hop + 2)
        // One frame before the block is needed to detect a maximum at its beginning.
        var start = limits.lowerBound - 1
        while start < limits.upperBound {
            load(samples, from: start)
            transform.forward()
            spectrum.initialize(from: output, count: 2 * size)
            // Band energy: the analytic signal has half of it, in the positive frequencies.
            multiply(spectrum, by: nil, first: first, last: last)
            transform.inverse()
            let scale = 1 / Double(size)
            for index in 0..<size {
                let (real, imaginary) = (
                    Double(output[2 * index]) * scale, Double(output[2 * index + 1]) * scale
                )
                energies[index + 1] = energies[index] + real * real + imaginary * imaginary
            }
            for code in codes {
                let template = template(code)
                template.spectrum.withUnsafeBufferPointer {
                    multiply(spectrum, by: $0.baseAddress, first: first, last: last)
                }
                transform.inverse()
                for index in 0..<(hop + 2) where index < size {
                    let (real, imaginary) = (output[2 * index], output[2 * index + 1])
                    strengths[index] = (real * real + imaginary * imaginary).squareRoot() * Float(scale)
                }
                var found = maxima[code] ?? []
                for index in 1...hop where index + length <= size {
                    let middle = strengths[index]
                    guard middle > strengths[index - 1], middle >= strengths[index + 1],
                        limits.contains(start + index), found.count < Self.maxMaxima
                    else { continue }
                    // The analytic part has half of the sound's energy.
                    let energy = 2 * (energies[index + length] - energies[index])
                    let likeness =
                        Double(middle) * 2.0.squareRoot() / max(1e-12, (energy * template.energy).squareRoot())
                    guard likeness > Self.minLikeness / 2 else { continue }
                    let (left, right) = (Double(strengths[index - 1]), Double(strengths[index + 1]))
                    let bend = left - 2 * Double(middle) + right
                    let shift = bend < 0 ? (left - right) / (2 * bend) : 0
                    found.append(
                        Maximum(
                            frame: Double(start + index) + shift, strength: 2 * Double(middle) / template.energy,
                            likeness: min(1, likeness)))
                }
                maxima[code] = found
            }
            start += hop
        }
        return Dictionary(uniqueKeysWithValues: codes.map { ($0, peaks(maxima[$0] ?? [], of: $0)) })
    }

    /// The band plus a margin for the fades.
    private static let bandEdge = (ChirpCode.band.lowerBound - 200)...(ChirpCode.band.upperBound + 400)

    // MARK: Filtering

    private func load(_ samples: [Float], from start: Int) {
        let input = transform.input
        memset(input, 0, 2 * transform.count * MemoryLayout<Float>.stride)
        samples.withUnsafeBufferPointer { samples in
            for place in max(0, start)..<max(0, min(samples.count, start + transform.count)) {
                input[2 * (place - start)] = samples[place]
            }
        }
    }

    /// Writes the product's positive frequencies within the band to the transform's input.
    private func multiply(
        _ spectrum: UnsafePointer<Float>, by template: UnsafePointer<Float>?, first: Int, last: Int
    ) {
        let input = transform.input
        memset(input, 0, 2 * transform.count * MemoryLayout<Float>.stride)
        guard let template else {
            for index in 2 * first..<2 * last { input[index] = spectrum[index] }
            return
        }
        for index in first..<last {
            let (real, imaginary) = (spectrum[2 * index], spectrum[2 * index + 1])
            let (otherReal, otherImaginary) = (template[2 * index], template[2 * index + 1])
            input[2 * index] = real * otherReal + imaginary * otherImaginary
            input[2 * index + 1] = imaginary * otherReal - real * otherImaginary
        }
    }

    /// Returns a chirp's spectrum and energy; cached.
    private func template(_ code: ChirpCode) -> (spectrum: [Float], energy: Double) {
        if let known = templates[code] { return known }
        var energy = 0.0
        for index in 0..<transform.count {
            let value = index < length ? code.value(at: Double(index) / rate) : (0, 0)
            transform.input[2 * index] = Float(value.0)
            transform.input[2 * index + 1] = Float(value.1)
            energy += value.0 * value.0 + value.1 * value.1
        }
        transform.forward()
        let made = ((0..<(2 * transform.count)).map { transform.output[$0] }, energy)
        templates[code] = made
        return made
    }

    // MARK: Selection

    /// Returns the likeliest match of each neighbourhood, moved to the direct sound if an echo is stronger.
    private func peaks(_ maxima: [Maximum], of code: ChirpCode) -> [Peak] {
        var chosen: [Int] = []
        let candidates = maxima.indices.filter { maxima[$0].likeness >= Self.minLikeness }
        // With a strong echo this can be the echo instead of the direct sound; `peak` resolves it.
        for index in candidates.sorted(by: { maxima[$0].likeness > maxima[$1].likeness }) {
            guard chosen.count < Self.maxPeaks else { break }
            let isFree = chosen.allSatisfy {
                (maxima[$0].frame - maxima[index].frame).magnitude >= Self.separation * rate
            }
            if isFree { chosen.append(index) }
        }
        return chosen.map { peak(at: $0, among: maxima, code) }.sorted { $0.frame < $1.frame }
    }

    private func peak(at index: Int, among maxima: [Maximum], _ code: ChirpCode) -> Peak {
        let reach = Self.echoReach * rate
        let flank = Self.flank * rate
        var low = index
        while low > 0, maxima[index].frame - maxima[low - 1].frame < reach { low -= 1 }
        var high = index
        while high + 1 < maxima.count, maxima[high + 1].frame - maxima[index].frame < reach { high += 1 }
        let strongest = maxima[low...high].max { $0.strength < $1.strength } ?? maxima[index]
        // Only an arrival before the strongest one can be the direct sound.
        let first =
            maxima[low...high].first {
                $0.strength >= strongest.strength * Self.firstArrival
                    && strongest.frame - $0.frame < Self.separation * rate
                    && $0.frame <= strongest.frame
            } ?? strongest
        let other = maxima[low...high].filter { ($0.frame - first.frame).magnitude > flank }.map(\.strength).max() ?? 0
        return Peak(
            code: code, frame: first.frame, likeness: max(first.likeness, maxima[index].likeness),
            amplitude: first.strength, echo: other / max(1e-12, first.strength))
    }
}
