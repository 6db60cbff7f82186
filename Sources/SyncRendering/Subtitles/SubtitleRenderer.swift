package import MediaCore
internal import Synchronization

/// Takes subtitles and lays the right ones over each picture of a display layer: the third kind of renderer, beside sound and
/// pictures. Encoded ones are decoded by the codecs that it was made with.
///
/// One thread enqueues. Decoding and drawing happen on a thread of the renderer's own, a second ahead of the pictures, so that
/// the screen waits for no letters: a picture whose words are not drawn yet is painted again when they are. A start never waits
/// for subtitles.
public final class SubtitleRenderer: Sendable {
    /// A stretch of film, and what is to be seen all through it.
    struct Span: Sendable {
        var from: MediaTime
        var until: MediaTime
        var overlay: Overlay?
    }

    /// A buffer and the source times between which it may be shown: a pass of a loop may hold a line that begins before it and ends
    /// after it.
    struct Enqueued {
        let buffer: SampleBuffer
        let from: MediaTime?
        var until: MediaTime?

        mutating func cut(at time: MediaTime) { until = min(until ?? time, time) }
    }

    struct State {
        var store = CueStore()
        /// Enqueued and not yet decoded.
        var waiting: [Enqueued] = []
        /// The one that is being decoded: what a flush meanwhile leaves of it.
        var decoding: Enqueued?
        /// Source time of the last `flush(fromSourceTime:)`: what is enqueued after it is shown from there on.
        var begin: MediaTime?
        /// Nothing begins before this moment that has not been enqueued.
        var knownUntil: MediaTime?
        /// What has been drawn, in order.
        var spans: [Span] = []
        /// What was seen last, while something new is drawn.
        var last: Overlay?
        /// Raised by whatever makes everything drawn worthless.
        var edition: UInt64 = 0
        var canvas: SubtitleCanvas?
        var delay = MediaTime.zero
        var isHidden = false
        var isJoined = false
        /// Somebody was told that there is no room.
        var wasFull = false
        /// A flush of which the thread has not heard.
        var isFlushed = false
        var enqueueCount = 0
        var failure: (any Error)?
        var trouble: String?
        /// Told that there are too many; once until a flush.
        var isFloodKnown = false
        weak var synchronizer: RenderSynchronizer?
        var thread: WorkerThread?
        var isStopping = false
    }

    /// How far ahead cues are wanted, and when more are asked for.
    static let readsAhead = MediaTime(value: 10, timescale: 1)
    static let asksAgain = MediaTime(value: 6, timescale: 1)
    /// Encoded buffers that may wait for the thread.
    static let mostWaiting = 64

    let state = Lock(State())
    let demand = MediaDataDemand()
    /// Raised when the thread has something to do before the instant that its last iteration returned.
    package let wake = Signal()
    weak let layer: DisplayLayer?
    private let codecs: (any SubtitleCodecs)?
    let makeDrawing: @Sendable () -> (any SubtitleDrawing)?
    /// Something moves over the pictures that come.
    let isMoving = Atomic<Bool>(false)

    /// - Parameters:
    ///   - layer: whose pictures they lie over; a layer has one such renderer of either kind, the newest.
    ///   - isSecondary: they lie over another renderer's. Where they stand is said by what they bring: see `FilmSubtitleCodecs`.
    ///   - codecs: nil takes decoded cues only.
    ///   - drawing: called on the renderer's thread, once, and on that of whoever keeps a picture with its words; where it returns
    ///     nil nothing is drawn.
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
        // The thread holds the renderer only while it works.
        wake.raise()
    }

    // MARK: What is seen

    /// Later (positive) or earlier than the film says. Any thread; takes effect at once, also on a picture that stands.
    public var delay: Duration {
        get { state.withLock { $0.delay.duration } }
        set { change { $0.delay = MediaTime(nanoseconds: newValue.wholeNanoseconds) } }
    }

    /// Nothing of them is seen; they are read and kept all the same. Any thread.
    public var isHidden: Bool {
        get { state.withLock { $0.isHidden } }
        set { change { $0.isHidden = newValue } }
    }

    /// Why no words are shown; nil while all is well. A failure ends with a flush. Any thread.
    public var error: (any Error)? { state.withLock { $0.failure } }

    /// One sentence about what could not be drawn, since it was last asked. Any thread.
    public func takeTrouble() -> String? {
        state.withLock { state in
            defer { state.trouble = nil }
            return state.trouble
        }
    }

    /// Where they may be drawn; the screen says so with each picture, and only a change costs anything.
    func setCanvas(_ canvas: SubtitleCanvas) {
        let isNew = state.withLock { state in
            guard state.canvas != canvas else { return false }
            state.canvas = canvas
            state.forgetDrawn()
            return true
        }
        if isNew { prod() }
    }

    /// What lies over a picture of this film time. For the thread that shows pictures: waits for nothing.
    func overlay(at time: MediaTime) -> Overlay? {
        state.withLock { state in
            if state.isHidden || state.store.isEmpty { return nil }
            guard let span = state.spans.last(where: { $0.from <= time }), time < span.until else {
                // Not drawn yet: what was there stays until it is.
                return state.last
            }
            state.last = span.overlay
            return span.overlay
        }
    }

    /// When a picture that stays looks different; nil when it does not for as long as is known.
    func nextChange(after time: MediaTime) -> MediaTime? {
        state.withLock { $0.isHidden ? nil : $0.nextChange(after: time) }
    }

    /// New pictures wait: those over which something moves are drawn one by one.
    func picturesCame() { if isMoving.load(ordering: .relaxed) { wake.raise() } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            state.forgetDrawn()
        }
        prod()
    }

    /// Something is to be drawn anew, or nothing any more, also on the picture that is on screen.
    func prod() {
        startThread()
        wake.raise()
        layer?.arrival.raise()
    }

    // MARK: The thread

    /// A drawer for time that is turned by hand.
    package func makeDrawer() -> SubtitleDrawer {
        SubtitleDrawer(renderer: self, codecs: codecs, makeDrawing: makeDrawing)
    }

    /// Where the system gives no thread the film has no words, and `error` says so.
    func startThread() {
        state.withLock { state in
            guard state.thread == nil, state.failure == nil, let synchronizer = state.synchronizer,
                synchronizer.runsByItself, !state.waiting.isEmpty || !state.store.isEmpty || state.wasFull
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
                    while let rest = drawer.turn() {
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

    /// Ends the thread and waits for it; nothing more is drawn.
    package func stop() {
        let thread = state.withLock { state in
            state.isStopping = true
            defer { state.thread = nil }
            return state.thread
        }
        wake.raise()
        thread?.join()
    }
}

extension SubtitleRenderer.State {
    /// Notes that some of the cues cannot be seen, for people.
    mutating func noteFlood() {
        if !isFloodKnown { trouble = "the subtitles are too many at once; some are left out" }
        isFloodKnown = true
    }

    mutating func forgetDrawn() {
        spans.removeAll(keepingCapacity: true)
        edition += 1
    }

    func nextChange(after time: MediaTime) -> MediaTime? { store.nextChange(after: time - delay).map { $0 + delay } }

    /// What begins at a moment may change what was drawn for it.
    mutating func forgetDrawn(from moment: MediaTime) {
        spans.removeAll { $0.from >= moment }
        // Spans overlap where one was drawn from the playhead on, and then one from a picture before it.
        for index in spans.indices { spans[index].until = min(spans[index].until, moment) }
    }
}
