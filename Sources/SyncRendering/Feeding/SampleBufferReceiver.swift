public import MediaCore

/// The producing end of a renderer for Swift concurrency: one owner, back-pressure by suspension, results as values.
///
/// Not `Sendable`, and returned `sending`: after it is passed to a task or an actor, the compiler rejects a second
/// producer. Enqueueing, flushing and finishing are therefore ordered without a lock in the application. A renderer has
/// one supplier: a newer receiver, or `requestMediaDataWhenReady`, supersedes this one.
public final class SampleBufferReceiver {
    /// The result of an attempt to enqueue a buffer. Later versions may add cases; use a `default` in a `switch`.
    public enum EnqueueResult: Sendable, Equatable {
        /// The buffer is in the renderer's queue.
        case enqueued
        /// The renderer was flushed while the call waited for space; the buffer was discarded as part of the flushed
        /// media.
        case cancelledDueToFlush
        /// The renderer has another supplier or no longer exists; this buffer and all later ones are not enqueued.
        case superseded
        /// The renderer does not accept such a buffer (video for audio, a video frame without a time); it was not
        /// enqueued.
        case refused(RenderError)
    }

    private weak let renderer: (any SampleBufferConsumer)?
    private let number: UInt64

    init(_ renderer: any SampleBufferConsumer) {
        self.renderer = renderer
        number = renderer.demand.newReceiver()
    }

    /// Waits until the renderer has space, then enqueues the buffer. Runs in the caller's isolation. Allocates nothing
    /// if there is space.
    ///
    /// - Throws: `CancellationError` if the task was cancelled; the buffer was not enqueued.
    public nonisolated(nonsending) func enqueue(_ buffer: SampleBuffer) async throws(CancellationError) -> EnqueueResult
    {
        // Not the renderer, whose owner may release it meanwhile.
        guard let demand = renderer?.demand else { return .superseded }
        let flushes = demand.flushCount
        while demand.isSupplier(number) {
            if Task.isCancelled { throw CancellationError() }
            if demand.flushCount != flushes { return .cancelledDueToFlush }
            if renderer?.isReadyForMoreMediaData ?? true { return enqueueImmediately(buffer) }
            switch await demand.wait(as: number, unless: { renderer?.isReadyForMoreMediaData ?? true }) {
            case .ready: continue
            case .flushed: return .cancelledDueToFlush
            case .superseded: return .superseded
            case .cancelled: throw CancellationError()
            }
        }
        return .superseded
    }

    /// Enqueues a buffer without waiting, regardless of space. Never returns `cancelledDueToFlush`.
    public func enqueueImmediately(_ buffer: SampleBuffer) -> EnqueueResult {
        guard let renderer, renderer.demand.isSupplier(number) else { return .superseded }
        if let refusal = renderer.refusal(of: buffer) { return .refused(refusal) }
        renderer.enqueue(buffer)
        return .enqueued
    }

    /// Drops all enqueued buffers that are not yet presented.
    public func flush() {
        guard let renderer, renderer.demand.isSupplier(number) else { return }
        renderer.flush()
    }

    /// Drops media from a time on, also from a speaker's buffer; earlier media continues to play. See
    /// `AudioRenderer.flush(fromSourceTime:)`. A layer refuses, because its queue is short.
    public nonisolated(nonsending) func flush(fromSourceTime time: MediaTime) async -> PartialFlushResult {
        guard let renderer, renderer.demand.isSupplier(number) else { return .overtaken }
        return await renderer.flush(fromSourceTime: time)
    }

    /// Signals the end of input: enqueued media plays out and suffices for a start. More may be enqueued later.
    public func finish() {
        guard let renderer, renderer.demand.isSupplier(number) else { return }
        renderer.finish()
    }
}

@available(*, unavailable, message: "a renderer has one producer; send it where it is used")
extension SampleBufferReceiver: Sendable {}

/// The requirements of a receiver on its renderer.
protocol SampleBufferConsumer: MediaDataConsumer, QueuedSampleBufferRendering {
    var demand: MediaDataDemand { get }
    /// Returns an error if the renderer does not accept the buffer, otherwise nil.
    func refusal(of buffer: SampleBuffer) -> RenderError?
    /// Signals the end of input.
    func finish()
    /// Drops media from a time on; refused by renderers whose queue is short.
    func flush(fromSourceTime time: MediaTime) async -> PartialFlushResult
}

extension SampleBufferConsumer {
    func flush(fromSourceTime time: MediaTime) async -> PartialFlushResult { .refused(leadNeeded: nil) }
}
