public import MediaCore

/// The geometry for drawing subtitles, in pixels.
public struct SubtitleCanvas: Hashable, Sendable, BitwiseCopyable {
    /// The size of the window.
    package var area: PixelSize
    /// The rectangle of the video within the window; it may exceed the window.
    package var video: PixelRect
    /// The size of the video after rotation and before scaling.
    package var storage: PixelSize

    /// The part of the window to which text is confined, unless its author positioned it in the video.
    package var textArea: PixelRect

    /// The user's placement and size of subtitles.
    package var style = SubtitleStyle()

    /// Creates a canvas.
    ///
    /// - Parameter textArea: The part for text; nil: the whole window.
    package init(area: PixelSize, video: PixelRect, storage: PixelSize, textArea: PixelRect? = nil) {
        (self.area, self.video, self.storage) = (area, video, storage)
        self.textArea = textArea ?? PixelRect(x: 0, y: 0, width: area.width, height: area.height)
    }
}

/// A cue that is shown at the current time.
public struct ActiveCue: Sendable {
    /// The content.
    package var cue: SubtitleCue
    /// When the cue appears, in media time.
    package var start: MediaTime
    /// When the cue disappears, in media time; nil: unknown.
    package var end: MediaTime?
    /// Identifies the cue within its renderer.
    package var number: UInt64
}

/// Draws cues. Confined to one thread.
public protocol SubtitleDrawing: AnyObject {
    /// Returns the images at a media time, in pixels of the canvas's area, from the bottom up; empty if there are none.
    ///
    /// - Parameter cues: The active cues, ordered by start.
    func draw(_ cues: [ActiveCue], at time: MediaTime, on canvas: SubtitleCanvas) -> [OverlayImage]
    /// Returns a message about content that could not be drawn since the last call; nil if there is none.
    func consumeProblem() -> String?
}
