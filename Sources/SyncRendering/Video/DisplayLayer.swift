public import MediaCore

/// Takes pictures and gives a screen the right one: decoded ones in any order of arrival within its depth, and encoded ones in
/// the order of their stream, where it was made with codecs (`DisplayLayer()` of MediaCodecs).
///
/// One thread enqueues, one thread (the screen's) takes; encoded pictures are decoded on a thread of the layer's own.
/// `isReadyForMoreMediaData` is back-pressure: enqueueing beyond it is allowed and costs memory.
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

    struct State {
        var queue: [SampleBuffer] = []
        var depth: Int
        var hasShown = false
        var finished = false
        var shownTime: MediaTime?
        var shownEnd: MediaTime?
        var flushes: UInt64 = 0
        var wasFull = false
        var enqueueCount = 0
        /// Requests were stopped: what is there is enough for a start.
        var isEnding = false
        var isJoined = false
        /// Presenters that take its pictures.
        var presenters = 0
        /// Told when a start may have become possible.
        weak var synchronizer: RenderSynchronizer?
        /// Why nothing is shown; nil while all is well.
        var failure: (any Error)?
        var gravity = VideoGravity.resizeAspect
        /// Counts the times that the picture on screen was to go.
        var removals: UInt64 = 0
        /// Whose words lie over its pictures.
        var subtitles: SubtitleRenderer?
        /// Whose words stand at the top.
        var secondarySubtitles: SubtitleRenderer?
        /// Both of what was seen last, as one.
        var joinedWords: (below: Overlay, above: Overlay, both: Overlay)?
    }

    let state: Lock<State>
    /// Nil where only decoded pictures are taken.
    let decoding: LayerDecoder?
    let demand = MediaDataDemand()
    /// Set by the screen that shows this layer; asked by the decoders that fill it.
    public let toneMapping: ToneMappingSwitch
    /// Raised when a picture arrived or the queue was flushed; the screen waits on it when it has nothing to do.
    public let arrival = Signal()

    /// A layer for decoded pictures only; encoded ones make it fail.
    ///
    /// - Parameters:
    ///   - depth: pictures held before `isReadyForMoreMediaData` turns false. Each is a whole decoded frame.
    ///   - toneMapping: what the pictures' decoder asks.
    public convenience init(depth: Int, toneMapping: ToneMappingSwitch = ToneMappingSwitch()) {
        self.init(decoding: nil, depth: depth, toneMapping: toneMapping)
    }

    /// A layer that decodes.
    ///
    /// - Parameter depth: decoded pictures held.
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

    deinit { decoding?.stop() }

    /// True while another picture fits. False after a failure until a flush, and inside a closure that has stopped its requests
    /// until it returns.
    public var isReadyForMoreMediaData: Bool {
        if demand.isStopping { return false }
        return state.withLock { state in
            let ready = isReady(state)
            // Whoever saw that there is no room is told when there is.
            if !ready { state.wasFull = true }
            return ready
        }
    }

    func isReady(_ state: State) -> Bool {
        if state.failure != nil { return false }
        if let decoding, decoding.isInUse { return decoding.hasRoom }
        return state.queue.count < state.depth
    }

    /// Pictures waiting.
    public var count: Int { state.withLock { $0.queue.count } }

    /// Adds a picture, or encoded ones where the layer has codecs. Pictures are kept in order of film time.
    ///
    /// What it cannot take makes `status` failed until a flush, and `error` says why; a picture without a time is ignored.
    public func enqueue(_ buffer: SampleBuffer) {
        if let refusal = refusal(of: buffer) {
            if refusal.code != .missingTime { fail(with: refusal) }
            return
        }
        state.withLock { $0.enqueueCount &+= 1 }
        if case .encodedVideo = buffer.payload {
            state.withLock { $0.finished = false }
            decoding?.enqueue(buffer, for: self)
        } else {
            insert(buffer)
        }
    }

    /// - Parameter isWanted: asked under the lock; a picture that came out of the decoder too late is none.
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
        subtitles?.picturesCame()
        secondarySubtitles?.picturesCame()
        synchronizer?.reconsiderStart()
    }

    /// No more pictures follow.
    public func finish() { end { $0.finished = true } }

    func end(_ note: (inout State) -> Void) {
        let synchronizer = state.withLock { state in
            note(&state)
            return state.synchronizer
        }
        decoding?.finish()
        arrival.raise()
        synchronizer?.reconsiderStart()
    }

    /// True when no more pictures follow and all have been taken.
    public var isDrained: Bool {
        state.withLock { $0.finished && $0.queue.isEmpty } && !(decoding?.isBusy ?? false)
    }

    /// Film time of the picture last taken since a flush.
    public var shownTime: MediaTime? { state.withLock { $0.shownTime } }

    /// Film time just after the picture last taken, as far as known.
    public var shownEnd: MediaTime? { state.withLock { $0.shownEnd } }

    /// Drops every waiting picture; the one on screen stays until the next is taken.
    public func flush() { flush(removingImage: false) }

    /// Drops every waiting picture, and the one on screen: the window is black until the next is taken.
    public func flushAndRemoveImage() { flush(removingImage: true) }

    private func flush(removingImage: Bool) {
        // First, so that a picture which is on its way out comes too late.
        decoding?.flush()
        state.withLock { state in
            state.queue.removeAll(keepingCapacity: true)
            state.hasShown = false
            state.finished = false
            state.isEnding = false
            state.shownTime = nil
            state.shownEnd = nil
            state.flushes += 1
            state.failure = nil
            if removingImage { state.removals += 1 }
            state.wasFull = false
        }
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
        decoding?.cut(at: time)
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
            let hasRoom = state.wasFull && isReady(state)
            if hasRoom { state.wasFull = false }
            return (dropped, hasRoom)
        }
        if hasRoom { demand.offer() }
        if dropped > 0 { arrival.raise() }
        return dropped
    }

    /// Film time of the next picture, without taking it.
    public var nextTime: MediaTime? { state.withLock { $0.queue.first?.presentationTime } }

    /// Film times of the picture that is seen and of those that wait, in order.
    var picturesAhead: [MediaTime] {
        state.withLock { state in
            (state.shownTime.map { [$0] } ?? []) + state.queue.compactMap(\.presentationTime)
        }
    }

    /// Film times of the pictures that wait, for tests.
    package var waitingTimes: [MediaTime] { state.withLock { $0.queue.compactMap(\.presentationTime) } }

    /// Whether nothing was taken since the last flush: the next picture is then due at once, whatever its time, so
    /// that a seek or a start shows its first picture while time still stands.
    public var awaitsFirst: Bool { state.withLock { !$0.hasShown } }

    /// A presenter takes its pictures. Any thread.
    package var hasPresenter: Bool { state.withLock { $0.presenters > 0 } }

    /// The next picture without taking it, for preparing early.
    public func peek() -> SampleBuffer? { state.withLock { $0.queue.first } }

    /// Takes the newest picture whose film time is not after `time`, and everything older.
    public func take(upTo time: MediaTime) -> Selection {
        let (selection, hasRoom) = state.withLock { state -> (Selection, Bool) in
            var last = -1
            while last + 1 < state.queue.count, let pts = state.queue[last + 1].presentationTime,
                pts <= time || (!state.hasShown && last < 0)
            {
                last += 1
            }
            guard last >= 0 else { return (Selection(picture: nil, skipped: 0, firstSkipped: nil), false) }
            let picture = state.queue[last]
            let first = last > 0 ? state.queue[0].presentationTime : nil
            state.queue.removeFirst(last + 1)
            state.hasShown = true
            state.shownTime = picture.presentationTime
            state.shownEnd = picture.end
            let hasRoom = state.wasFull && isReady(state)
            if hasRoom { state.wasFull = false }
            return (Selection(picture: picture, skipped: last, firstSkipped: first), hasRoom)
        }
        if hasRoom { demand.offer() }
        if selection.picture != nil { decoding?.offer() }
        return selection
    }
}
