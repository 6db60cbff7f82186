internal import MediaCore

/// Loudness, night mode, gain and limiter one behind the other, frame by frame. Owned by one thread; allocates only when it is made.
final class TreatmentChain {
    private let format: PCMFormat
    private var channels: Int { format.channels }
    private let leveller: LoudnessLeveller
    private var loudness: Double?
    private let limiter: PeakLimiter
    private var night: NightCompressor
    private var ramp: GainRamp
    /// What the samples are multiplied with, and whether anything is asked for.
    private var gain: Float = 1
    private var isNight = false
    private var isTreating = false
    /// Frames that a change of gain takes: two hundredths of a second, below which it is heard as a click.
    private let rampLength: Int

    init(format: PCMFormat, leveller: LoudnessLeveller) {
        (self.format, self.leveller) = (format, leveller)
        limiter = PeakLimiter(format: format)
        night = NightCompressor(sampleRate: format.sampleRate)
        rampLength = format.sampleRate / 50
        ramp = GainRamp(gain: 1, length: rampLength)
    }

    /// Frames between what goes in and what comes out.
    var delay: Int { limiter.delay }

    /// What went in before is forgotten; what follows goes on with the treatment in force.
    func breakOff() { limiter.reset() }

    /// Begins anew, without a way there.
    ///
    /// - Parameter own: what the piece's samples are multiplied with in any case.
    func begin(with treatment: SoundTreatment, gain own: Float) {
        treat(treatment, gain: own)
        limiter.reset()
        ramp = GainRamp(gain: gain, length: rampLength)
        night.begin(isOn: isNight)
        leveller.begin(format, isOn: loudness != nil)
    }

    /// The same sound goes on and is treated otherwise, smoothly.
    func treat(_ treatment: SoundTreatment, gain own: Float) {
        gain = treatment.gain * own
        // A piece with a gain of its own says how loud it is.
        (isNight, loudness) = (treatment.isNight, own == 1 ? treatment.loudness : nil)
        isTreating = treatment != .none || own != 1
    }

    /// Changes frames in place; what comes out went in `delay` frames before.
    func process(_ samples: UnsafeMutablePointer<Float>, frames: Int) {
        guard frames > 0 else { return }
        leveller.process(samples, frames: frames, target: loudness)
        night.process(samples, frames: frames, channels: channels, isOn: isNight)
        ramp.apply(gain, to: samples, frames: frames, channels: channels)
        limiter.process(samples, frames: frames, isLimiting: isTreating)
    }
}
