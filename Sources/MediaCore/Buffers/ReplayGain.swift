/// How loud its maker found a recording, as its tags say: ReplayGain 2.0, and RFC 7845 for Opus.
public struct ReplayGain: Hashable, Sendable {
    /// What is said of a piece, or of the whole that it belongs to.
    public struct Level: Hashable, Sendable {
        /// Decibels by which to make it louder, −60…60, so that it is as loud as −18 LUFS.
        public var gain: Double
        /// The highest sample, 1 is full scale; nil when nobody says.
        public var peak: Double?

        public init(gain: Double, peak: Double? = nil) {
            self.gain = gain
            self.peak = peak
        }
    }

    public var track: Level?
    public var album: Level?

    public init(track: Level? = nil, album: Level? = nil) {
        self.track = track
        self.album = album
    }
}
