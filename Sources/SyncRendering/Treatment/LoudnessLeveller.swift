internal import Glibc
internal import MediaCore

/// Brings a film to one loudness while it plays, by what was heard of it so far (EBU R 128: programme loudness, gated).
///
/// The gain waits for three seconds that are no silence, then moves by at most one decibel a second, slower than anybody notices, and
/// within 20 dB down and 12 up, so that hiss stays below voices. Peaks that it raises are the limiter's. It delays nothing. One for all
/// converters of an output, whatever their formats, so that a jump or a change of speed goes on at the gain that was reached.
/// Owned by one thread; allocates only where the format changes.
final class LoudnessLeveller {
    /// Tenths of a second (EBU Tech 3341: the short-term window is three seconds).
    static let patience = 30
    static let slowness = 1.0
    static let range = -20.0...12.0
    /// Decibels that a frame is changed by where levelling is switched on or off: in a twentieth of a second, below which it clicks.
    private static let fade = 0.05

    private var meter = LoudnessMeter()
    private var format: PCMFormat?
    /// Decibels that are due by what was measured, and those in force.
    private var due = 0.0
    private var gain = 0.0
    /// How much of them, 0…1.
    private var share: Float = 0

    /// Sound of a format begins, or begins anew.
    func begin(_ format: PCMFormat, isOn: Bool) {
        if format == self.format { meter.breakOff() } else { meter.take(format) }
        self.format = format
        share = isOn ? 1 : 0
    }

    /// Another piece comes; the gain stays until that has been measured.
    func beginPiece() { meter.forget() }

    /// - Parameter target: LUFS; nil fades the levelling out and measures nothing.
    func process(_ samples: UnsafeMutablePointer<Float>, frames: Int, target: Double?) {
        guard let format, target != nil || share > 0 else { return }
        if let target, meter.measure(samples, frames: frames), meter.pieces >= Self.patience,
            let heard = meter.integrated
        {
            due = max(Self.range.lowerBound, min(Self.range.upperBound, target - heard))
        }
        let most = Self.slowness / Double(format.sampleRate)
        let step = Float(1 / (Self.fade * Double(format.sampleRate)))
        let wanted: Float = target == nil ? 0 : 1
        for frame in 0..<frames {
            gain += max(-most, min(most, due - gain))
            if share != wanted { share = wanted > share ? min(1, share + step) : max(0, share - step) }
            let factor = expf(Float(gain) * share * 0.115_129_25)
            for channel in 0..<format.channels { samples[frame * format.channels + channel] *= factor }
        }
    }
}
