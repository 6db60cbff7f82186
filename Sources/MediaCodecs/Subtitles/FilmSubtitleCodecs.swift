public import MediaCore
public import SyncRendering

/// Subtitles through libavcodec: every codec that this machine's FFmpeg decodes.
public struct FilmSubtitleCodecs: SubtitleCodecs {
    private let place: SubtitlePlace

    /// - Parameter place: at the top stand words alone, without what their author made of them; bitmaps are refused.
    public init(place: SubtitlePlace = .asWritten) { self.place = place }

    public func decoder(for format: SubtitleFormat) throws(MediaError) -> any SubtitleDecoder {
        try FilmSubtitleDecoder(format: format, place: place)
    }
}

/// Where words are to stand.
public enum SubtitlePlace: Sendable {
    /// Where and as their author says, otherwise below.
    case asWritten
    /// At the top, all alike, beside others that stand below.
    case top
}
