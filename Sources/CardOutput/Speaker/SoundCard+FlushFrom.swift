internal import CardPlayout
public import MediaCore
public import SyncRendering

/// Discards queued audio that the pump has not rendered yet.
extension SoundCard: PartialFlushing {
    /// The delay of the card plus what the pump may render before it sees the flush.
    public var partialFlushLead: Duration {
        (state.withLock { $0.worker }?.pump.delay ?? .zero) + SoundCardPump.partialFlushMargin
    }

    /// Starts to discard queued audio from a media time on. Returns at once; `partialFlushResult` has the outcome.
    public func beginPartialFlush(from time: MediaTime) {
        guard let worker = state.withLock({ $0.worker }) else { return }
        worker.buffer.beginCut(at: time)
        worker.wake.raise()
    }

    /// The outcome of the flush; nil while undecided.
    public var partialFlushResult: PartialFlushResult? {
        guard let worker = state.withLock({ $0.worker }) else { return .flushed(from: .zero) }
        return worker.buffer.cutResult(lead: partialFlushLead)
    }
}
