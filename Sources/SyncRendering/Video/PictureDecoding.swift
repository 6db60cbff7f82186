public import MediaCore

/// How much work a decoder should do; less when the machine cannot keep up.
public enum DecodingEffort: Int, Sendable, Comparable {
    case full
    /// Deblocking is left out where no other picture depends on it.
    case withoutFilters
    /// Pictures that no other depends on are left out.
    case referencesOnly

    public static func < (left: DecodingEffort, right: DecodingEffort) -> Bool { left.rawValue < right.rawValue }
}

/// Turns encoded video into pictures. Owned and called by one thread.
public protocol PictureDecoder: AnyObject {
    /// Hands in one buffer; receive until nil afterwards. A damaged one is skipped and counted.
    func send(_ buffer: SampleBuffer) throws(MediaError)
    /// No more buffers follow: what is inside comes out.
    func finish()
    /// The next picture in film order, with time and duration; nil when more input is needed.
    func receive() throws(MediaError) -> SampleBuffer?
    /// Forgets everything inside, for a jump.
    func reset()
    /// Pictures that end at or before this film time are decoded and not returned. Nil returns all.
    var discardsBefore: MediaTime? { get set }
    var effort: DecodingEffort { get set }
    /// Pictures left out by reduced effort, and packets that could not be decoded, since the start.
    var skippedPictures: Int { get }
    var damagedPackets: Int { get }
}
