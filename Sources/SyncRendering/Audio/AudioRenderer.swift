public import MediaCore

/// Takes sound in any supported format and keeps its output fed with it, converted only as far as the output asks.
///
/// Supply it in one of three ways, each from one thread at a time: `requestMediaDataWhenReady`, `sampleBufferReceiver`,
/// or plain `enqueue`. Everything else may be called from any thread. The work is done on one feeder thread of its own,
/// which ends when the renderer is removed from its synchronizer, or with `invalidate()`.
///
/// What was handed to the output and is not yet heard is kept, as it was enqueued: a change of speed or of route needs
/// nothing enqueued again.
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
    }

    /// How far the renderer is, read together.
    public struct Progress: Sendable {
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
        /// Buffers that were enqueued when their time had passed, since the last flush: nothing of them is heard.
        public var lateBuffers = 0
        /// Sound that could not be decoded since the last flush, in film time; nil where there is none. With several outputs that of the
        /// first output that lacks sound: each decodes the same.
        public var undecodable: UndecodableSound?
    }

    /// The owner's handler as an object: a closure taken out of a lock costs an allocation each time.
    final class NewsHandler: Sendable {
        let call: @Sendable (News) -> Void
        init(call: @escaping @Sendable (News) -> Void) { self.call = call }
    }

    struct State {
        /// The line that `addRenderer` joined, and the same later by the delay asked for.
        var master: Timebase
        var timebase: Timebase
        /// Told when a start may have become possible.
        weak var synchronizer: RenderSynchronizer?
        var isJoined = false
        var queue: [SampleBuffer] = []
        /// Handed over and not yet heard, oldest first.
        var kept: [SampleBuffer] = []
        var enqueueCount = 0
        /// Requests were stopped: what is there plays out, and is enough for a start.
        var isEnding = false
        var enqueuedUntil: MediaTime?
        var firstEnqueued: MediaTime?
        var finished = false
        var flushRequested = false
        /// With a flush: what was enqueued before this moment is there for codecs to settle, and is not heard.
        var resumesFrom: MediaTime?
        var output: (any AudioOutput)?
        var outputID = OutputID(0)
        var outputChanged = false
        var speed: Double = 1
        /// Nil leaves the output as its owner left it.
        var volume: Float?
        var isMuted = false
        /// As asked for; see `effectiveTreatment`.
        var treatment = SoundTreatment.none
        /// Why nothing is heard; nil while all is well.
        var failure: (any Error)?
        var status = Progress(
            acceptedUntil: nil, enqueuedUntil: nil, isDrained: false, hasFailed: false, damagedPackets: 0)
        /// Sound that could not be decoded, until it is taken.
        var undecodable: UndecodableSound?
        var wasFull = false
        /// The line that was announced last.
        var line: TimebaseSegment?
        /// It was said that there is no output.
        var hasComplained = false
        /// It was said that sound is dropped.
        var hasReportedDrop = false
        /// The buffer before was dropped: the next one does not follow on.
        var followsDrop = false
        var stopping = false
        /// Counts feeders: one that belongs to an earlier use ends.
        var life: UInt64 = 0
        /// Called when the feeder of the use that ended has closed its output.
        var onRetired: [@Sendable () -> Void] = []
        var allowsPassThrough = true
        var news: NewsHandler?
        /// Flushes from a time on that wait for the feeder, oldest first, and those that something else has overtaken.
        var partialFlushes: [PartialFlushRequest] = []
        var overtakenFlushes: [PartialFlushRequest] = []
        /// The feeder is at one of them.
        var isCutting = false
        var onAutomaticFlush: AutomaticFlushHandler?

        init(_ master: Timebase) {
            self.master = master
            timebase = Timebase(following: master)
            queue.reserveCapacity(64)
            kept.reserveCapacity(64)
        }
    }

    /// What is played; decides which routes it may take.
    public let contentKind: ContentKind
    /// The group that its output is a member of.
    let group: GroupScope?
    let codecs: any AudioCodecs
    let events: EventLog
    let demand = MediaDataDemand()
    let state: Lock<State>
    /// Wakes the feeder: sound arrived, room was made, something changed.
    let wake = Signal()
    private let feeder = Lock<(worker: WorkerThread, life: UInt64)?>(nil)

    /// A renderer for `RenderSynchronizer.addRenderer`. Before that it may be fed, and plays nothing.
    ///
    /// - Parameters:
    ///   - codecs: what decodes and encodes: `FilmAudioCodecs()` from MediaCodecs, or the application's own.
    ///   - events: where outputs note what happens.
    public init(
        codecs: any AudioCodecs, contentKind: ContentKind = .film, events: EventLog = EventLog(clock: MonotonicClock())
    ) {
        group = nil
        self.codecs = codecs
        self.contentKind = contentKind
        self.events = events
        state = Lock(State(Timebase(clock: MonotonicClock())))
    }

    /// A renderer inside a group: it reads the group's timebase and is told by the group when it changes.
    package init(timebase: Timebase, codecs: any AudioCodecs, events: EventLog, group: GroupScope?) {
        self.group = group
        self.codecs = codecs
        contentKind = .film
        self.events = events
        state = Lock(State(timebase))
    }

    /// The synchronizer's line, later by the delay that the user or a calibration asks for. Stands still before the
    /// renderer is added.
    public var timebase: Timebase { state.withLock { $0.timebase } }

    /// Starts the feeder of a renderer that is in no synchronizer; `addRenderer` does that for everybody else.
    package func start(news: @escaping @Sendable (News) -> Void) throws(ExhaustionError) {
        onNews(news)
        try startFeeder()
    }

    /// Who is told the news; replaces whoever was.
    ///
    /// - Parameter handler: called on the feeder thread; must return at once.
    public func onNews(_ handler: (@Sendable (News) -> Void)?) {
        state.withLock { $0.news = handler.map(NewsHandler.init) }
    }

    /// Gives the present use of the renderer its thread, unless it has one. Waits for that of an earlier use.
    func startFeeder() throws(ExhaustionError) {
        try feeder.withLock { (thread) throws(ExhaustionError) in
            let life = state.withLock { $0.life }
            guard thread == nil || thread?.life != life else { return }
            let before = thread?.worker
            let worker = try WorkerThread.start(name: "audio feeder", priority: .elevated) {
                before?.join()
                var feeder = AudioFeeder(renderer: self, life: life)
                feeder.run()
            }
            thread = (worker, life)
        }
    }

    /// For tests that turn the feeder by hand: like `start`, without the thread.
    func startWithoutThread(news: @escaping @Sendable (News) -> Void) -> AudioFeeder {
        onNews(news)
        return AudioFeeder(renderer: self)
    }

    /// Ends the feeder, closes the output, and leaves the synchronizer. The renderer cannot be added again: what is
    /// enqueued then is dropped. Waits until the output is closed.
    public func invalidate() {
        let synchronizer = state.withLock { state -> RenderSynchronizer? in
            flush(&state)
            state.stopping = true
            state.news = nil
            return state.synchronizer
        }
        synchronizer?.removeRenderer(self, completion: nil)
        demand.stop()
        _ = demand.newReceiver()
        wake.raise()
        feeder.withLock { thread in
            thread?.worker.join()
            thread = nil
        }
        reportOvertakenFlushes()
    }

    /// Sends the sound to another output from now on. The old one is closed on the feeder thread; what it had taken
    /// and not played goes to the new one, from the film moment that is perceived now.
    ///
    /// An output that this kind of content may not take is refused: the news say so, and the sound stays where it is.
    public func setOutput(_ output: (any AudioOutput)?, id: OutputID = OutputID(0)) {
        if let output, !contentKind.mayTake(output.kind) {
            return tell(
                .outputFailed(
                    OutputError(
                        .notPermitted,
                        "Sounds of an interface stay on this computer and do not go to \(output.name); give them a sound card."
                    )))
        }
        state.withLock {
            $0.output = output
            $0.outputID = id
            $0.outputChanged = true
            $0.status.hasFailed = false
            $0.failure = nil
            feedAgain(&$0, from: $0.timebase.currentTime)
            if $0.isJoined { output?.open() }
        }
        wake.raise()
    }

    /// How far it is with what was enqueued. Any thread.
    public var progress: Progress {
        var (status, group) = state.withLock {
            var status = $0.status
            status.enqueuedUntil = $0.enqueuedUntil
            status.isReadyToStart = $0.output?.isReadyToStart ?? true
            status.earliestStart = $0.output?.earliestStart
            return (status, $0.output as? OutputGroup)
        }
        if status.undecodable == nil { status.undecodable = group?.undecodable }
        return status
    }

    /// How much film the output must have taken before a start can be kept; zero without an output.
    public var preroll: Duration { state.withLock { $0.output?.preroll ?? .zero } }

    /// A line that goes on elsewhere by less than this is no jump: a stop that is rounded, a clock that is followed.
    private static let leastJump: Duration = .milliseconds(5)

    /// A jump without a flush, past everything that the output holds: what lies before the new place is not heard, and would keep the
    /// output full while time stands still.
    private func dropPassed(_ state: inout State) {
        let (line, before) = (state.timebase.snapshot.upcoming, state.line)
        state.line = line
        guard let before, line.rate == 0, let until = state.status.acceptedUntil, line.mediaAnchor > until,
            (line.mediaAnchor - before.mediaTime(at: line.hostAnchor)).duration > Self.leastJump
        else { return }
        let moment = line.mediaAnchor
        feedAgain(&state, from: moment)
        _ = Self.skip(to: moment, &state)
    }

    /// Returns true once where film passes and the renderer has sound and no output.
    private func hasNoOutput(_ state: inout State) -> Bool {
        guard group == nil, state.output == nil, !state.hasComplained, state.enqueueCount > 0,
            state.master.snapshot.upcoming.rate > 0
        else { return false }
        state.hasComplained = true
        return true
    }

    /// For people: where the sound goes.
    public var routeName: String? { state.withLock { $0.output?.name } }

    /// What an output is lent that this renderer will feed.
    package func outputContext(_ id: OutputID) -> AudioOutputContext {
        AudioOutputContext(timebase: timebase, room: wake, events: events, id: id, group: group)
    }

    /// Drops buffers that wait and end before this moment, oldest first: whoever falls behind goes on from there.
    package func skip(to time: MediaTime) {
        if state.withLock({ Self.skip(to: time, &$0) }) { wake.raise() }
    }

    /// Drops everything that is not yet heard, in the queue and in the output. What is enqueued next starts anew.
    public func flush() {
        state.withLock { flush(&$0) }
        demand.noteFlush()
        wake.raise()
    }

    func flush(_ state: inout State) {
        state.queue.removeAll(keepingCapacity: true)
        state.kept.removeAll(keepingCapacity: true)
        state.isEnding = false
        state.resumesFrom = nil
        state.enqueuedUntil = nil
        state.firstEnqueued = nil
        state.finished = false
        state.flushRequested = true
        overtakePartialFlushes(&state)
        state.status.acceptedUntil = nil
        state.status.isDrained = false
        state.status.hasFailed = false
        state.status.lateBuffers = 0
        state.status.undecodable = nil
        state.followsDrop = false
        state.failure = nil
        state.wasFull = false
    }

    /// How much later than the timebase the sound is to be heard; negative is earlier. A change takes effect as a
    /// jump of the sound.
    public var delay: Duration {
        get { timebase.delay }
        set {
            let timebase = timebase
            timebase.delay = newValue
            timebaseDidChange(timebase.snapshot)
        }
    }

    /// The line to which the synchronizer's must be bent, when the output cannot be moved
    /// (`RenderSynchronizer.steer(toward:)`); nil nearly always. Any thread.
    public var remoteTimeline: TimebaseSegment? {
        guard var line = state.withLock({ $0.output })?.remoteTimeline else { return nil }
        line.hostAnchor = line.hostAnchor.advanced(by: .zero - timebase.delay)
        return line
    }

    // MARK: Follower

    public var startLead: Duration {
        let (output, timebase) = state.withLock { ($0.output, $0.timebase) }
        return max(.zero, (output?.latency.startLead ?? .zero) - timebase.delay)
    }

    public var stopLead: Duration {
        let (output, timebase) = state.withLock { ($0.output, $0.timebase) }
        return max(.zero, (output?.latency.stopLead ?? .zero) - timebase.delay)
    }

    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) {
        let (output, timebase, isSilent) = state.withLock { state in
            followRate(&state)
            dropPassed(&state)
            return (state.output, state.timebase, hasNoOutput(&state))
        }
        if isSilent {
            Complaint.write("AudioRenderer: it has no output, so nothing is heard; set one with setOutput(_:)")
        }
        output?.timebaseDidChange(timebase.snapshot)
        // The playhead may have come nearer to the end of the queue.
        wake.raise()
    }
}
