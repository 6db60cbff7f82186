internal import Glibc
internal import MediaCore

/// Keeps the true peak of sound below a ceiling: turns it down smoothly ahead of each peak and lets it rise slowly after it.
///
/// It looks `delay` frames ahead: what comes out is what went in that many frames before. All channels are turned down alike, so that
/// nothing moves in the room. Sound that stays below the ceiling comes out bit for bit. Owned by one thread; allocates only when
/// it is made.
final class PeakLimiter {
    /// −1 dBTP: the maximum permitted true peak of EBU R 128 (2020), which leaves an encoder behind it some room.
    static let ceiling: Float = 0.8912509

    /// Turned down over this long ahead of a peak: shorter is heard as a click, longer as a breath.
    private static let attack = 0.005
    /// Time constant of the rise: above a period of the lowest tones, so that these are not bent.
    private static let release = 0.15

    /// Frames between what goes in and what comes out.
    let delay: Int
    private let channels: Int
    private let lookAhead: Int
    private let detector = TruePeakDetector()
    private let ceiling: Float
    private let threshold: Float
    private let rise: Double

    /// The last frames, each channel in a line of its own and twice over, so that the newest of them always lie in a row.
    private let lines: UnsafeMutablePointer<Float>
    private let length: Int
    private var place = 0
    /// Frames since a sample was high enough for a peak beside it.
    private var quiet = 0

    /// The lowest gain asked for within the window: gains that rise from the oldest on, with the frame that each was asked for.
    private let lowest: UnsafeMutablePointer<(gain: Float, frame: Int)>
    private let capacity: Int
    private var head = 0
    private var tail = 0
    private var frame = 0
    /// The gain that follows it with the slow rise, and its mean over the look-ahead.
    private var envelope = 1.0
    private let envelopes: UnsafeMutablePointer<Double>
    private var envelopePlace = 0
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
        lines = .allocate(capacity: 2 * length * channels)
        capacity = lookAhead + 4
        lowest = .allocate(capacity: capacity)
        lowest.initialize(repeating: (1, 0), count: capacity)
        envelopes = .allocate(capacity: lookAhead)
        sum = Double(lookAhead)
        unityFrames = lookAhead
        lines.initialize(repeating: 0, count: 2 * length * channels)
        envelopes.initialize(repeating: 1, count: lookAhead)
    }

    deinit {
        lines.deallocate()
        lowest.deallocate()
        envelopes.deallocate()
    }

    /// Forgets everything inside.
    func reset() {
        lines.update(repeating: 0, count: 2 * length * channels)
        envelopes.update(repeating: 1, count: lookAhead)
        (place, quiet, head, tail, frame, envelopePlace) = (0, 0, 0, 0, 0, 0)
        (envelope, sum, unityFrames) = (1, Double(lookAhead), lookAhead)
    }

    /// Puts frames in and takes as many out, in place.
    ///
    /// - Parameter isLimiting: false lets everything pass as it is, `delay` frames late all the same.
    func process(_ samples: UnsafeMutablePointer<Float>, frames: Int, isLimiting: Bool) {
        for index in 0..<frames {
            let samples = samples + index * channels
            var highest: Float = 0
            for channel in 0..<channels {
                let sample = samples[channel]
                let line = lines + channel * 2 * length
                (line[place], line[place + length]) = (sample, sample)
                highest = max(highest, abs(sample))
            }
            place = place + 1 == length ? 0 : place + 1
            quiet = highest > threshold ? 0 : quiet &+ 1
            let gain = nextGain(wanted: isLimiting && quiet < TruePeakDetector.taps ? wantedGain() : 1)
            // The oldest of the last `delay + 1` frames.
            let oldest = place + length - 1 - delay
            for channel in 0..<channels { samples[channel] = lines[channel * 2 * length + oldest] * gain }
        }
    }

    /// The gain that brings what lies in the middle of the detector's reach below the ceiling.
    private func wantedGain() -> Float {
        var peak: Float = 0
        let first = place + length - TruePeakDetector.taps
        for channel in 0..<channels {
            let line = lines + channel * 2 * length + first
            peak = max(peak, max(abs(line[TruePeakDetector.reach - 1]), detector.peak(around: line)))
        }
        return peak > ceiling ? ceiling / peak : 1
    }

    private func nextGain(wanted: Float) -> Float {
        while tail != head, lowest[before(tail)].gain >= wanted { tail = before(tail) }
        lowest[tail] = (wanted, frame)
        tail = after(tail)
        // One more frame than the mean is long on either side: a peak between two frames asks it of both.
        if lowest[head].frame < frame - lookAhead - 1 { head = after(head) }
        frame &+= 1
        envelope = min(Double(lowest[head].gain), envelope + (1 - envelope) * rise)
        // It would never quite arrive.
        if envelope > 0.99999, lowest[head].gain == 1 { envelope = 1 }
        sum += envelope - envelopes[envelopePlace]
        envelopes[envelopePlace] = envelope
        envelopePlace = envelopePlace + 1 == lookAhead ? 0 : envelopePlace + 1
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
