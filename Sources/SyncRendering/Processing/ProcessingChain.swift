internal import MediaCore

/// Loudness normalization, night mode, gain and limiter in sequence. Confined to one thread; allocates only in `init`.
final class ProcessingChain {
    private let format: PCMFormat
    private var channels: Int { format.channels }
    private let leveller: LoudnessLeveller
    private var loudness: Double?
    private let limiter: PeakLimiter
    private var night: NightCompressor
    private var ramp: GainRamp
    /// The gain of the samples, and whether any processing is active.
    private var gain: Float = 1
    private var isNight = false
    private var isActive = false
    /// The duration of a gain change in frames: two hundredths of a second, below which it clicks.
    private let rampLength: Int

    init(format: PCMFormat, leveller: LoudnessLeveller) {
        (self.format, self.leveller) = (format, leveller)
        limiter = PeakLimiter(format: format)
        night = NightCompressor(sampleRate: format.sampleRate)
        rampLength = format.sampleRate / 50
        ramp = GainRamp(gain: 1, length: rampLength)
    }

    /// The delay from input to output in frames.
    var delay: Int { limiter.delay }

    /// Discards the delayed audio at a discontinuity; the processing is retained.
    func breakOff() { limiter.reset() }

    /// Resets the chain with a new processing, without a ramp.
    ///
    /// - Parameter own: The item's gain, applied in addition.
    func begin(with processing: AudioProcessing, gain own: Float) {
        setProcessing(processing, gain: own)
        limiter.reset()
        ramp = GainRamp(gain: gain, length: rampLength)
        night.begin(isOn: isNight)
        leveller.begin(format, isOn: loudness != nil)
    }

    /// Changes the processing of continuous audio, with ramps.
    func setProcessing(_ processing: AudioProcessing, gain own: Float) {
        gain = processing.gain * own
        // An item with its own gain is already normalized.
        (isNight, loudness) = (processing.isNight, own == 1 ? processing.loudness : nil)
        isActive = processing != .none || own != 1
    }

    /// Processes frames in place, with a delay of `delay` frames.
    func process(_ samples: UnsafeMutablePointer<Float>, frames: Int) {
        guard frames > 0 else { return }
        leveller.process(samples, frames: frames, target: loudness)
        night.process(samples, frames: frames, channels: channels, isOn: isNight)
        ramp.apply(gain, to: samples, frames: frames, channels: channels)
        limiter.process(samples, frames: frames, isLimiting: isActive)
    }
}
