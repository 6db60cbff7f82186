public import MediaCore

/// Takes decoded pictures in any order of arrival within its depth and gives a screen the right one.
///
/// One thread enqueues, one thread (the screen's) takes. `isReadyForMoreMediaData` is back-pressure: enqueueing
/// beyond it is allowed and costs memory.
public final class DisplayLayer: Sendable {
    /// What `take` found.
    public struct Selection: Sendable {
        /// The newest picture whose time had come, or nil when the one on screen stays.
        public var picture: SampleBuffer?
        /// Pictures passed over because a newer one was due too.
        public var skipped: Int
        /// Film time of the first picture passed over.
        public var firstSkipped: MediaTime?
    }

    /// The owner's handler as an object: a closure taken out of a lock costs an allocation each time.
    private final class ReadyHandler: Sendable {
        let call: @Sendable () -> Void
        init(call: @escaping @Sendable () -> Void) { self.call = call }
    }

    private struct State {
        var queue: [SampleBuffer] = []
        var depth: Int
        var hasShown = false
        var finished = false
        var shownTime: MediaTime?
        var shownEnd: MediaTime?
        var flushes: UInt64 = 0
        var onReady: ReadyHandler?
        var wasFull = false
        var enqueueCount = 0
        /// Requests were stopped: what is there is enough for a start.
        var isEnding = false
        var isJoined = false
        /// Told when a start may have become possible.
        weak var synchronizer: RenderSynchronizer?
    }

    private let state: Lock<State>
    let demand = MediaDataDemand()
    /// Raised when a picture arrived or the queue was flushed; the screen waits on it when it has nothing to do.
    public let arrival = Signal()

    /// - Parameter depth: pictures held before `isReadyForMoreMediaData` turns false. Each is a whole decoded frame.
    public init(depth: Int = 8) {
        var initial = State(depth: max(2, depth))
        initial.queue.reserveCapacity(max(2, depth) * 2)
        state = Lock(initial)
    }

    /// True while another picture fits.
    public var isReadyForMoreMediaData: Bool {
        state.withLock { state in
            let ready = state.queue.count < state.depth
            // Whoever saw that there is no room is told when there is.
            if !ready { state.wasFull = true }
            return ready
        }
    }

    /// Pictures waiting.
    public var count: Int { state.withLock { $0.queue.count } }

    /// Called from the taking thread each time the layer turns from full to ready. Must return at once.
    public func onReadyForMoreMediaData(_ body: (@Sendable () -> Void)?) {
        state.withLock { $0.onReady = body.map(ReadyHandler.init) }
    }

    /// Adds a picture; buffers without a picture or a time are ignored. Pictures are kept in order of film time.
    public func enqueue(_ buffer: SampleBuffer) {
        guard case .picture = buffer.payload, let time = buffer.presentationTime else { return }
        let synchronizer = state.withLock { state in
            state.enqueueCount &+= 1
            var index = state.queue.count
            while index > 0, let before = state.queue[index - 1].presentationTime, before > time { index -= 1 }
            state.queue.insert(buffer, at: index)
            state.finished = false
            if state.queue.count >= state.depth { state.wasFull = true }
            return state.synchronizer
        }
        arrival.raise()
        synchronizer?.reconsiderStart()
    }

    /// No more pictures follow.
    public func finish() { end { $0.finished = true } }

    private func end(_ note: (inout State) -> Void) {
        let synchronizer = state.withLock { state in
            note(&state)
            return state.synchronizer
        }
        arrival.raise()
        synchronizer?.reconsiderStart()
    }

    /// True when no more pictures follow and all have been taken.
    public var isDrained: Bool { state.withLock { $0.finished && $0.queue.isEmpty } }

    /// Film time of the picture last taken since a flush.
    public var shownTime: MediaTime? { state.withLock { $0.shownTime } }

    /// Film time just after the picture last taken, as far as known.
    public var shownEnd: MediaTime? { state.withLock { $0.shownEnd } }

    /// Drops every waiting picture; the one on screen stays until the next is taken.
    public func flush() {
        let ready = state.withLock { state -> ReadyHandler? in
            state.queue.removeAll(keepingCapacity: true)
            state.hasShown = false
            state.finished = false
            state.isEnding = false
            state.shownTime = nil
            state.shownEnd = nil
            state.flushes += 1
            defer { state.wasFull = false }
            return state.onReady
        }
        ready?.call()
        demand.noteFlush()
        arrival.raise()
    }

    /// Drops the waiting pictures that begin at a film time or later; those before it are still shown, the last of them
    /// up to that time at most. What replaces them may be enqueued at once.
    ///
    /// Unlike sound, which an output may hold already, a picture that nobody has taken cannot be seen any more: this
    /// happens before it returns and never fails. A picture that was taken stays on screen until the next one is taken,
    /// also when it began at that time or later. Any thread.
    ///
    /// - Returns: how many were dropped.
    @discardableResult
    public func flush(fromSourceTime time: MediaTime) -> Int {
        let (dropped, ready, hasRoom) = state.withLock { state -> (Int, ReadyHandler?, Bool) in
            let kept = state.queue.firstIndex { $0.presentationTime.map { $0 >= time } ?? false } ?? state.queue.count
            let dropped = state.queue.count - kept
            state.queue.removeSubrange(kept...)
            if let last = state.queue.indices.last, let start = state.queue[last].presentationTime,
                let end = state.queue[last].end, end > time
            {
                state.queue[last].duration = time - start
            } else if state.queue.isEmpty, let end = state.shownEnd, end > time {
                state.shownEnd = max(time, state.shownTime ?? time)
            }
            state.finished = false
            state.isEnding = false
            let hasRoom = state.wasFull && state.queue.count < state.depth
            if hasRoom { state.wasFull = false }
            return (dropped, hasRoom ? state.onReady : nil, hasRoom)
        }
        ready?.call()
        if hasRoom { demand.offer() }
        if dropped > 0 { arrival.raise() }
        return dropped
    }

    /// Film time of the next picture, without taking it.
    public var nextTime: MediaTime? { state.withLock { $0.queue.first?.presentationTime } }

    /// Film times of the pictures that wait, for tests.
    package var waitingTimes: [MediaTime] { state.withLock { $0.queue.compactMap(\.presentationTime) } }

    /// Whether nothing was taken since the last flush: the next picture is then due at once, whatever its time, so
    /// that a seek or a start shows its first picture while time still stands.
    public var awaitsFirst: Bool { state.withLock { !$0.hasShown } }

    /// The next picture without taking it, for preparing early.
    public func peek() -> SampleBuffer? { state.withLock { $0.queue.first } }

    /// Takes the newest picture whose film time is not after `time`, and everything older.
    public func take(upTo time: MediaTime) -> Selection {
        let (selection, ready, hasRoom) = state.withLock { state -> (Selection, ReadyHandler?, Bool) in
            var last = -1
            while last + 1 < state.queue.count, let pts = state.queue[last + 1].presentationTime,
                pts <= time || (!state.hasShown && last < 0)
            {
                last += 1
            }
            guard last >= 0 else { return (Selection(picture: nil, skipped: 0, firstSkipped: nil), nil, false) }
            let picture = state.queue[last]
            let first = last > 0 ? state.queue[0].presentationTime : nil
            state.queue.removeFirst(last + 1)
            state.hasShown = true
            state.shownTime = picture.presentationTime
            state.shownEnd = picture.end
            let hasRoom = state.wasFull && state.queue.count < state.depth
            if hasRoom { state.wasFull = false }
            return (
                Selection(picture: picture, skipped: last, firstSkipped: first), hasRoom ? state.onReady : nil, hasRoom
            )
        }
        ready?.call()
        if hasRoom { demand.offer() }
        return selection
    }
}

extension DisplayLayer: QueuedSampleBufferRendering, SampleBufferConsumer {
    /// Wakes the screen: what was far away may be due now.
    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) { arrival.raise() }
    /// A screen needs a refresh or so to have the first picture ready; it is prepared while time stands still.
    public var startLead: Duration { .milliseconds(20) }
    public var stopLead: Duration { .zero }

    // MARK: Requests

    var enqueueCount: Int { state.withLock { $0.enqueueCount } }

    func refusal(of buffer: SampleBuffer) -> RenderError? {
        guard case .picture = buffer.payload else {
            return RenderError(
                .wrongMedia, "a layer shows decoded pictures; decode them first, and enqueue sound elsewhere")
        }
        if buffer.presentationTime != nil { return nil }
        return RenderError(.missingTime, "a picture without a time cannot be shown; say when it is to be seen")
    }

    /// Calls `body` on `queue` whenever the layer has room, as `AudioRenderer` does for sound.
    public func requestMediaDataWhenReady(
        on queue: any MediaRequestQueue, using body: sending @escaping () -> Void
    ) {
        state.withLock { $0.isEnding = false }
        demand.request(from: MediaDataRequest(on: queue, for: self, body: body))
    }

    /// Ends the requests; from inside the closure or outside. What was enqueued is shown and counts as sufficient for a
    /// start. More may be enqueued, or requested, later.
    public func stopRequestingMediaData() {
        demand.stop()
        end { $0.isEnding = true }
    }

    /// The producing end for Swift concurrency. Whoever supplied the layer before is superseded.
    public func sampleBufferReceiver() -> sending SampleBufferReceiver { SampleBufferReceiver(self) }

    /// True with the first picture, which is shown and held while time stands still, or when none is to come.
    public var hasSufficientMediaDataForReliablePlaybackStart: Bool {
        state.withLock { $0.finished || $0.isEnding || !$0.queue.isEmpty || $0.shownTime != nil }
    }

    public var startWait: OutputWait? {
        hasSufficientMediaDataForReliablePlaybackStart ? nil : OutputWait(.picture, of: "the picture")
    }

    // MARK: Synchronizer

    public func join(_ synchronizer: RenderSynchronizer) throws(RenderError) {
        let isFree = state.withLock { state -> Bool in
            guard !state.isJoined else { return false }
            state.isJoined = true
            state.synchronizer = synchronizer
            return true
        }
        guard isFree else {
            throw RenderError(.alreadyAdded, "this layer has a synchronizer; remove it there first")
        }
    }

    public func leave(completion: @escaping @Sendable () -> Void) {
        state.withLock {
            $0.isJoined = false
            $0.synchronizer = nil
        }
        flush()
        completion()
    }
}
