/// What is done to a film's sound on its way to an output, whatever the output: it is changed after decoding and before encoding.
///
/// Nothing of it moves the sound in time: `PeakLimiter`'s look-ahead is taken off the stamps again.
public struct SoundTreatment: Sendable, Hashable {
    /// Factor of the samples; 1 is unchanged.
    public var gain: Float = 1
    /// Loud and quiet are brought nearer to each other (`NightCompressor`).
    public var isNight = false
    /// LUFS that a film is brought to while it plays, by what was heard of it so far (`LoudnessLeveller`); nil leaves it as it is.
    public var loudness: Double?
    /// Decibels by which the centre channel, which speaks, is louder than the film's maker mixed it; the other channels keep their
    /// level. Films without a centre channel stay as they are.
    public var dialogueLift = 0.0

    public init() {}

    /// The sound comes out as it went in.
    public static let none = SoundTreatment()

    /// Samples are changed, so that packets cannot pass untouched.
    ///
    /// A centre channel is none of stereo's: what passes untouched has none.
    var changesSamples: Bool { gain != 1 || isNight || loudness != nil }
}
