internal import Glibc

/// From the number on a volume control to the gain on the samples; one curve for every output.
///
/// The curve is cubic, as in PulseAudio's software volume and mpv's `--volume`: gain = (volume / 100)³, so 100 is
/// 0 dB, 50 is −18 dB, 10 is −60 dB, and equal steps sound about equally large.
public enum VolumeCurve {
    /// The gain for a volume of 0…100; values outside are taken as the nearer end.
    public static func gain(volume: Double) -> Float {
        let share = min(max(volume.isNaN ? 0 : volume, 0), 100) / 100
        return Float(share * share * share)
    }

    /// The level in decibels against full scale; nil for silence.
    public static func decibels(volume: Double) -> Double? {
        let gain = Double(gain(volume: volume))
        return gain > 0 ? 20 * log10(gain) : nil
    }

    /// The volume 0…100 whose level is this many decibels; 0 dB and above are 100.
    public static func volume(decibels: Double) -> Double {
        decibels.isNaN ? 0 : 100 * min(1, pow(10, decibels / 60))
    }
}
