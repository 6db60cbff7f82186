public import MediaCore
public import SyncRendering

/// Subtitle codecs of libavcodec: everything that the installed FFmpeg decodes.
public struct FilmSubtitleCodecs: SubtitleCodecs {
    private let position: SubtitlePosition

    /// - Parameter position: The position. At the top text is shown without the author's styling, and bitmaps are
    ///   refused.
    public init(position: SubtitlePosition = .asWritten) { self.position = position }

    /// Returns a decoder.
    ///
    /// - Throws: `unsupported` if there is none, or for bitmaps at the top.
    public func decoder(for format: SubtitleFormat) throws(MediaError) -> any SubtitleDecoder {
        try FilmSubtitleDecoder(format: format, position: position)
    }
}

/// The position of subtitles.
public enum SubtitlePosition: Sendable {
    /// As authored, by default at the bottom.
    case asWritten
    /// At the top in a uniform style, in addition to others at the bottom.
    case top
}
