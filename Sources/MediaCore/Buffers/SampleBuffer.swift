/// Immutable samples with their exact place on the film: encoded packets, decoded sound, one picture, or one subtitle.
public struct SampleBuffer: Sendable {
    public enum Payload: Sendable {
        case encodedAudio(AudioFormat, PacketBatch)
        case encodedVideo(VideoFormat, PacketBatch)
        case pcm(PCMBlock)
        case picture(any Picture)
        /// A batch without packets says that nothing is to be read until the buffer's time.
        case encodedSubtitle(SubtitleFormat, PacketBatch)
        case subtitle(SubtitleCue)
    }

    public struct Flags: OptionSet, Sendable, BitwiseCopyable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Decoding may begin here.
        public static let sync = Flags(rawValue: 1)
        /// What comes does not follow on from what went before: decoders forget, smoothing starts anew.
        public static let discontinuity = Flags(rawValue: 2)
        /// Needed by the decoder only; never shown or heard.
        public static let decodeOnly = Flags(rawValue: 4)
        /// A piece of its own begins here, which joins the one before: a decoder first gives out what it still holds, and
        /// a hole or an overlap is put right at this place.
        public static let joint = Flags(rawValue: 8)
    }

    public var payload: Payload
    /// When the first sample is perceived, on the film's own timeline. Nil when the source did not say. To have it perceived
    /// at another time, take `moved(to:)`: the samples inside have times of their own.
    public package(set) var presentationTime: MediaTime?
    /// How long the samples last; zero when unknown.
    public var duration: MediaTime
    public var flags: Flags
    /// Film time from which the samples inside are no longer to be heard; nil plays them all. Set by a flush that cuts a
    /// buffer which waits in a queue.
    package var heardUntil: MediaTime?
    /// What the samples are multiplied with when they have been decoded: how loud their maker found them. 1 leaves them.
    package var gain: Float = 1

    public init(payload: Payload, presentationTime: MediaTime?, duration: MediaTime = .zero, flags: Flags = []) {
        self.payload = payload
        self.presentationTime = presentationTime
        self.duration = duration
        self.flags = flags
    }

    /// Film time just after the last sample, as far as known.
    public var end: MediaTime? { presentationTime.map { $0 + duration } }
}
