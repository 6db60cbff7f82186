internal import Glibc

/// Maps the value of a volume control to a gain; the same for every output.
///
/// 100 is 0 dB. Each step below is 0.3 dB, down to −29.7 dB at 1; 0 is silence. This is the range of AirPlay speakers
/// (−30…0 dB), so that every step is audible on all of them and sound cards match. Equal steps in decibels sound about
/// equal.
///
/// Above 100 the samples are amplified by mpv's curve: the third power of volume / 100 (manual, `--volume`; mpv uses
/// the curve below 100 as well). 130 is +6.8 dB, with steps about as large as those below 100.
public enum VolumeCurve {
    /// The level of the lower end of the curve, just above volume 0, in dB.
    static let floor: Double = -30

    /// The maximum volume: mpv's default of `--volume-max`.
    public static let maxVolume: Double = 130

    /// Returns the linear gain of a volume, clamped to 0…130.
    public static func gain(volume: Double) -> Float {
        decibels(volume: volume).map { Float(pow(10, $0 / 20)) } ?? 0
    }

    /// Returns the level of a volume in decibels relative to full scale; nil for silence.
    public static func decibels(volume: Double) -> Double? {
        guard volume > 0 else { return nil }
        return volume <= 100 ? floor * (1 - volume / 100) : 60 * log10(min(volume, maxVolume) / 100)
    }

    /// Returns the volume 0…130 of a linear gain; invalid ones are unchanged audio.
    public static func volume(gain: Float) -> Double {
        guard gain.isFinite else { return 100 }
        guard gain > 0 else { return 0 }
        return gain > 1 ? min(maxVolume, 100 * pow(Double(gain), 1.0 / 3)) : volume(decibels: 20 * log10(Double(gain)))
    }

    /// Returns the volume 0…100 of a level in decibels. Levels of 0 dB and above map to 100, the maximum of outputs.
    /// AirPlay's mute level of −144 dB and below maps to 0; other levels below the curve map to the lowest audible
    /// step.
    public static func volume(decibels: Double) -> Double {
        guard decibels > -144 else { return 0 }
        return min(100, max(1, 100 * (1 - decibels / floor)))
    }
}
