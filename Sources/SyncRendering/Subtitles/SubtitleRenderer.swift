package import MediaCore
internal import Synchronization

/// Decodes subtitles and draws them over the video frames of a display layer.
///
/// One thread enqueues. Decoding and drawing occur on a separate thread, a second ahead of the video frames, so that
/// the screen never waits. A frame whose subtitles are not yet drawn is repainted once they are. A start never waits
/// for subtitles.
public final class SubtitleRenderer: Sendable {
    /// A range of media time with a constant overlay.
    struct Span: Sendable {
        var from: MediaTime
        var until: MediaTime
        var overlay: Overlay?
    }

    /// A buffer and the range of source time in which it may be shown: a loop may cut a cue at both ends.
    struct Enqueued {
        let buffer: SampleBuffer
        let from: MediaTime?
        var until: MediaTime?

        mutating func cut(at time: MediaTime) { until = min(until ?? time, time) }
    }

    /// Guarded by the lock `state`.
    struct State {
        var store = CueStore()
        /// Enqueued buffers that are not decoded.
        var waiting: [Enqueued] = []
        /// The buffer being decoded; a flush meanwhile limits its range.
        var decoding: Enqueued?
        /// The time of the last `flush(fromSourceTime:)`; buffers enqueued later are shown from there on.
        var begin: MediaTime?
        /// The time up to which all cues are enqueued.
        var knownUntil: MediaTime?
        /// The drawn spans, ordered by start.
        var spans: [Span] = []
        /// The last shown overlay, which remains until the next one is drawn.
        var last: Overlay?
        /// Incremented when all drawn spans become obsolete.
        var edition: UInt64 = 0
        var canvas: SubtitleCanvas?
        var delay = MediaTime.zero
        var style = SubtitleStyle()
        var isHidden = false
        var isJoined = false
        /// Whether a caller found the queue full and is to be notified of space.
        var wasFull = false
        /// Whether the thread has to flush the decoder.
        var isFlushed = false
        var enqueueCount = 0
        var failure: (any Error)?
        var trouble: String?
        /// Whether an excess of cues was reported; reset by a flush.
        var isFloodKnown = false
        weak var synchronizer: RenderSynchronizer?
        var thread: WorkerThread?
        var isStopping = false
    }

    /// How far ahead cues are read, and the depth below which more are requested.
    static let readsAhead = MediaTime(value: 10, timescale: 1)
    static let asksAgain = MediaTime(value: 6, timescale: 1)
    /// The maximum number of undecoded buffers.
    static let maxWaiting = 64

    let state = Lock(State())
    let demand = MediaDataDemand()
    /// Raised when the thread has work before the instant returned by its last iteration.
    package let wake = Signal()
    weak let layer: DisplayLayer?
    private let codecs: (any SubtitleCodecs)?
    let makeDrawing: @Sendable () -> (any SubtitleDrawing)?
    /// Whether the coming video frames have animated subtitles. Stored by the renderer's thread.
    let isMoving = Atomic<Bool>(false)

    /// Creates a renderer and attaches it to a layer.
    ///
    /// - Parameters:
    ///   - layer: The layer under the subtitles; the newest renderer of each kind replaces the older one.
    ///   - isSecondary: Whether they are shown in addition to another renderer's. The cues determine their position:
    ///     see `FilmSubtitleCodecs`.
    ///   - codecs: The factory of decoders; nil accepts decoded cues only.
    ///   - drawing: Called once on the renderer's thread, and on each thread that stores a video frame with subtitles.
    ///     If it returns nil nothing is drawn.
    public init(
        over layer: DisplayLayer, isSecondary: Bool = false, codecs: (any SubtitleCodecs)? = nil,
        drawing: @escaping @Sendable () -> (any SubtitleDrawing)?
    ) {
        self.codecs = codecs
        self.layer = layer
        makeDrawing = drawing
        layer.setSubtitles(self, isSecondary: isSecondary)
    }

    deinit {
        // The thread holds the renderer only during an iteration.
        wake.raise()
    }

    // MARK: Presentation

    /// The delay of the subtitles; negative is earlier. Takes effect at once, also on a static video frame. Any thread.
    public var delay: Duration {
        get { state.withLock { $0.delay.duration } }
        set { change { $0.delay = MediaTime(nanoseconds: newValue.wholeNanoseconds) } }
    }

    /// The placement and size of the subtitles. Takes effect at once, also on a static video frame. Any thread.
    public var style: SubtitleStyle {
        get { state.withLock { $0.style } }
        set { change { $0.style = newValue } }
    }

    /// Returns when the subtitle appears that is `count` subtitles after the one shown at a media time, before it if
    /// negative. Nil if there is none among those that have been read. Any thread.
    package func appearance(_ count: Int, from time: MediaTime) -> MediaTime? {
        state.withLock { state in
            state.store.start(count, from: time - state.delay).map { $0 + state.delay }
        }
    }

    /// Whether the subtitles are hidden; they are still read and stored. Any thread.
    package var isHidden: Bool {
        get { state.withLock { $0.isHidden } }
        set { change { $0.isHidden = newValue } }
    }

    /// The reason why no subtitles are shown; nil if there is none. Reset by a flush. Any thread.
    public var error: (any Error)? { state.withLock { $0.failure } }

    /// Returns a message about content that could not be drawn since the last call; nil if there is none. Any thread.
    public func consumeProblem() -> String? {
        state.withLock { $0.trouble.take() }
    }

    /// Sets the geometry. Called with each video frame; only a change has a cost.
    func setCanvas(_ canvas: SubtitleCanvas) {
        let isNew = state.withLock { state in
            guard state.canvas != canvas else { return false }
            state.canvas = canvas
            state.forgetDrawn()
            return true
        }
        if isNew { prod() }
    }

    /// Returns the overlay of a video frame at a media time; nil if there is none. For the presenting thread: does not
    /// block.
    func overlay(at time: MediaTime) -> Overlay? {
        state.withLock { state in
            if state.isHidden || state.store.isEmpty { return nil }
            guard let span = state.spans.last(where: { $0.from <= time }), time < span.until else {
                // Not drawn yet: the preceding overlay remains until then. The frame may have arrived after its
                // subtitles were drawn, and start before the playhead, from which they were.
                wake.raise()
                return state.last
            }
            state.last = span.overlay
            return span.overlay
        }
    }

    /// Returns when the overlay of a static video frame changes next; nil if no change is known.
    func nextChange(after time: MediaTime) -> MediaTime? {
        state.withLock { $0.isHidden ? nil : $0.nextChange(after: time) }
    }

    /// Wakes the thread for new video frames if subtitles are animated, because each frame is then drawn.
    func framesArrived() { if isMoving.load(ordering: .relaxed) { wake.raise() } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            state.forgetDrawn()
        }
        prod()
    }

    /// Wakes the thread and the screen, so that the current video frame is redrawn.
    func prod() {
        startThread()
        wake.raise()
        layer?.arrival.raise()
    }

    /// Accesses the state while the synchronizer exists: its last reference, released under the lock, would detach this
    /// renderer there.
    func withSynchronizer<Result>(_ body: (inout State) -> Result) -> Result {
        let synchronizer = state.withLock { $0.synchronizer }
        return withExtendedLifetime(synchronizer) { state.withLock { body(&$0) } }
    }

    // MARK: Thread

    /// Returns a drawer to be driven by a test with a manual clock.
    package func makeDrawer() -> SubtitleDrawer {
        SubtitleDrawer(renderer: self, codecs: codecs, makeDrawing: makeDrawing)
    }

    /// Starts the thread if there is work. If none is available, `error` is set and no subtitles are shown.
    func startThread() {
        withSynchronizer { state in
            guard state.thread == nil, state.failure == nil, let synchronizer = state.synchronizer,
                synchronizer.isRealTime, !state.waiting.isEmpty || !state.store.isEmpty || state.wasFull
            else { return }
            let clock = synchronizer.clock
            do throws(ExhaustionError) {
                let (codecs, makeDrawing) = (codecs, makeDrawing)
                state.thread = try WorkerThread.start(name: "subtitles") { [weak self, wake] in
                    guard
                        let drawer = self.map({
                            SubtitleDrawer(renderer: $0, codecs: codecs, makeDrawing: makeDrawing)
                        })
                    else { return }
                    while let rest = drawer.runIteration() {
                        if let instant = rest.until {
                            wake.wait(until: clock.machineInstant(of: instant))
                        } else {
                            wake.wait()
                        }
                    }
                }
            } catch {
                state.failure = MediaError(error)
            }
        }
    }

    /// Ends the thread and waits for it.
    package func stop() {
        let thread = state.withLock { state in
            state.isStopping = true
            return state.thread.take()
        }
        wake.raise()
        thread?.join()
    }
}

extension SubtitleRenderer.State {
    /// Reports once that cues are dropped, for the user.
    mutating func reportFlood() {
        if !isFloodKnown { trouble = "there are too many subtitles at once; some are not shown" }
        isFloodKnown = true
    }

    /// Discards all drawn spans.
    mutating func forgetDrawn() {
        spans.removeAll(keepingCapacity: true)
        edition += 1
    }

    /// Returns when the set of cues changes next; always later than `time`. Nil if no change is known.
    func nextChange(after time: MediaTime) -> MediaTime? {
        // The sum is rounded to nanoseconds if its denominator exceeds 32 bits, which may be down to `time`.
        store.nextChange(after: time - delay).map { max($0 + delay, time + SubtitleDrawer.instant) }
    }

    /// Discards drawn spans from a media time on.
    mutating func forgetDrawn(from time: MediaTime) {
        spans.removeAll { $0.from >= time }
        // Spans overlap if one was drawn from the playhead on and another one from an earlier video frame.
        for index in spans.indices { spans[index].until = min(spans[index].until, time) }
    }
}
