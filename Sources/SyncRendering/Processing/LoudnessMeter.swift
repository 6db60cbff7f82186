internal import Glibc
internal import MediaCore

/// Measures loudness according to ITU-R BS.1770-4: K-weighted, in blocks of 400 ms that start every 100 ms, gated by
/// annex 1. The gates are −70 LUFS and 10 LU below the mean of the blocks above that. Confined to one thread; allocates
/// only in `prepare` and `init`.
struct LoudnessMeter {
    /// A second-order filter; a0 is 1.
    struct Section {
        var b: (Double, Double, Double)
        var a: (Double, Double)
    }

    /// The absolute gate in LUFS.
    private static let quietest = -70.0
    /// The relative gate in LU.
    private static let relativeGate = -10.0
    /// The number of histogram bins of a tenth of a decibel.
    private static let steps = 800
    private static let perDecibel = 10.0

    /// A histogram of blocks by loudness, from −70 LUFS on.
    private var counts = [Int](repeating: 0, count: steps)
    /// The number of blocks above the absolute gate.
    private(set) var pieces = 0
    private var shelf = Section(b: (1, 0, 0), a: (0, 0))
    private var lowCut = Section(b: (1, 0, 0), a: (0, 0))
    /// The weight of each channel; 0 is not measured.
    private var weights: [Double] = []
    /// The filter state of each channel, two values per filter.
    private var memory: [Double] = []
    /// The sums of squares of the current tenth of a second, and of the three before.
    private var sum = 0.0
    private var frames = 0
    private var tenth = 1
    /// The number of tenths of a second since the last discontinuity.
    private var before: (Double, Double, Double) = (0, 0, 0)
    private var tenths = 0

    /// Prepares for audio of a format. The measurement is retained.
    mutating func prepare(_ format: PCMFormat) {
        (shelf, lowCut) = Self.ear(at: Double(format.sampleRate))
        weights = Self.weights(of: format.layout)
        memory = [Double](repeating: 0, count: 4 * format.channels)
        tenth = max(1, format.sampleRate / 10)
        breakOff()
    }

    /// Resets the filters at a discontinuity. The measurement is retained.
    mutating func breakOff() {
        for index in memory.indices { memory[index] = 0 }
        (sum, frames, tenths) = (0, 0, 0)
    }

    /// Resets the measurement.
    mutating func forget() {
        for index in counts.indices { counts[index] = 0 }
        pieces = 0
    }

    /// Returns the K-weighting filters of annex 1, tables 1 and 2, which are specified for 48 kHz. Other rates use the
    /// underlying analogue filters (B. De Man, “Evaluation of Implementations of the EBU R128 Loudness Measurement”,
    /// AES 145, 2018).
    static func ear(at rate: Double) -> (shelf: Section, lowCut: Section) {
        func warped(_ frequency: Double) -> Double { tan(.pi * min(frequency / rate, 0.49)) }
        var (k, q) = (warped(1681.974450955533), 0.7071752369554196)
        let high = pow(10, 3.999843853973347 / 20)
        let band = pow(high, 0.4996667741545416)
        var a0 = 1 + k / q + k * k
        let shelf = Section(
            b: ((high + band * k / q + k * k) / a0, 2 * (k * k - high) / a0, (high - band * k / q + k * k) / a0),
            a: (2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0))
        (k, q) = (warped(38.13547087602444), 0.5003270373238773)
        a0 = 1 + k / q + k * k
        return (shelf, Section(b: (1, -2, 1), a: (2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0)))
    }

    /// Returns the channel weights of annex 1, table 3: surround channels count 1.5 dB more, the LFE channel is
    /// ignored.
    static func weights(of layout: ChannelLayout) -> [Double] {
        // Channels are ordered by their mask bits: LFE is bit 3, rear channels are 4, 5 and 8, side channels 9 and 10.
        let positions = (0..<64).filter { layout.mask >> UInt64($0) & 1 == 1 }
        return (0..<layout.count).map { channel in
            guard positions.count == layout.count else { return 1 }
            return switch positions[channel] {
            case 3: 0
            case 4, 5, 8, 9, 10: 1.41
            default: 1
            }
        }
    }

    /// Measures interleaved frames.
    ///
    /// - Returns: Whether a tenth of a second was completed.
    mutating func measure(_ samples: UnsafePointer<Float>, frames count: Int) -> Bool {
        let channels = weights.count
        var hasEnded = false
        var done = 0
        while done < count {
            let step = min(count - done, tenth - frames)
            for channel in 0..<channels where weights[channel] > 0 {
                addSquares(of: samples + done * channels + channel, frames: step, channel: channel)
            }
            done += step
            frames += step
            guard frames == tenth else { continue }
            endTenth()
            hasEnded = true
        }
        return hasEnded
    }

    /// Filters one channel of interleaved frames, and adds its weighted squares to `sum`.
    private mutating func addSquares(of samples: UnsafePointer<Float>, frames: Int, channel: Int) {
        let offset = 4 * channel
        let (shelf, lowCut, channels) = (shelf, lowCut, weights.count)
        // Local variables: access to the array in each step takes several times as long.
        var (m0, m1, m2, m3) = (memory[offset], memory[offset + 1], memory[offset + 2], memory[offset + 3])
        var squares = 0.0
        var index = 0
        while index < frames * channels {
            // A non-finite sample would remain in the filter state forever.
            let sample = Double(samples[index])
            let input = sample.isFinite ? sample : 0
            let head = shelf.b.0 * input + m0
            m0 = shelf.b.1 * input - shelf.a.0 * head + m1
            m1 = shelf.b.2 * input - shelf.a.1 * head
            let heard = lowCut.b.0 * head + m2
            m2 = lowCut.b.1 * head - lowCut.a.0 * heard + m3
            m3 = lowCut.b.2 * head - lowCut.a.1 * heard
            squares += heard * heard
            index += channels
        }
        (memory[offset], memory[offset + 1], memory[offset + 2], memory[offset + 3]) = (m0, m1, m2, m3)
        sum += weights[channel] * squares
    }

    /// Adds the block that ends now to the histogram.
    private mutating func endTenth() {
        tenths += 1
        if tenths >= 4 {
            let power = (before.0 + before.1 + before.2 + sum) / Double(4 * tenth)
            let index = (Self.loudness(of: power) - Self.quietest) * Self.perDecibel
            if index >= 0 {
                counts[min(Self.steps - 1, Int(index))] += 1
                pieces += 1
            }
        }
        before = (before.1, before.2, sum)
        (sum, frames) = (0, 0)
    }

    /// Returns the loudness of a mean square in LUFS.
    private static func loudness(of power: Double) -> Double { power > 0 ? -0.691 + 10 * log10(power) : -.infinity }
    /// Returns the mean square at the centre of a histogram bin.
    private static func power(ofStep step: Int) -> Double {
        pow(10, (quietest + (Double(step) + 0.5) / perDecibel + 0.691) / 10)
    }

    /// The integrated loudness in LUFS; nil if all blocks are silent.
    var integrated: Double? {
        guard let all = mean(from: 0) else { return nil }
        let gate = (Self.loudness(of: all) + Self.relativeGate - Self.quietest) * Self.perDecibel
        return mean(from: max(0, Int(gate.rounded(.up)))).map(Self.loudness)
    }

    /// Returns the mean power of the blocks from a histogram bin on; nil if there are none.
    private func mean(from first: Int) -> Double? {
        var (power, count) = (0.0, 0)
        for step in first..<max(first, Self.steps) where counts[step] > 0 {
            power += Double(counts[step]) * Self.power(ofStep: step)
            count += counts[step]
        }
        return count > 0 ? power / Double(count) : nil
    }
}
