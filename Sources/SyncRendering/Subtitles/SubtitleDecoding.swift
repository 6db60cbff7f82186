public import MediaCore

/// Turns encoded subtitles into cues. Owned and called by one thread.
public protocol SubtitleDecoder: AnyObject {
    /// The cues of a buffer, each with its time and how long it lasts. A damaged packet is counted and skipped.
    ///
    /// - Throws: `unsupported` when the format changed to one that cannot be decoded.
    func decode(_ buffer: SampleBuffer) throws(MediaError) -> [SampleBuffer]
    /// Forgets what it holds, for a jump.
    func flush()
    /// Packets that could not be decoded, since the start.
    var damagedPackets: Int { get }
}

/// Makes decoders for subtitles; the application passes the one from MediaCodecs, or its own.
public protocol SubtitleCodecs: Sendable {
    /// - Throws: `unsupported` when no decoder fits.
    func decoder(for format: SubtitleFormat) throws(MediaError) -> any SubtitleDecoder
}
