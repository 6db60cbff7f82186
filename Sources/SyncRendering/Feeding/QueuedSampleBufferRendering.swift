public import Dispatch
public import MediaCore

/// What an application feeds with sample buffers and a `RenderSynchronizer` drives: `AudioRenderer` for sound,
/// `DisplayLayer` for pictures, and whatever an application adds (subtitles, lights).
///
/// A renderer belongs to one synchronizer at a time.
public protocol QueuedSampleBufferRendering: RenderSynchronizer.Follower {
    /// True while another buffer is wanted. Turns false when enough waits, and true again by itself while time runs or
    /// when the route asks for more.
    var isReadyForMoreMediaData: Bool { get }

    /// True when a start now would not run dry at once. Also true when no more is to come: short material is
    /// sufficient however short it is. Any thread.
    var hasSufficientMediaDataForReliablePlaybackStart: Bool { get }

    /// What a start has to wait for here, for people and for the log; nil when it need not. Any thread.
    var startWait: OutputWait? { get }

    /// No start before this instant can be kept, as known now; see `AudioOutput.earliestStart`. Any thread.
    var earliestStart: HostInstant? { get }

    /// Where sound lies that was handed over and cannot be moved any more; see `AudioOutput.remoteTimeline`. Any thread.
    var remoteTimeline: TimebaseSegment? { get }

    /// Adds a buffer; safe, if unwise without bound, while the renderer is not ready for more.
    func enqueue(_ buffer: SampleBuffer)

    /// Drops what was enqueued and has not been perceived. What is enqueued next starts anew.
    func flush()

    /// Calls `body` on a queue again and again, as often as it takes to stay full.
    func requestMediaDataWhenReady(on queue: any MediaRequestQueue, using body: sending @escaping () -> Void)

    /// Ends the requests. What was enqueued plays to its end.
    func stopRequestingMediaData()

    /// A synchronizer takes the renderer on. Called once before its first `timebaseDidChange`.
    ///
    /// - Throws: when it belongs to a synchronizer already; nothing has changed then.
    func join(_ synchronizer: RenderSynchronizer) throws(RenderError)

    /// The synchronizer has let the renderer go. `completion` is called, on any thread, when nothing of it is
    /// perceived any more.
    func leave(completion: @escaping @Sendable () -> Void)
}

extension QueuedSampleBufferRendering {
    /// The same on a dispatch queue: `.main`, or one of your own.
    ///
    /// As with AVFoundation, `body` is called on that queue and nowhere else, so that it may hold `[weak self]` of a class that
    /// belongs to the queue; the compiler warns where it cannot see that.
    @preconcurrency
    public func requestMediaDataWhenReady(on queue: DispatchQueue, using body: @escaping @Sendable () -> Void) {
        requestMediaDataWhenReady(on: queue as any MediaRequestQueue, using: body)
    }

    public var startWait: OutputWait? {
        hasSufficientMediaDataForReliablePlaybackStart ? nil : OutputWait(.material, of: "a renderer")
    }
    public var earliestStart: HostInstant? { nil }
    public var remoteTimeline: TimebaseSegment? { nil }
}
