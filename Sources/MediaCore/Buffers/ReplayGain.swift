/// Loudness metadata of a recording: ReplayGain 2.0, and RFC 7845 for Opus.
public struct ReplayGain: Hashable, Sendable {
    /// The values for one track or one album.
    public struct Level: Hashable, Sendable {
        /// Gain in dB, −60…60, to reach −18 LUFS.
        public var gain: Double
        /// Peak sample value, 1 is full scale; nil if unspecified.
        public var peak: Double?

        /// Creates values.
        public init(gain: Double, peak: Double? = nil) {
            self.gain = gain
            self.peak = peak
        }
    }

    /// The values of the track; nil if unspecified.
    public var track: Level?
    /// The values of the album; nil if unspecified.
    public var album: Level?

    /// Creates metadata.
    public init(track: Level? = nil, album: Level? = nil) {
        self.track = track
        self.album = album
    }
}
