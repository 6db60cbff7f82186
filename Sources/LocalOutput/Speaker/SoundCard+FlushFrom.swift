public import MediaCore
public import SyncRendering

/// Takes back decoded sound that the pump has not rendered yet.
extension SoundCard: PartialFlushing {
    /// What is queued in the card, and what the pump may add before it hears of the flush.
    public var partialFlushLead: Duration {
        (state.withLock { $0.worker }?.pump.delay ?? .zero) + SoundCardPump.partialFlushMargin
    }

    public func beginPartialFlush(from time: MediaTime) {
        guard let worker = state.withLock({ $0.worker }) else { return }
        worker.buffer.beginCut(at: time)
        worker.wake.raise()
    }

    public var partialFlushResult: PartialFlushResult? {
        guard let worker = state.withLock({ $0.worker }) else { return .flushed(from: .zero) }
        return worker.buffer.cutResult(lead: partialFlushLead)
    }
}
