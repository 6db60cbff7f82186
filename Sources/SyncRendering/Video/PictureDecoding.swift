public import MediaCore

/// How much of the work a decoder does. Less looks worse, or jerkier, and keeps a slow machine in time.
public enum DecodingEffort: Int, Sendable, Comparable {
    /// Only pictures that need no other.
    case syncOnly
    /// Leaves out pictures that no other one needs.
    case referencesOnly
    /// Leaves out deblocking of pictures that no other one needs.
    case plain
    case full

    public static func < (left: DecodingEffort, right: DecodingEffort) -> Bool { left.rawValue < right.rawValue }
}

/// Turns encoded video into pictures. Owned and called by one thread.
///
/// Send one buffer, then receive until nil.
public protocol PictureDecoder: AnyObject {
    /// Hands in one buffer. A damaged one is counted and skipped.
    ///
    /// - Throws: `unsupported` when the format changed to one that cannot be decoded.
    func send(_ buffer: SampleBuffer) throws(MediaError)
    /// No more buffers follow: what is inside comes out.
    func finish()
    /// The next picture in order of showing, with time and duration; nil when more input is needed.
    func receive() -> SampleBuffer?
    /// Forgets everything inside, for a jump.
    func flush()
    /// After an exact jump: pictures that end at or before `time` are decoded and not handed out, unless the film ends
    /// there.
    func discardPictures(before time: MediaTime)
    /// The same for a jump to a place further on without a sync picture in between: nothing is flushed, and the next buffers follow
    /// those that were sent. Everything that is ready was received before.
    ///
    /// - Returns: false where that cannot be done; nothing has changed then.
    func goOn(to time: MediaTime) -> Bool
    /// May be changed between any two calls.
    var effort: DecodingEffort { get set }
    /// Packets that could not be decoded, since the start.
    var damagedPackets: Int { get }
}

extension PictureDecoder {
    public func goOn(to time: MediaTime) -> Bool { false }
}

/// Makes decoders for pictures; the application passes the one from MediaCodecs, or its own.
public protocol VideoCodecs: Sendable {
    /// - Throws: `unsupported` when no decoder fits.
    func decoder(for format: VideoFormat) throws(MediaError) -> any PictureDecoder
}
