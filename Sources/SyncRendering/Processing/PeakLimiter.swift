internal import Glibc
internal import MediaCore

/// Limits the true peak of audio to a ceiling: the gain falls smoothly before each peak and rises slowly afterwards.
///
/// The look-ahead is `delay` frames: the output is the input of that many frames earlier. All channels have the same
/// gain, so that the stereo image is stable. Audio below the ceiling is bit-exact. Confined to one thread; allocates
/// only in `init`.
final class PeakLimiter {
    /// −1 dBTP: the maximum permitted true peak of EBU R 128 (2020), which leaves headroom for a subsequent encoder.
    static let ceiling: Float = 0.8912509

    /// The duration of the attack in seconds: shorter is audible as a click, longer as pumping.
    private static let attack = 0.005
    /// The time constant of the release in seconds: longer than a period of the lowest frequencies, which would
    /// otherwise be distorted.
    private static let release = 0.15

    /// The delay from input to output in frames.
    let delay: Int
    private let channels: Int
    private let lookAhead: Int
    private let detector = TruePeakDetector()
    private let ceiling: Float
    private let threshold: Float
    private let rise: Double

    /// The last frames, one ring per channel. Each is stored twice, so that the newest frames are always contiguous.
    private let rings: UnsafeMutablePointer<Float>
    private let length: Int
    private var ringIndex = 0
    /// The number of frames since the last sample that may have an inter-sample peak above the ceiling.
    private var quiet = 0

    /// A monotonic queue for the minimum gain within the window: ascending gains with their frame numbers.
    private let lowest: UnsafeMutablePointer<(gain: Float, frame: Int)>
    private let capacity: Int
    private var head = 0
    private var tail = 0
    private var frame = 0
    /// The gain with the slow release, and its moving average over the look-ahead.
    private var envelope = 1.0
    private let envelopes: UnsafeMutablePointer<Double>
    private var envelopeIndex = 0
    private var sum: Double
    private var unityFrames: Int

    init(format: PCMFormat, ceiling: Float = PeakLimiter.ceiling) {
        channels = format.channels
        lookAhead = max(2, Int(Self.attack * Double(format.sampleRate)))
        delay = lookAhead + TruePeakDetector.reach
        self.ceiling = ceiling
        threshold = ceiling / detector.worstOvershoot
        rise = 1 - exp(-1 / (Self.release * Double(format.sampleRate)))
        length = delay + TruePeakDetector.taps
        rings = .allocate(capacity: 2 * length * channels)
        capacity = lookAhead + 4
        lowest = .allocate(capacity: capacity)
        lowest.initialize(repeating: (1, 0), count: capacity)
        envelopes = .allocate(capacity: lookAhead)
        sum = Double(lookAhead)
        unityFrames = lookAhead
        rings.initialize(repeating: 0, count: 2 * length * channels)
        envelopes.initialize(repeating: 1, count: lookAhead)
    }

    deinit {
        rings.deallocate()
        lowest.deallocate()
        envelopes.deallocate()
    }

    /// Discards all internal state.
    func reset() {
        rings.update(repeating: 0, count: 2 * length * channels)
        envelopes.update(repeating: 1, count: lookAhead)
        (ringIndex, quiet, head, tail, frame, envelopeIndex) = (0, 0, 0, 0, 0, 0)
        (envelope, sum, unityFrames) = (1, Double(lookAhead), lookAhead)
    }

    /// Limits frames in place, with a delay of `delay` frames.
    ///
    /// - Parameter isLimiting: False passes the audio unchanged, with the same delay.
    func process(_ samples: UnsafeMutablePointer<Float>, frames: Int, isLimiting: Bool) {
        for index in 0..<frames {
            let samples = samples + index * channels
            var highest: Float = 0
            for channel in 0..<channels {
                let sample = samples[channel]
                let ring = rings + channel * 2 * length
                (ring[ringIndex], ring[ringIndex + length]) = (sample, sample)
                highest = max(highest, abs(sample))
            }
            ringIndex = ringIndex + 1 == length ? 0 : ringIndex + 1
            quiet = highest > threshold ? 0 : quiet &+ 1
            let gain = nextGain(wanted: isLimiting && quiet < TruePeakDetector.taps ? wantedGain() : 1)
            // The index of the oldest of the last `delay + 1` frames.
            let oldest = ringIndex + length - 1 - delay
            for channel in 0..<channels { samples[channel] = rings[channel * 2 * length + oldest] * gain }
        }
    }

    /// Returns the gain that limits the frames at the centre of the detector's window to the ceiling.
    private func wantedGain() -> Float {
        var peak: Float = 0
        let first = ringIndex + length - TruePeakDetector.taps
        for channel in 0..<channels {
            let ring = rings + channel * 2 * length + first
            peak = max(peak, max(abs(ring[TruePeakDetector.reach - 1]), detector.peak(around: ring)))
        }
        return peak > ceiling ? ceiling / peak : 1
    }

    /// Returns the smoothed gain for the next output frame.
    private func nextGain(wanted: Float) -> Float {
        while tail != head, lowest[before(tail)].gain >= wanted { tail = before(tail) }
        lowest[tail] = (wanted, frame)
        tail = after(tail)
        // The window is one frame longer than the average on either side, because a peak between two frames affects
        // both.
        if lowest[head].frame < frame - lookAhead - 1 { head = after(head) }
        frame &+= 1
        envelope = min(Double(lowest[head].gain), envelope + (1 - envelope) * rise)
        // The exponential release would never reach 1.
        if envelope > 0.99999, lowest[head].gain == 1 { envelope = 1 }
        sum += envelope - envelopes[envelopeIndex]
        envelopes[envelopeIndex] = envelope
        envelopeIndex = envelopeIndex + 1 == lookAhead ? 0 : envelopeIndex + 1
        unityFrames = envelope == 1 ? min(unityFrames + 1, lookAhead) : 0
        guard unityFrames < lookAhead else {
            sum = Double(lookAhead)
            return 1
        }
        return Float(sum / Double(lookAhead))
    }

    private func after(_ index: Int) -> Int { index + 1 == capacity ? 0 : index + 1 }
    private func before(_ index: Int) -> Int { index == 0 ? capacity - 1 : index - 1 }
}
