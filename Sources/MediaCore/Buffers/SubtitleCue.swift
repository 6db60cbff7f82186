/// What is to be read on the picture for a while. When is said by the sample buffer that holds it; a buffer without a duration
/// lasts until the next one of its track, and a cue without images takes away what was there.
public struct SubtitleCue: Sendable {
    public enum Content: Sendable {
        /// One event of Advanced SubStation Alpha as Matroska stores it
        /// (`ReadOrder,Layer,Style,Name,MarginL,MarginR,MarginV,Effect,Text`), and the styles that it names.
        case script([UInt8], SubtitleStyleSheet)
        /// Bitmaps on a plane of that size, which covers the picture.
        case images([OverlayImage], canvas: PixelSize)
    }

    public var content: Content
    /// Something of it moves, fades or changes colour while it is shown: it is drawn for each picture.
    public var isAnimated: Bool

    public init(_ content: Content, isAnimated: Bool = false) {
        self.content = content
        self.isAnimated = isAnimated
    }

    /// Nothing is to be seen of it.
    public var isEmpty: Bool {
        switch content {
        case .script(let event, _): event.isEmpty
        case .images(let images, _): images.isEmpty
        }
    }
}

/// The styles that a track's events name, and the fonts that came with them. One for a track; known by its identity.
public final class SubtitleStyleSheet: Sendable {
    /// Everything of an ASS document before its events.
    public let header: [UInt8]
    /// The author chose places, sizes and fonts. Otherwise the words stand where and how the viewer reads best.
    public let isAuthored: Bool
    public let fonts: [EmbeddedFont]

    public init(header: [UInt8], isAuthored: Bool, fonts: [EmbeddedFont] = []) {
        (self.header, self.isAuthored, self.fonts) = (header, isAuthored, fonts)
    }
}
