internal import MediaCore

/// Gain and limiter one behind the other, frame by frame. Owned by one thread; allocates only when it is made.
final class TreatmentChain {
    private let channels: Int
    private let limiter: PeakLimiter
    private var ramp: GainRamp
    private var treatment = SoundTreatment.none
    /// Frames that a change of gain takes: two hundredths of a second, below which it is heard as a click.
    private let rampLength: Int

    init(format: PCMFormat) {
        channels = format.channels
        limiter = PeakLimiter(format: format)
        rampLength = format.sampleRate / 50
        ramp = GainRamp(gain: 1, length: rampLength)
    }

    /// Frames between what goes in and what comes out.
    var delay: Int { limiter.delay }

    /// What went in before is forgotten; what follows goes on with the treatment in force.
    func breakOff() { limiter.reset() }

    /// Begins anew with a treatment, without a way there.
    func begin(with treatment: SoundTreatment) {
        self.treatment = treatment
        limiter.reset()
        ramp = GainRamp(gain: treatment.gain, length: rampLength)
    }

    /// The same sound goes on and is treated otherwise, smoothly.
    func treat(_ treatment: SoundTreatment) { self.treatment = treatment }

    /// Changes frames in place; what comes out went in `delay` frames before.
    func process(_ samples: UnsafeMutablePointer<Float>, frames: Int) {
        guard frames > 0 else { return }
        ramp.apply(treatment.gain, to: samples, frames: frames, channels: channels)
        limiter.process(samples, frames: frames, isLimiting: treatment != .none)
    }
}
