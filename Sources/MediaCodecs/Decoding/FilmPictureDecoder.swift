public import MediaCore
public import SyncRendering

/// Decodes pictures, and makes of them what a screen can show: HDR (PQ, HLG) becomes BT.709. Owned and called by one thread,
/// which does all of it, so that a screen's thread only shows.
///
/// Pictures of other films are handed on as they come.
public final class FilmPictureDecoder: PictureDecoder {
    private let decoder: VideoDecoder
    /// Nil until a picture is HDR.
    private var tones: ToneMapper?

    /// - Parameter threads: how many threads to decode with; nil chooses by picture size and machine.
    /// - Throws: `unsupported` when no decoder fits or the track's description is damaged, or `limitExceeded`.
    public init(format: VideoFormat, threads: Int? = nil) throws(MediaError) {
        decoder = try VideoDecoder(format: format, threads: threads)
    }

    public var effort: DecodingEffort {
        get { decoder.effort }
        set { decoder.effort = newValue }
    }

    public var damagedPackets: Int { decoder.damagedPackets }

    public func send(_ buffer: SampleBuffer) throws(MediaError) { try decoder.send(buffer) }

    public func finish() { decoder.finish() }

    public func flush() { decoder.flush() }

    public func discardPictures(before time: MediaTime) { decoder.discardPictures(before: time) }

    public func receive() -> SampleBuffer? {
        guard let buffer = decoder.receive() else { return nil }
        return shown(buffer)
    }

    /// The same moment as a screen can show it.
    private func shown(_ buffer: SampleBuffer) -> SampleBuffer {
        guard let picture = buffer.picture as? DecodedPicture, picture.color.isHighDynamicRange else { return buffer }
        let tones = self.tones ?? ToneMapper()
        self.tones = tones
        guard let mapped = tones.map(picture, of: decoder.format) else { return buffer }
        return SampleBuffer(
            payload: .picture(mapped), presentationTime: buffer.presentationTime, duration: buffer.duration,
            flags: buffer.flags)
    }
}
