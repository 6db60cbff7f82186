/// The format of encoded subtitles. Immutable; all buffers of a track share one instance.
public final class SubtitleFormat: Sendable, Equatable {
    /// The decoder configuration.
    public let parameters: CodecParameters
    /// Size of the bitmap canvas in pixels; nil if unspecified, and for text.
    public let canvas: PixelSize?
    /// The encoding of text that is not UTF-8, by its iconv name (`WINDOWS-1251`); nil means UTF-8.
    public let charset: String?
    /// Fonts embedded in the media, for scripts that refer to them.
    public let fonts: [EmbeddedFont]

    /// Creates a format.
    public init(
        parameters: CodecParameters, canvas: PixelSize? = nil, charset: String? = nil, fonts: [EmbeddedFont] = []
    ) {
        self.parameters = parameters
        self.canvas = canvas
        self.charset = charset
        self.fonts = fonts
    }

    /// Compares all members.
    public static func == (left: SubtitleFormat, right: SubtitleFormat) -> Bool {
        left === right
            || (left.parameters == right.parameters && left.canvas == right.canvas && left.charset == right.charset
                && left.fonts == right.fonts)
    }
}

/// A font file embedded in the media.
public struct EmbeddedFont: Sendable, Hashable {
    /// File name of the attachment.
    public var name: String
    /// The contents of the file.
    public var bytes: [UInt8]

    /// Creates a font.
    public init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }
}
