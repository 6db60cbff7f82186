/// What is done to a film's sound on its way to an output, whatever the output: it is changed after decoding and before encoding.
///
/// Nothing of it moves the sound in time: `PeakLimiter`'s look-ahead is taken off the stamps again.
public struct SoundTreatment: Sendable, Hashable {
    /// Factor of the samples; 1 is unchanged.
    public var gain: Float = 1

    public init() {}

    /// The sound comes out as it went in.
    public static let none = SoundTreatment()

    /// Samples are changed, so that packets cannot pass untouched.
    var changesSamples: Bool { gain != 1 }
}
