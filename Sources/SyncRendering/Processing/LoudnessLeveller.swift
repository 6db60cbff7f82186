internal import Glibc
internal import MediaCore

/// Normalizes the loudness of media during playback, from the audio measured so far (EBU R 128: gated programme
/// loudness).
///
/// The gain starts after three seconds that are not silent. It moves by at most one decibel a second, which is
/// imperceptible. It is limited to 20 dB down and 12 up, so that noise stays below voices. The limiter handles raised
/// peaks. The audio is not delayed. All converters of an output share one object across formats, so that a seek or a
/// change of speed keeps the gain. Confined to one thread; allocates only when the format changes.
final class LoudnessLeveller {
    /// The minimum number of blocks, one per tenth of a second (EBU Tech 3341: the short-term window is three seconds).
    static let minPieces = 30
    /// The maximum change of the gain, in decibels per second.
    static let slowness = 1.0
    /// The range of the gain in decibels.
    static let range = -20.0...12.0
    /// The duration of switching the normalization on or off, in seconds: a twentieth of a second, below which it
    /// clicks.
    private static let fade = 0.05

    private var meter = LoudnessMeter()
    private var format: PCMFormat?
    /// The target gain from the measurement, and the current one, in decibels.
    private var due = 0.0
    private var gain = 0.0
    /// The applied share of `gain`, 0…1.
    private var share: Float = 0

    /// Starts audio of a format, without a fade.
    func begin(_ format: PCMFormat, isOn: Bool) {
        if format == self.format { meter.breakOff() } else { meter.prepare(format) }
        self.format = format
        share = isOn ? 1 : 0
    }

    /// Starts another item; the gain remains until the item has been measured.
    func beginPiece() { meter.forget() }

    /// Applies the gain to interleaved frames in place.
    ///
    /// - Parameter target: The target loudness in LUFS; nil fades the normalization out and measures nothing.
    func process(_ samples: UnsafeMutablePointer<Float>, frames: Int, target: Double?) {
        guard let format, target != nil || share > 0 else { return }
        if let target, meter.measure(samples, frames: frames), meter.pieces >= Self.minPieces,
            let heard = meter.integrated
        {
            due = max(Self.range.lowerBound, min(Self.range.upperBound, target - heard))
        }
        let maxStep = Self.slowness / Double(format.sampleRate)
        let step = Float(1 / (Self.fade * Double(format.sampleRate)))
        let wanted: Float = target == nil ? 0 : 1
        for frame in 0..<frames {
            gain += max(-maxStep, min(maxStep, due - gain))
            if share != wanted { share = wanted > share ? min(1, share + step) : max(0, share - step) }
            let factor = expf(Float(gain) * share * 0.115_129_25)
            for channel in 0..<format.channels { samples[frame * format.channels + channel] *= factor }
        }
    }
}
