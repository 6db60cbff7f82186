public import MediaCore

/// Where subtitles may be drawn.
public struct SubtitleCanvas: Hashable, Sendable, BitwiseCopyable {
    /// The window, in pixels.
    public var area: PixelSize
    /// The picture within it; it may reach over the edges.
    public var picture: PixelRect
    /// The picture's own size in pixels, turned as it is shown, before it was scaled.
    public var storage: PixelSize

    /// The part of the window that words keep to, unless their author placed them in the picture.
    public var words: PixelRect

    /// - Parameter words: nil is the whole window.
    public init(area: PixelSize, picture: PixelRect, storage: PixelSize, words: PixelRect? = nil) {
        (self.area, self.picture, self.storage) = (area, picture, storage)
        self.words = words ?? PixelRect(x: 0, y: 0, width: area.width, height: area.height)
    }
}

/// A cue that is to be seen now.
public struct ActiveCue: Sendable {
    public var cue: SubtitleCue
    /// When it appeared and will vanish, in film time; an end of nil is not known.
    public var start: MediaTime
    public var end: MediaTime?
    /// Tells it from all other cues of its renderer.
    public var number: UInt64
}

/// Draws cues. Owned and called by one thread.
public protocol SubtitleDrawing: AnyObject {
    /// What is to be seen at a film moment, in the pixels of the canvas's area, from the bottom up; empty where that is nothing.
    ///
    /// - Parameter cues: those that are to be seen, in the order in which they began.
    func draw(_ cues: [ActiveCue], at time: MediaTime, on canvas: SubtitleCanvas) -> [OverlayImage]
    /// One sentence about what could not be drawn, since it was last asked; nil while all is well.
    func takeTrouble() -> String?
}
