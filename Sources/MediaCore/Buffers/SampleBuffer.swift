/// Immutable samples with exact timestamps: encoded packets, decoded audio, one video frame, or one subtitle cue.
public struct SampleBuffer: Sendable {
    /// The samples by kind.
    public enum Payload: Sendable {
        /// Audio packets and their format.
        case encodedAudio(AudioFormat, PacketBatch)
        /// Video packets and their format.
        case encodedVideo(VideoFormat, PacketBatch)
        /// Decoded audio.
        case pcm(PCMBlock)
        /// One decoded video frame.
        case videoFrame(any VideoFrame)
        /// An empty batch is a progress marker: no further subtitle starts before `presentationTime`.
        case encodedSubtitle(SubtitleFormat, PacketBatch)
        /// One decoded subtitle cue.
        case subtitle(SubtitleCue)
    }

    /// Properties of a buffer.
    public struct Flags: OptionSet, Sendable, BitwiseCopyable {
        /// The bits.
        public let rawValue: UInt8
        /// Creates a set from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Decoding can start here (key frame).
        public static let sync = Flags(rawValue: 1)
        /// The buffer does not continue the previous one: decoders and filters must reset.
        public static let discontinuity = Flags(rawValue: 2)
        /// Input for the decoder only; its output is discarded.
        public static let decodeOnly = Flags(rawValue: 4)
        /// Gapless boundary: a new item starts here and continues the previous one. The decoder is drained first; a gap
        /// or an overlap is corrected here.
        public static let gaplessBoundary = Flags(rawValue: 8)
    }

    /// The samples. They may have timestamps of their own.
    public var payload: Payload
    /// Presentation time of the first sample in media time; nil if unspecified. To change it, use `moved(to:)`, because
    /// the payload has its own timestamps.
    public package(set) var presentationTime: MediaTime?
    /// Duration in media time; zero if unknown.
    public var duration: MediaTime
    /// Key frame, discontinuity and boundary flags.
    public var flags: Flags
    /// Media time from which the samples are discarded after decoding; nil plays all. Set by a flush that truncates a
    /// queued buffer.
    package var heardUntil: MediaTime?
    /// Factor for the decoded samples, from ReplayGain metadata; 1 leaves them unchanged.
    package var gain: Float = 1

    /// Creates a buffer.
    public init(payload: Payload, presentationTime: MediaTime?, duration: MediaTime = .zero, flags: Flags = []) {
        self.payload = payload
        self.presentationTime = presentationTime
        self.duration = duration
        self.flags = flags
    }

    /// Media time of the end of the last sample; nil without a presentation time.
    public var end: MediaTime? { presentationTime.map { $0 + duration } }
}
