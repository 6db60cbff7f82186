/// The audio processing between decoding and encoding, independent of the output.
///
/// It causes no time shift: the look-ahead of `PeakLimiter` is subtracted from the timestamps.
public struct AudioProcessing: Sendable, Hashable {
    /// The linear gain; 1 is unchanged.
    public var gain: Float = 1
    /// Whether night mode is on (`NightCompressor`).
    public var isNight = false
    /// The target loudness in LUFS, approached during playback by measurement (`LoudnessLeveller`); nil: unchanged.
    public var loudness: Double?
    /// The amplification of the centre channel, which carries dialogue, in decibels; other channels keep their level.
    /// Media without a centre channel are unchanged.
    package var dialogueLift = 0.0

    /// Creates the processing `none`.
    public init() {}

    /// No processing.
    public static let none = AudioProcessing()

    /// Whether samples are modified, which excludes pass-through.
    ///
    /// `dialogueLift` is not included: pass-through is stereo, which has no centre channel.
    var changesSamples: Bool { gain != 1 || isNight || loudness != nil }
}
