public import MediaCore
public import SyncRendering

/// Pictures through libavcodec: every codec that this machine's FFmpeg decodes.
public struct FilmVideoCodecs: VideoCodecs {
    public init() {}

    public func decoder(for format: VideoFormat) throws(MediaError) -> any PictureDecoder {
        try FilmPictureDecoder(format: format)
    }
}

extension AudioRenderer {
    /// A renderer for `RenderSynchronizer.addRenderer` that decodes what FFmpeg does.
    public convenience init(
        contentKind: ContentKind = .film, events: EventLog = EventLog(clock: MonotonicClock())
    ) {
        self.init(codecs: FilmAudioCodecs(), contentKind: contentKind, events: events)
    }
}

extension DisplayLayer {
    /// A layer that decodes what FFmpeg does, and takes decoded pictures as well.
    public convenience init() { self.init(codecs: FilmVideoCodecs()) }
}
