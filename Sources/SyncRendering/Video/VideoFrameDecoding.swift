public import MediaCore

/// The skip policy of a decoder. Skipping reduces the quality or the frame rate and keeps a slow machine in time.
public enum SkipPolicy: Int, Sendable, Comparable {
    /// Decodes sync frames only.
    case syncOnly
    /// Skips non-reference frames.
    case referencesOnly
    /// Skips deblocking of non-reference frames.
    case plain
    /// Skips nothing.
    case full

    /// Returns true if `left` skips more than `right`.
    public static func < (left: SkipPolicy, right: SkipPolicy) -> Bool { left.rawValue < right.rawValue }
}

/// Decodes video. Confined to one thread.
///
/// The caller sends one buffer, then receives until nil.
public protocol VideoFrameDecoder: AnyObject {
    /// Sends a buffer. A damaged one is counted and skipped.
    ///
    /// - Throws: `unsupported` if the format has changed to one that cannot be decoded.
    func send(_ buffer: SampleBuffer) throws(MediaError)
    /// Signals the end of input, so that buffered frames become available.
    func finish()
    /// Returns the next frame in presentation order with time and duration; nil if more input is required.
    func receive() -> SampleBuffer?
    /// Discards all internal state, for a seek.
    func flush()
    /// Drops decoded frames that end at or before `time`, for an exact seek, unless the media ends there.
    func dropFrames(before time: MediaTime)
    /// Same for a forward seek without a sync frame in between. Nothing is flushed, and the next buffers follow those
    /// already sent. The caller has received all available frames.
    ///
    /// - Returns: False without a change if not supported.
    func skipForward(to time: MediaTime) -> Bool
    /// The skip policy; may change between any two calls.
    var skipPolicy: SkipPolicy { get set }
    /// Whether frames are converted for display with less precision in less time; may change between any two calls.
    var prefersFastConversion: Bool { get set }
    /// The number of undecodable packets since creation.
    var decodeErrorCount: Int { get }
    /// The error after which no more frames are returned; nil if there is none. `send` throws it.
    var failure: MediaError? { get }
}

extension VideoFrameDecoder {
    /// Returns false: a seek without a flush is not supported.
    public func skipForward(to time: MediaTime) -> Bool { false }
    /// Nil: every call of `send` may succeed.
    public var failure: MediaError? { nil }
    /// False, and ignored: there is one conversion or none.
    public var prefersFastConversion: Bool {
        get { false }
        set {}
    }
}

/// A factory of video decoders. The application passes the one from MediaCodecs or its own.
public protocol VideoCodecs: Sendable {
    /// Returns a decoder for a format.
    ///
    /// - Throws: `unsupported` if there is no decoder.
    func decoder(for format: VideoFormat) throws(MediaError) -> any VideoFrameDecoder
}
