public import MediaCore
public import SyncRendering

/// Subtitles through libavcodec: every codec that this machine's FFmpeg decodes.
public struct FilmSubtitleCodecs: SubtitleCodecs {
    public init() {}

    public func decoder(for format: SubtitleFormat) throws(MediaError) -> any SubtitleDecoder {
        try FilmSubtitleDecoder(format: format)
    }
}
