public import MediaCore

/// Accepts video frames and provides the due one to a screen. Decoded frames may arrive in any order within the depth.
/// Encoded ones arrive in stream order and require codecs (`DisplayLayer()` of MediaCodecs).
///
/// One thread enqueues, and the screen's thread takes; encoded frames are decoded on a separate thread. If the machine
/// is too slow, its decoder skips frames before the screen would have to.
/// `isReadyForMoreMediaData` is back-pressure: enqueueing beyond it is permitted and costs memory. A frame that would
/// be visible more than 40 ms late, and past its end, is dropped, except the first one after a flush.
public final class DisplayLayer: Sendable {
    /// The result of `dequeueFrame`.
    public struct Selection: Sendable {
        /// The newest due frame; nil if the displayed one remains.
        public var frame: SampleBuffer?
        /// The number of frames skipped because a newer one was due as well.
        public var skipped: Int
        /// The media time of the first skipped frame.
        package var firstSkipped: MediaTime?
    }

    /// Guarded by the lock `state`.
    struct State {
        /// The waiting frames in order of media time.
        var queue: [SampleBuffer] = []
        var depth: Int
        /// Whether a frame was taken since the last flush.
        var hasShown = false
        /// Whether a frame that was taken since then is on the screen: the first one opens the window.
        var isPresented = false
        var finished = false
        var shownTime: MediaTime?
        var shownEnd: MediaTime?
        var shownSize: PixelSize?
        var flushes: UInt64 = 0
        var wasFull = false
        var enqueueCount = 0
        /// Whether requests were stopped: the available frames suffice for a start.
        var isEnding = false
        var isJoined = false
        /// The number of screens that show this layer, or were asked to and have no presenter yet.
        var screens = 0
        /// Notified when a start may have become possible.
        weak var synchronizer: RenderSynchronizer?
        /// The reason why no frame is accepted; nil if there is none.
        var failure: (any Error)?
        var gravity = VideoGravity.resizeAspect
        /// Counts requests to remove the displayed frame.
        var removals: UInt64 = 0
        /// The renderer of the subtitles over the frames.
        var subtitles: SubtitleRenderer?
        /// The renderer of the subtitles at the top.
        var secondarySubtitles: SubtitleRenderer?
        /// The last two overlays and their combination.
        var joinedOverlays: (below: Overlay, above: Overlay, both: Overlay)?
    }

    let state: Lock<State>
    /// Nil if only decoded frames are accepted.
    let decoding: LayerDecoder?
    let demand = MediaDataDemand()
    /// Set by the screen that shows this layer; queried by the decoders that feed it.
    public let toneMapping: ToneMappingSwitch
    /// Raised when a frame arrives or the queue is flushed; an idle screen waits on it.
    public let arrival = Signal()

    /// Creates a layer for decoded frames only; encoded ones make it fail.
    ///
    /// - Parameters:
    ///   - depth: The number of decoded frames held before `isReadyForMoreMediaData` becomes false.
    ///   - toneMapping: The switch that the frames' decoder queries.
    public convenience init(depth: Int, toneMapping: ToneMappingSwitch = ToneMappingSwitch()) {
        self.init(decoding: nil, depth: depth, toneMapping: toneMapping)
    }

    /// Creates a layer that decodes.
    ///
    /// - Parameter depth: The number of decoded frames held.
    public convenience init(codecs: any VideoCodecs, depth: Int = 8) {
        self.init(decoding: LayerDecoder(codecs), depth: depth, toneMapping: ToneMappingSwitch())
    }

    private init(decoding: LayerDecoder?, depth: Int, toneMapping: ToneMappingSwitch) {
        self.decoding = decoding
        self.toneMapping = toneMapping
        var initial = State(depth: max(2, depth))
        initial.queue.reserveCapacity(max(2, depth) * 2)
        state = Lock(initial)
    }

    deinit {
        decoding?.offer()
        // A receiver that waits for space.
        _ = demand.newReceiver()
    }

    /// Whether there is space for another frame. False after a failure until a flush. Also false inside a closure that
    /// has stopped its requests, until it returns. Any thread.
    public var isReadyForMoreMediaData: Bool {
        if demand.isStopping { return false }
        return state.withLock { state in
            let ready = isReady(state)
            // The caller will be notified once there is space.
            if !ready { state.wasFull = true }
            return ready
        }
    }

    func isReady(_ state: State) -> Bool {
        if state.failure != nil { return false }
        if let decoding, decoding.isInUse { return decoding.hasRoom }
        return state.queue.count < state.depth
    }

    /// Returns true if a caller is to be notified of space.
    func clearWasFull(_ state: inout State) -> Bool {
        guard state.wasFull, isReady(state) else { return false }
        state.wasFull = false
        return true
    }

    /// The number of waiting frames. Any thread.
    public var count: Int { state.withLock { $0.queue.count } }

    /// Enqueues a decoded frame, or encoded ones if the layer has codecs. Frames are ordered by media time.
    ///
    /// An unsupported buffer sets `status` to failed until a flush, and `error` to the reason; a frame without a time
    /// is ignored.
    public func enqueue(_ buffer: SampleBuffer) {
        if let refusal = refusal(of: buffer) {
            if refusal.code != .missingTime { fail(with: refusal) }
            return
        }
        state.withLock { $0.enqueueCount &+= 1 }
        guard case .encodedVideo(let format, _) = buffer.payload else { return insert(buffer) }
        let isAccepted = state.withLock { state in
            state.finished = false
            return state.failure == nil
        }
        if isAccepted { decoding?.enqueue(buffer, format, for: self) }
    }

    /// Inserts a decoded frame by its media time.
    ///
    /// - Parameter isWanted: Evaluated under the lock; false discards the frame, because it left the decoder after a
    ///   flush.
    func insert(_ buffer: SampleBuffer, isDecoded: Bool = false, if isWanted: () -> Bool = { true }) {
        guard let time = buffer.presentationTime else { return }
        let synchronizer = state.withLock { state -> RenderSynchronizer? in
            guard isWanted() else { return nil }
            var index = state.queue.count
            while index > 0, let before = state.queue[index - 1].presentationTime, before > time { index -= 1 }
            state.queue.insert(buffer, at: index)
            if !isDecoded { state.finished = false }
            if !isReady(state) { state.wasFull = true }
            return state.synchronizer
        }
        arrival.raise()
        subtitles?.framesArrived()
        secondarySubtitles?.framesArrived()
        synchronizer?.reconsiderStart()
    }

    /// Signals the end of input.
    public func finish() { end { $0.finished = true } }

    func end(_ note: (inout State) -> Void) {
        let synchronizer = state.withLock { state in
            note(&state)
            return state.synchronizer
        }
        decoding?.packets.finish()
        arrival.raise()
        synchronizer?.reconsiderStart()
    }

    /// Whether the end of input was signalled and all frames have been taken. Any thread.
    public var isDrained: Bool {
        state.withLock { $0.finished && $0.queue.isEmpty } && !(decoding?.packets.isBusy ?? false)
    }

    /// The media time of the last frame taken since a flush; nil if there is none. Any thread.
    package var shownTime: MediaTime? { state.withLock { $0.shownTime } }

    /// The end of the last frame taken, as far as known; nil if there is none. Any thread.
    package var shownEnd: MediaTime? { state.withLock { $0.shownEnd } }

    /// The size of the last frame taken since a flush; nil if there is none. Any thread.
    package var shownSize: PixelSize? { state.withLock { $0.shownSize } }

    /// Drops all waiting frames; the displayed one remains until the next is taken.
    public func flush() { flush(removingImage: false) }

    /// Drops all waiting frames and the displayed one: the window is black until the next is taken.
    public func flushAndRemoveImage() { flush(removingImage: true) }

    private func flush(removingImage: Bool) {
        // Flushed first, so that a frame that is just leaving the decoder is discarded.
        decoding?.packets.flush()
        state.withLock { state in
            state.queue.removeAll(keepingCapacity: true)
            state.hasShown = false
            state.isPresented = false
            state.finished = false
            state.isEnding = false
            state.shownTime = nil
            state.shownEnd = nil
            state.shownSize = nil
            state.flushes += 1
            state.failure = nil
            if removingImage { state.removals += 1 }
            state.wasFull = false
        }
        demand.notifyFlush()
        arrival.raise()
    }

    /// Drops the waiting frames that start at a media time or later; earlier ones are still shown, the last of them up
    /// to that time. Replacements may be enqueued at once.
    ///
    /// Unlike audio in an output, a frame that was not taken can always be withdrawn: the call is synchronous and never
    /// fails. A frame that was taken is displayed until the next one is taken, even if it starts at that time or later.
    /// Any thread.
    ///
    /// - Returns: The number of dropped frames.
    @discardableResult
    public func flush(fromSourceTime time: MediaTime) -> Int {
        decoding?.packets.cut(at: time)
        let (dropped, hasRoom) = state.withLock { state -> (Int, Bool) in
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
            return (dropped, clearWasFull(&state))
        }
        if hasRoom { demand.offer() }
        if dropped > 0 { arrival.raise() }
        return dropped
    }

    /// The media time of the next frame, without taking it. Any thread.
    package var nextTime: MediaTime? { state.withLock { $0.queue.first?.presentationTime } }

    /// The media times of the displayed frame and of the waiting ones, in order.
    var frameTimesAhead: [MediaTime] {
        state.withLock { state in
            (state.shownTime.map { [$0] } ?? []) + state.queue.compactMap(\.presentationTime)
        }
    }

    /// The media times of the waiting frames, for tests.
    var waitingTimes: [MediaTime] { state.withLock { $0.queue.compactMap(\.presentationTime) } }

    /// Whether no frame was taken since the last flush. The next frame is then due at once, regardless of its time. A
    /// seek or a start thus shows its first frame while the timeline is stopped. Any thread.
    package var awaitsFirst: Bool { state.withLock { !$0.hasShown } }

    /// Returns the next frame without taking it, for early preparation.
    package func peek() -> SampleBuffer? { state.withLock { $0.queue.first } }

    /// Takes the newest frame whose media time is not after `time`, and drops all older ones.
    public func dequeueFrame(upTo time: MediaTime) -> Selection {
        let (selection, hasRoom) = state.withLock { state -> (Selection, Bool) in
            var last = -1
            while last + 1 < state.queue.count, let pts = state.queue[last + 1].presentationTime,
                pts <= time || (!state.hasShown && last < 0)
            {
                last += 1
            }
            guard last >= 0 else { return (Selection(frame: nil, skipped: 0, firstSkipped: nil), false) }
            let frame = state.queue[last]
            let first = last > 0 ? state.queue[0].presentationTime : nil
            state.queue.removeFirst(last + 1)
            state.hasShown = true
            state.shownTime = frame.presentationTime
            state.shownEnd = frame.end
            state.shownSize = frame.videoFrame?.size
            return (Selection(frame: frame, skipped: last, firstSkipped: first), clearWasFull(&state))
        }
        if hasRoom { demand.offer() }
        if selection.frame != nil { decoding?.offer() }
        return selection
    }
}
