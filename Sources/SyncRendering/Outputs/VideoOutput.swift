public import MediaCore

/// The refresh mode of a screen.
public enum RefreshMode: Sendable, Hashable {
    /// Unknown: every video frame is presented at its own instant.
    case unpaced
    /// The screen refreshes at `phase + n × period`; a video frame becomes visible at a refresh.
    case fixed(period: Duration, phase: HostInstant)
}

/// A destination of video frames: a window, or a virtual screen in tests. Confined to the thread that owns the window.
public protocol VideoOutput: AnyObject {
    /// The current refresh mode.
    var refresh: RefreshMode { get }
    /// The timing requirements of this output.
    var latency: OutputLatency { get }
    /// The recently measured time from the call of `present` to visibility; subtracted from every target.
    var presentCost: Duration { get }
    /// Converts, uploads and draws a video frame and its overlay, so that `present` only has to show it.
    ///
    /// - Parameter overlay: In pixels of the area last returned by `canvas`; nil if there is none.
    func prepare(_ frame: any VideoFrame, under overlay: Overlay?)
    /// Returns where subtitles may be drawn over a video frame; nil if that is not supported, which is the default.
    func canvas(for frame: any VideoFrame) -> SubtitleCanvas?
    /// Whether the prepared frame counts as shown once presented: false if it could not be drawn. The default is true.
    var canPresent: Bool { get }
    /// Shows the prepared frame; returns when it became visible, as accurately as the output knows.
    func present() -> HostInstant
    /// Blanks the screen until the next video frame. The default does nothing.
    func removeImage()
}

extension VideoOutput {
    /// Returns true: every frame is drawn.
    public var canPresent: Bool { true }
    /// Does nothing: the last video frame stays visible.
    public func removeImage() {}
    /// Returns nil: subtitles are not supported.
    public func canvas(for frame: any VideoFrame) -> SubtitleCanvas? { nil }
}
