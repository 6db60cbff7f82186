internal import Glibc
internal import MediaCore

/// The loudness normalization by tags, with the meaning of mpv's options of these names.
public struct ReplayGainOptions: Sendable, Hashable {
    /// The gain to apply.
    public enum Mode: String, Sendable, CaseIterable {
        /// Only `fallback`.
        case no = "no"
        /// The track gain.
        case track = "track"
        /// The album gain; if there is none, as `track`.
        case album = "album"
    }

    /// The gain to apply.
    public var mode = Mode.no
    /// Decibels added to the gain of the tags.
    public var preamp = 0.0
    /// Whether peaks may exceed full scale, where the limiter reduces them; false lowers the gain to prevent that.
    public var mayClip = false
    /// The gain in decibels of media without tags, and with the mode `no`.
    public var fallback = 0.0

    /// Creates the default options.
    public init() {}

    /// Whether samples may be modified, which excludes pass-through.
    var isActive: Bool { mode != .no || fallback != 0 }

    /// Returns the linear gain of a track.
    func gain(for tags: ReplayGain?) -> Float {
        let level = mode == .album ? tags?.album ?? tags?.track : tags?.track
        guard mode != .no, let level else { return Float(pow(10, fallback / 20)) }
        let gain = pow(10, (level.gain + preamp) / 20)
        guard !mayClip, let peak = level.peak else { return Float(gain) }
        return Float(min(gain, 1 / peak))
    }
}
