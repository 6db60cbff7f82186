public import MediaCore

/// Decodes subtitles to cues. Confined to one thread.
public protocol SubtitleDecoder: AnyObject {
    /// Returns the cues of a buffer with their times and durations. A damaged packet is counted and skipped.
    ///
    /// - Throws: `unsupported` if the format has changed to one that cannot be decoded.
    func decode(_ buffer: SampleBuffer) throws(MediaError) -> [SampleBuffer]
    /// Discards all internal state, for a seek.
    func flush()
    /// The number of undecodable packets since creation.
    var decodeErrorCount: Int { get }
}

/// A factory of subtitle decoders. The application passes the one from MediaCodecs or its own.
public protocol SubtitleCodecs: Sendable {
    /// Returns a decoder for a format.
    ///
    /// - Throws: `unsupported` if there is no decoder.
    func decoder(for format: SubtitleFormat) throws(MediaError) -> any SubtitleDecoder
}
