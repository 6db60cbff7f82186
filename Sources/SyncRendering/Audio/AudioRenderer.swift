public import MediaCore

/// Takes sound in any supported format and keeps its output fed with it, converted only as far as the output asks.
///
/// Enqueue from one thread at a time; everything else may be called from any thread. The work is done on one feeder
/// thread of its own, which ends with `invalidate()`.
public final class AudioRenderer: RenderSynchronizer.Follower {
    /// What a renderer tells its owner. Delivered on the feeder thread; the handler must return at once.
    public enum News: Sendable {
        /// More sound is wanted.
        case readyForMoreMediaData
        /// The output took sound, or everything there is.
        case progress
        /// This format cannot be decoded; the renderer stays silent until a buffer of another format comes.
        case cannotDecode(MediaError)
        /// The output cannot be used; the renderer keeps its queue and waits for another output.
        case outputFailed(OutputError)
        /// Another output took over; what the one before had taken and not played is lost from this film time on. To hear it
        /// all the same, flush and enqueue again from there.
        case flushedAutomatically(from: MediaTime)
    }

    /// Where the renderer stands, read together.
    public struct Status: Sendable {
        /// Film time up to which the output has taken sound since the last flush.
        public var acceptedUntil: MediaTime?
        /// Film time up to which sound is enqueued.
        public var enqueuedUntil: MediaTime?
        /// Everything enqueued has been handed to the output and no more follows.
        public var isDrained: Bool
        /// The output knows its own delay, so that a start can be placed.
        public var isReadyToStart = true
        /// See `AudioOutput.earliestStart`.
        public var earliestStart: HostInstant?
        /// The output or the decoder refused; see the news.
        public var hasFailed: Bool
        public var damagedPackets: Int
    }

    /// The owner's handler as an object: a closure taken out of a lock costs an allocation each time.
    final class NewsHandler: Sendable {
        let call: @Sendable (News) -> Void
        init(call: @escaping @Sendable (News) -> Void) { self.call = call }
    }

    struct State {
        var queue: [SampleBuffer] = []
        var enqueuedUntil: MediaTime?
        var firstEnqueued: MediaTime?
        var finished = false
        var flushRequested = false
        var output: (any AudioOutput)?
        var outputID = OutputID(0)
        var outputChanged = false
        var speed: Double = 1
        /// Nil leaves the output as its owner left it.
        var gain: Float?
        var status = Status(
            acceptedUntil: nil, enqueuedUntil: nil, isDrained: false, hasFailed: false, damagedPackets: 0)
        var wasFull = false
        var stopping = false
        var news: NewsHandler?
        /// Flushes from a time on that wait for the feeder, oldest first, and those that something else has overtaken.
        var partialFlushes: [PartialFlushRequest] = []
        var overtakenFlushes: [PartialFlushRequest] = []
        /// The feeder is at one of them.
        var isCutting = false
    }

    /// Nil when somebody else passes the timeline on.
    private let synchronizer: RenderSynchronizer?
    /// The synchronizer's line, later by the delay that the user or a calibration asks for.
    let timebase: Timebase
    let codecs: any AudioCodecs
    let events: EventLog
    let state = Lock(State())
    /// Wakes the feeder: sound arrived, room was made, something changed.
    let wake = Signal()
    private let feeder = Lock<WorkerThread?>(nil)

    public init(synchronizer: RenderSynchronizer, codecs: any AudioCodecs, events: EventLog) {
        self.synchronizer = synchronizer
        timebase = Timebase(following: synchronizer.timebase)
        self.codecs = codecs
        self.events = events
        state.withLock { $0.queue.reserveCapacity(64) }
    }

    /// A renderer inside a group: it reads the group's timebase and is told by the group when it changes.
    package init(timebase: Timebase, codecs: any AudioCodecs, events: EventLog) {
        synchronizer = nil
        self.timebase = timebase
        self.codecs = codecs
        self.events = events
        state.withLock { $0.queue.reserveCapacity(64) }
    }

    /// Starts the feeder and follows the synchronizer.
    ///
    /// - Parameter news: called on the feeder thread; must return at once.
    public func start(news: @escaping @Sendable (News) -> Void) {
        state.withLock { $0.news = NewsHandler(call: news) }
        feeder.withLock { thread in
            guard thread == nil else { return }
            thread = WorkerThread.start(name: "audio feeder", priority: .elevated) {
                var feeder = AudioFeeder(renderer: self)
                feeder.run()
            }
        }
        synchronizer?.add(self)
    }

    /// For tests that turn the feeder by hand: like `start`, without the thread.
    func startWithoutThread(news: @escaping @Sendable (News) -> Void) -> AudioFeeder {
        state.withLock { $0.news = NewsHandler(call: news) }
        synchronizer?.add(self)
        return AudioFeeder(renderer: self)
    }

    /// Ends the feeder, closes the output, and leaves the synchronizer. The renderer cannot be started again.
    public func invalidate() {
        synchronizer?.remove(self)
        state.withLock {
            $0.stopping = true
            $0.news = nil
        }
        wake.raise()
        feeder.withLock { thread in
            thread?.join()
            thread = nil
        }
        state.withLock { overtakePartialFlushes(&$0) }
        reportOvertakenFlushes()
    }

    /// Sends the sound to another output from now on. The old one is closed on the feeder thread; what it had taken
    /// and not played is lost, so the owner enqueues again from the current time.
    public func setOutput(_ output: (any AudioOutput)?, id: OutputID = OutputID(0)) {
        state.withLock {
            $0.output = output
            $0.outputID = id
            $0.outputChanged = true
            $0.status.hasFailed = false
            overtakePartialFlushes(&$0)
        }
        wake.raise()
    }

    public var status: Status {
        state.withLock {
            var status = $0.status
            status.enqueuedUntil = $0.enqueuedUntil
            status.isReadyToStart = $0.output?.isReadyToStart ?? true
            status.earliestStart = $0.output?.earliestStart
            return status
        }
    }

    /// How much film the output must have taken before a start can be kept; zero without an output.
    public var preroll: Duration { state.withLock { $0.output?.preroll ?? .zero } }

    /// For people: where the sound goes.
    public var routeName: String? { state.withLock { $0.output?.name } }

    /// True while the route wants to be filled further: it asks for `desiredDepth` of film ahead of the playhead.
    public var isReadyForMoreMediaData: Bool { state.withLock { isReady($0) } }

    func isReady(_ state: State) -> Bool {
        guard !state.finished, !state.isCutting, state.partialFlushes.isEmpty else { return false }
        guard let until = state.enqueuedUntil else { return true }
        // Before the playhead reaches the first sound, depth counts from that sound.
        let playhead = max((synchronizer?.timebase ?? timebase).currentTime, state.firstEnqueued ?? .zero)
        let depth = state.output?.desiredDepth ?? .seconds(1)
        return (until - playhead).duration < depth && state.queue.count < 4096
    }

    /// Adds sound after what is already there. Accepted even when the renderer is not ready for more.
    ///
    /// A buffer without a time follows on from the one before. Buffers without sound are ignored.
    public func enqueue(_ buffer: SampleBuffer) {
        switch buffer.payload {
        case .encodedVideo, .picture: return
        case .encodedAudio, .pcm: break
        }
        state.withLock {
            $0.queue.append(buffer)
            $0.finished = false
            $0.status.isDrained = false
            let start = buffer.presentationTime ?? $0.enqueuedUntil ?? .zero
            if $0.firstEnqueued == nil { $0.firstEnqueued = start }
            $0.enqueuedUntil = start + buffer.duration
            if !isReady($0) { $0.wasFull = true }
        }
        wake.raise()
    }

    /// What an output is lent that this renderer will feed.
    package func outputContext(_ id: OutputID) -> AudioOutputContext {
        AudioOutputContext(timebase: timebase, room: wake, events: events, id: id)
    }

    /// Drops buffers that wait and end before this moment, oldest first: whoever falls behind goes on from there.
    package func skip(to time: MediaTime) {
        let hasSkipped = state.withLock { state -> Bool in
            let late = state.queue.prefix { buffer in buffer.end.map { $0 < time } ?? false }.count
            guard late > 0 else { return false }
            state.queue.removeFirst(late)
            if !state.queue.isEmpty { state.queue[0].flags.insert(.discontinuity) }
            return true
        }
        if hasSkipped { wake.raise() }
    }

    /// No more sound follows: what is enqueued plays out.
    public func finish() {
        state.withLock { $0.finished = true }
        wake.raise()
    }

    /// Drops everything that is not yet heard, in the queue and in the output. What is enqueued next starts anew.
    public func flush() {
        state.withLock { flush(&$0) }
        wake.raise()
    }

    private func flush(_ state: inout State) {
        state.queue.removeAll(keepingCapacity: true)
        state.enqueuedUntil = nil
        state.firstEnqueued = nil
        state.finished = false
        state.flushRequested = true
        overtakePartialFlushes(&state)
        state.status.acceptedUntil = nil
        state.status.isDrained = false
        state.status.hasFailed = false
        state.wasFull = false
    }

    /// Film seconds per second of sound, 0.5…2, pitch kept. A change flushes: enqueue again from the current time.
    public func setSpeed(_ speed: Double) {
        state.withLock {
            guard $0.speed != speed else { return }
            $0.speed = speed
            flush(&$0)
        }
        wake.raise()
    }

    /// Loudness, 1 unchanged, 0 silent; nil, as at the beginning, is as loud as the output's owner left it.
    public func setGain(_ gain: Float?) {
        state.withLock {
            $0.gain = gain
            if let gain { $0.output?.setGain(gain) } else { $0.output?.restoreGain() }
        }
    }

    /// How much later than the timebase the sound is to be heard; negative is earlier. A change takes effect as a
    /// jump of the sound.
    public var delay: Duration {
        get { timebase.delay }
        set {
            timebase.delay = newValue
            timebaseDidChange(timebase.snapshot)
        }
    }

    // MARK: Follower

    public var startLead: Duration {
        max(.zero, state.withLock { $0.output?.latency.startLead ?? .zero } - timebase.delay)
    }

    public var stopLead: Duration {
        max(.zero, state.withLock { $0.output?.latency.stopLead ?? .zero } - timebase.delay)
    }

    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) {
        let output = state.withLock { $0.output }
        output?.timebaseDidChange(timebase.snapshot)
        // The playhead may have come nearer to the end of the queue.
        wake.raise()
    }
}
