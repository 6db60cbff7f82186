public import MediaCore

extension AudioRenderer {
    /// Sets the handler for a replaced or restored output. Its argument is the media time from which that output
    /// receives audio.
    ///
    /// The renderer redelivers its retained audio automatically. A flush and a repeated enqueue from that time are
    /// permitted.
    ///
    /// - Parameter handler: Called on the feeder thread; must not block.
    public func onAutomaticFlush(_ handler: (@Sendable (MediaTime) -> Void)?) {
        state.withLock { $0.onAutomaticFlush = handler.map(HandlerBox.init) }
    }

    /// Drops audio from a media time on, also from a speaker's buffer; earlier audio continues to play. Any thread.
    ///
    /// Requests run in order. Until the result is known `isReadyForMoreMediaData` is false, and audio enqueued
    /// meanwhile is flushed as well. After `flushed` the next buffer may start at `time`. Decoded audio joins
    /// sample-accurately. Pass-through packets end with the last complete packet before the time.
    ///
    /// A flush too close to the playhead is refused without any change, and the result states the required lead. A
    /// request that arrives too late at the output is refused, never reported as done.
    public func flush(fromSourceTime time: MediaTime) async -> PartialFlushResult {
        await withCheckedContinuation { continuation in
            requestFlush(fromSourceTime: time) { continuation.resume(returning: $0) }
        }
    }

    /// Same as `flush(fromSourceTime:)` with a completion handler. Returns at once.
    ///
    /// - Parameter completionHandler: Called once, on the feeder thread, with `PartialFlushResult.isFlushed`; must not
    ///   block.
    public func flush(
        fromSourceTime time: MediaTime, completionHandler: @escaping @Sendable (_ isFlushed: Bool) -> Void
    ) {
        requestFlush(fromSourceTime: time) { completionHandler($0.isFlushed) }
    }

    /// Same, with the full result.
    ///
    /// - Parameter completion: Called once on the feeder thread, or on the caller's if the renderer is invalidated.
    package func requestFlush(
        fromSourceTime time: MediaTime, completion: @escaping @Sendable (PartialFlushResult) -> Void
    ) {
        partialFlushes.append(PartialFlushRequest(time: time, completion: completion))
        wake.raise()
    }

    /// The minimum lead of `flush(fromSourceTime:)` ahead of the playhead on the current route, in host time. Zero
    /// without an output; nil if the route cannot flush partially. Any thread.
    public var partialFlushLead: Duration? {
        guard let outputs else { return .zero }
        return outputs.current.partialFlushLead
    }
}
