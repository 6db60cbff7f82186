/// A subtitle event. Its time is that of the sample buffer that contains it; without a duration it lasts until the next
/// buffer of the track. A cue without images clears the previous one.
public struct SubtitleCue: Sendable {
    /// The contents by kind.
    public enum Content: Sendable {
        /// An event of Advanced SubStation Alpha in Matroska's format
        /// (`ReadOrder,Layer,Style,Name,MarginL,MarginR,MarginV,Effect,Text`), and the styles it refers to.
        case script([UInt8], SubtitleStyleSheet)
        /// Bitmaps on a canvas of the given size, which is scaled to the video.
        case images([OverlayImage], canvas: PixelSize)
    }

    /// Text or bitmaps.
    public var content: Content
    /// True if it moves, fades or changes colour; it is then rendered for each video frame.
    public var isAnimated: Bool

    /// Creates a cue.
    public init(_ content: Content, isAnimated: Bool = false) {
        self.content = content
        self.isAnimated = isAnimated
    }

    /// True if the cue displays nothing.
    public var isEmpty: Bool {
        switch content {
        case .script(let event, _): event.isEmpty
        case .images(let images, _): images.isEmpty
        }
    }
}

/// The styles and fonts of a subtitle track, one instance per track; compared by identity.
public final class SubtitleStyleSheet: Sendable {
    /// The part of an ASS document before its events.
    public let header: [UInt8]
    /// True if the author specified positions, sizes and fonts; otherwise the viewer's settings apply.
    public let isAuthored: Bool
    /// Fonts embedded in the media.
    public let fonts: [EmbeddedFont]

    /// Creates a style sheet.
    public init(header: [UInt8], isAuthored: Bool, fonts: [EmbeddedFont] = []) {
        (self.header, self.isAuthored, self.fonts) = (header, isAuthored, fonts)
    }
}
