public import MediaCore
public import SyncRendering

/// Video codecs of libavcodec: everything that the installed FFmpeg decodes.
public struct FilmVideoCodecs: VideoCodecs {
    /// Creates a codec factory without state.
    public init() {}

    /// Returns a decoder.
    ///
    /// - Throws: `unsupported` if there is none for the format.
    public func decoder(for format: VideoFormat) throws(MediaError) -> any VideoFrameDecoder {
        try FilmVideoDecoder(format: format)
    }
}

extension AudioRenderer {
    /// Creates a renderer for `RenderSynchronizer.addRenderer` with the decoders of FFmpeg.
    public convenience init(
        contentKind: ContentKind = .film, events: EventLog = EventLog(clock: MonotonicClock())
    ) {
        self.init(codecs: FilmAudioCodecs(), contentKind: contentKind, events: events)
    }
}

extension DisplayLayer {
    /// Creates a layer with the decoders of FFmpeg; it also accepts decoded frames.
    public convenience init() { self.init(codecs: FilmVideoCodecs()) }
}
