public import MediaCore

/// A flush from a film time on, on its way to the feeder.
final class PartialFlushRequest: Sendable {
    let time: MediaTime
    /// What is taken back is handed over anew, from what the renderer has kept.
    let feedsAgain: Bool
    let completion: @Sendable (PartialFlushResult) -> Void

    init(time: MediaTime, feedsAgain: Bool = false, completion: @escaping @Sendable (PartialFlushResult) -> Void) {
        self.time = time
        self.feedsAgain = feedsAgain
        self.completion = completion
    }
}

/// The owner's handler as an object: a closure taken out of a lock costs an allocation each time.
final class AutomaticFlushHandler: Sendable {
    let call: @Sendable (MediaTime) -> Void
    init(call: @escaping @Sendable (MediaTime) -> Void) { self.call = call }
}

extension AudioRenderer {
    /// Who is told that another output took over, or a lost one came back, and from which film time on it is handed sound. The renderer does that by
    /// itself with what it has kept; enqueueing again from there, after a flush, does no harm.
    ///
    /// - Parameter handler: called on the feeder thread; must return at once.
    public func onAutomaticFlush(_ handler: (@Sendable (MediaTime) -> Void)?) {
        state.withLock { $0.onAutomaticFlush = handler.map(AutomaticFlushHandler.init) }
    }

    /// Drops what lies from a film time on, even from a speaker's buffer, while what lies before it goes on sounding.
    ///
    /// Any thread. Several requests are carried out in order. Until the answer comes
    /// `isReadyForMoreMediaData` is false; what is enqueued all the same belongs to what is flushed. After `flushed` the
    /// next buffer may start at `time`, and joins to the sample wherever sound is decoded on the way; packets that a
    /// speaker takes untouched end with the last one that lies whole before the time.
    ///
    /// Too close to the playhead it is refused, everything is left as it was, and the answer says which lead would have
    /// been enough. A request that loses the race against the output counts as refused, never as done.
    public func flush(fromSourceTime time: MediaTime) async -> PartialFlushResult {
        await withCheckedContinuation { continuation in
            requestFlush(fromSourceTime: time) { continuation.resume(returning: $0) }
        }
    }

    /// The same for callers who do not wait. Returns at once.
    ///
    /// - Parameter completionHandler: called once, on the feeder thread, with `PartialFlushResult.isFlushed`; must return at
    ///   once.
    public func flush(
        fromSourceTime time: MediaTime, completionHandler: @escaping @Sendable (_ isFlushed: Bool) -> Void
    ) {
        requestFlush(fromSourceTime: time) { completionHandler($0.isFlushed) }
    }

    /// The same with the whole answer.
    package func requestFlush(
        fromSourceTime time: MediaTime, completion: @escaping @Sendable (PartialFlushResult) -> Void
    ) {
        let isOver = state.withLock { state -> Bool in
            guard !state.stopping else { return true }
            state.partialFlushes.append(PartialFlushRequest(time: time, completion: completion))
            return false
        }
        if isOver { completion(.overtaken) } else { wake.raise() }
    }

    /// How far ahead of the playhead, in time heard, `flush(fromSourceTime:)` must begin to succeed on the present
    /// route, as known now; nil where the route cannot do it.
    public var partialFlushLead: Duration? {
        guard let output = state.withLock({ $0.output }) else { return .zero }
        return (output as? any PartialFlushing)?.partialFlushLead
    }

    /// Nothing from a time on is handed over once more.
    func cutKept(_ state: inout State, at time: MediaTime) {
        let count = state.kept.count { buffer in buffer.presentationTime.map { $0 < time } ?? true }
        state.kept.removeLast(state.kept.count - count)
        guard count > 0, let end = state.kept[count - 1].soundEnd, end > time else { return }
        state.kept[count - 1].heardUntil = min(state.kept[count - 1].heardUntil ?? time, time)
    }

    func overtakePartialFlushes(_ state: inout State) {
        state.overtakenFlushes += state.partialFlushes
        state.partialFlushes.removeAll()
    }

    /// Answers those that came too late for an answer of their own.
    func reportOvertakenFlushes() {
        let overtaken = state.withLock { state -> [PartialFlushRequest] in
            guard !state.overtakenFlushes.isEmpty else { return [] }
            defer { state.overtakenFlushes.removeAll() }
            return state.overtakenFlushes
        }
        for request in overtaken { request.completion(.overtaken) }
    }
}
