/// The format of encoded subtitles. Immutable and shared by every buffer of a track.
public final class SubtitleFormat: Sendable, Equatable {
    public let parameters: CodecParameters
    /// Pixels of the plane that bitmaps are placed on; nil where the container does not say, and for words.
    public let canvas: PixelSize?
    /// The encoding of words that are not UTF-8, as iconv names it (`WINDOWS-1251`); nil is UTF-8.
    public let charset: String?
    /// Fonts that came along with the film, for scripts that name them.
    public let fonts: [EmbeddedFont]

    public init(
        parameters: CodecParameters, canvas: PixelSize? = nil, charset: String? = nil, fonts: [EmbeddedFont] = []
    ) {
        self.parameters = parameters
        self.canvas = canvas
        self.charset = charset
        self.fonts = fonts
    }

    public static func == (left: SubtitleFormat, right: SubtitleFormat) -> Bool {
        left === right
            || (left.parameters == right.parameters && left.canvas == right.canvas && left.charset == right.charset
                && left.fonts == right.fonts)
    }
}

/// A font file inside a film.
public struct EmbeddedFont: Sendable, Hashable {
    /// The attachment's file name.
    public var name: String
    public var bytes: [UInt8]

    public init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }
}
