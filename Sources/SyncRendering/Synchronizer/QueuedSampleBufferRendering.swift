public import Dispatch
public import MediaCore

/// A renderer that an application feeds with sample buffers and a `RenderSynchronizer` drives: `AudioRenderer` for
/// audio, `DisplayLayer` for video, and an application's own kinds (subtitles, lights).
///
/// A renderer belongs to at most one synchronizer at a time.
public protocol QueuedSampleBufferRendering: RenderSynchronizer.Follower {
    /// Whether another buffer is wanted. Becomes false when the queue is full. Becomes true again as time advances or
    /// when the route requests more.
    var isReadyForMoreMediaData: Bool { get }

    /// Whether a start would not underrun at once. Also true at the end of the input: short material suffices. Any
    /// thread.
    var hasSufficientMediaDataForReliablePlaybackStart: Bool { get }

    /// What a start has to wait for, for the user and the log; nil if it need not. Any thread.
    ///
    /// When it changes, the renderer calls `RenderSynchronizer.reconsiderStart()`: a pending start is not polled.
    var startWait: OutputWait? { get }

    /// The earliest feasible start as currently known; see `AudioOutput.earliestStart`. Any thread.
    var earliestStart: HostInstant? { get }

    /// The timeline of delivered audio whose timing is fixed; see `OwnClockOutput.remoteTimeline`. Any thread.
    var remoteTimeline: TimebaseSegment? { get }

    /// Adjusts the rate of `remoteTimeline`; see `OwnClockOutput.adjustRemoteRate`. Any thread.
    func adjustRemoteRate(by offset: Double) -> Bool

    /// Appends a buffer to the queue, even if the renderer is not ready for more; the caller must bound the amount.
    func enqueue(_ buffer: SampleBuffer)

    /// Drops all buffers that are not yet presented. The next buffer starts afresh.
    func flush()

    /// Calls `body` on a queue whenever the renderer has space. Another call replaces the closure.
    func requestMediaDataWhenReady(on queue: any MediaRequestQueue, using body: sending @escaping () -> Void)

    /// Stops the requests. Enqueued buffers play out.
    func stopRequestingMediaData()

    /// Attaches the renderer to a synchronizer. Called once, before its first `timebaseDidChange`.
    ///
    /// - Throws: If the renderer belongs to a synchronizer; it is unchanged.
    func join(_ synchronizer: RenderSynchronizer) throws(RenderError)

    /// Detaches the renderer from its synchronizer.
    ///
    /// - Parameter completion: Called on any thread once none of the renderer's media is presented.
    func detach(completion: @escaping @Sendable () -> Void)
}

extension QueuedSampleBufferRendering {
    /// Same on a dispatch queue, such as `.main`.
    ///
    /// As in AVFoundation, `body` is called on that queue only. It may therefore capture `[weak self]` of a class
    /// confined to the queue; the compiler warns where it cannot verify that.
    @preconcurrency
    public func requestMediaDataWhenReady(on queue: DispatchQueue, using body: @escaping @Sendable () -> Void) {
        requestMediaDataWhenReady(on: queue as any MediaRequestQueue, using: body)
    }

    /// Waiting for material until enough of it is enqueued.
    public var startWait: OutputWait? {
        hasSufficientMediaDataForReliablePlaybackStart ? nil : OutputWait(.material, of: "a renderer")
    }
    /// Nil: the renderer does not delay a start.
    public var earliestStart: HostInstant? { nil }
    /// Nil: the renderer follows the timebase.
    public var remoteTimeline: TimebaseSegment? { nil }
    /// False: there is no clock to adjust.
    public func adjustRemoteRate(by offset: Double) -> Bool { false }
}
