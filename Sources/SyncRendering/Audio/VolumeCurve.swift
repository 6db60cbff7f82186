internal import Glibc

/// From the number on a volume control to the gain on the samples; one curve for every output.
///
/// 100 is 0 dB, and each step below it is 0.3 dB down to −29.7 dB at 1; 0 is silence. That is the range of AirPlay's speakers
/// (−30…0 dB), so that every step is heard on each of them and beside a sound card all are set alike. Equal steps in
/// decibels sound about equally large.
///
/// Above 100 the samples are made larger, by mpv's curve: the third power of volume / 100 (its manual, `--volume`; mpv has that curve
/// below 100, too). 130 is +6.8 dB, and the steps from 100 on are about as large as those up to it.
public enum VolumeCurve {
    /// The level of a volume just above 0, in dB.
    static let floor: Double = -30

    /// The loudest volume: mpv's default of `--volume-max`.
    public static let most: Double = 130

    /// The gain for a volume of 0…130; values outside are taken as the nearer end.
    public static func gain(volume: Double) -> Float {
        decibels(volume: volume).map { Float(pow(10, $0 / 20)) } ?? 0
    }

    /// The level in decibels against full scale; nil for silence.
    public static func decibels(volume: Double) -> Double? {
        guard volume > 0 else { return nil }
        return volume <= 100 ? floor * (1 - volume / 100) : 60 * log10(min(volume, most) / 100)
    }

    /// The volume 0…100 whose level is this many decibels; 0 dB and above are 100, because no output has more. A level below the curve that is not
    /// mute (−144 dB and less, as AirPlay has it) is the lowest step that is heard.
    public static func volume(decibels: Double) -> Double {
        guard decibels > -144 else { return 0 }
        return min(100, max(1, 100 * (1 - decibels / floor)))
    }
}
