public import MediaCore

/// The producing end of a renderer for Swift concurrency: one owner, back-pressure by waiting, outcomes as values.
///
/// Not `Sendable`, and handed out `sending`: whoever gives it to a task or an actor cannot use it any more, so that a
/// second producer does not compile, and enqueueing, flushing and finishing happen one after the other without a lock
/// of the application's. A renderer has one supplier: a newer receiver, or `requestMediaDataWhenReady`, supersedes it.
public final class SampleBufferReceiver {
    /// What became of a buffer. Expected outcomes are values; more may come, so that a `switch` wants a `default`.
    public enum EnqueueResult: Sendable, Equatable {
        /// The buffer waits in the renderer.
        case enqueued
        /// The renderer was flushed while this call waited for room: the buffer was not enqueued, and belongs to what
        /// was flushed away.
        case cancelledDueToFlush
        /// Somebody else supplies this renderer now, or it is gone: the buffer was not enqueued, and none will be.
        case superseded
        /// The renderer cannot take such a buffer (pictures for sound, a picture without a time); it was not enqueued.
        case refused(RenderError)
    }

    private weak let renderer: (any SampleBufferConsumer)?
    private let number: UInt64

    init(_ renderer: any SampleBufferConsumer) {
        self.renderer = renderer
        number = renderer.demand.newReceiver()
    }

    /// Waits until the renderer is ready for more, then enqueues.
    ///
    /// Runs where the caller runs. Allocates nothing when the renderer is ready.
    ///
    /// - Throws: `CancellationError` when the task was cancelled; the buffer was not enqueued then.
    public nonisolated(nonsending) func enqueue(_ buffer: SampleBuffer) async throws(CancellationError) -> EnqueueResult
    {
        guard let renderer else { return .superseded }
        let flushes = renderer.demand.flushCount
        while renderer.demand.isSupplier(number) {
            if Task.isCancelled { throw CancellationError() }
            if renderer.demand.flushCount != flushes { return .cancelledDueToFlush }
            if renderer.isReadyForMoreMediaData { return enqueueImmediately(buffer) }
            switch await renderer.demand.wait(as: number, for: renderer) {
            case .ready: continue
            case .flushed: return .cancelledDueToFlush
            case .superseded: return .superseded
            case .cancelled: throw CancellationError()
            }
        }
        return .superseded
    }

    /// Enqueues without waiting, ready or not. Never `cancelledDueToFlush`.
    public func enqueueImmediately(_ buffer: SampleBuffer) -> EnqueueResult {
        guard let renderer, renderer.demand.isSupplier(number) else { return .superseded }
        if let refusal = renderer.refusal(of: buffer) { return .refused(refusal) }
        renderer.enqueue(buffer)
        return .enqueued
    }

    /// Drops what was enqueued and has not been perceived.
    public func flush() {
        guard let renderer, renderer.demand.isSupplier(number) else { return }
        renderer.flush()
    }

    /// Drops what lies from a film time on, even from a speaker's buffer, while what lies before goes on; see
    /// `AudioRenderer.flush(fromSourceTime:completion:)`. A layer, whose queue is short, refuses.
    public nonisolated(nonsending) func flush(fromSourceTime time: MediaTime) async -> PartialFlushResult {
        guard let renderer, renderer.demand.isSupplier(number) else { return .overtaken }
        guard let sound = renderer as? AudioRenderer else { return .refused(leadNeeded: nil) }
        return await sound.flush(fromSourceTime: time)
    }

    /// No more follows for now: what was enqueued plays to its end, and is sufficient for a start however short it is.
    /// More may be enqueued all the same.
    public func finish() {
        guard let renderer, renderer.demand.isSupplier(number) else { return }
        renderer.finish()
    }
}

@available(*, unavailable, message: "a renderer has one producing end; send it where it is used")
extension SampleBufferReceiver: Sendable {}

/// What a receiver needs of its renderer.
protocol SampleBufferConsumer: MediaDataConsumer, QueuedSampleBufferRendering {
    var demand: MediaDataDemand { get }
    /// Why a buffer makes no sense here; nil when it does.
    func refusal(of buffer: SampleBuffer) -> RenderError?
    func finish()
}
