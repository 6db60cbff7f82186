internal import Glibc
internal import MediaCore

/// Whether films and songs are brought to one loudness by what their tags say, with the meaning of mpv's options of these names.
public struct ReplayGainOptions: Sendable, Hashable {
    public enum Mode: String, Sendable, CaseIterable {
        case no
        /// Each piece for itself.
        case track
        /// By the whole that it belongs to; where nobody says anything of that, as `track`.
        case album
    }

    public var mode = Mode.no
    /// Decibels on top of what tags say.
    public var preamp = 0.0
    /// Peaks may go beyond full scale, where the limiter takes them; false lowers the gain until the highest sample does not.
    public var mayClip = false
    /// Decibels for what has no tags; also when nothing is asked of tags.
    public var fallback = 0.0

    public init() {}

    /// Sound may be changed by these options, so that packets do not pass untouched.
    var isActive: Bool { mode != .no || fallback != 0 }

    /// The factor for a track's samples.
    func gain(for tags: ReplayGain?) -> Float {
        let level = mode == .album ? tags?.album ?? tags?.track : tags?.track
        guard mode != .no, let level else { return Float(pow(10, fallback / 20)) }
        let gain = pow(10, (level.gain + preamp) / 20)
        guard !mayClip, let peak = level.peak else { return Float(gain) }
        return Float(min(gain, 1 / peak))
    }
}
