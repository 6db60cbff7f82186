public import MediaCore

/// Accepts audio in any supported format and feeds its output, converted only as far as the output requires.
///
/// Supply audio in one of three ways, each from one thread at a time: `requestMediaDataWhenReady`,
/// `sampleBufferReceiver`, or `enqueue`. All other members are callable from any thread. One feeder thread does the
/// work; it ends when the renderer is removed from its synchronizer, or with `invalidate()`.
///
/// Audio that was delivered to the output but is unplayed is retained as it was enqueued. After a change of speed or
/// route the caller need not enqueue it again.
public final class AudioRenderer: RenderSynchronizer.Follower {
    /// An event of a renderer. Delivered on the feeder thread; the handler must not block.
    public enum Event: Sendable {
        /// More audio is wanted.
        case readyForMoreMediaData
        /// The output accepted audio, or all available audio.
        case progress
        /// The format cannot be decoded; the renderer is silent until a buffer of another format arrives.
        case cannotDecode(MediaError)
        /// The output is unusable; the renderer keeps its queue and waits for another output.
        case outputFailed(OutputError)
    }

    /// The progress of a renderer, as one consistent reading.
    public struct Progress: Sendable {
        /// The media time up to which the output has accepted audio since the last flush.
        public var acceptedUntil: MediaTime?
        /// The media time up to which audio is enqueued.
        public var enqueuedUntil: MediaTime?
        /// Whether the output has accepted and converted all enqueued audio, and no more follows.
        public var isDrained: Bool
        /// Whether the output knows its own delay, so that a start can be scheduled.
        package var isReadyToStart = true
        /// See `AudioOutput.earliestStart`.
        public var earliestStart: HostInstant?
        /// Whether the output or the decoder has failed; see the events.
        package var hasFailed: Bool
        /// The number of undecodable packets of the current format's decoder.
        public var decodeErrorCount: Int
        /// The number of buffers since the last flush that were enqueued after their end; they are not played.
        public var lateBuffers = 0
        /// Sound that could not be decoded since the last flush, in film time; nil where there is none. With several
        /// outputs that of the first output that lacks sound: each decodes the same.
        public var undecodable: UndecodableAudio?
    }

    /// The kind of content; determines the permitted routes.
    public let contentKind: ContentKind
    let codecs: any AudioCodecs
    let events: EventLog
    let demand = MediaDataDemand()
    /// The enqueued audio.
    let store: AudioStore
    let settings: Lock<AudioSettings>
    let partialFlushes: PartialFlushQueue
    let state: Lock<RendererState>
    /// Wakes the feeder: audio arrived, space became available, or the state changed.
    let wake = Signal()
    /// The feeder's thread and the use of the renderer that it serves.
    private let feeder = Lock<(worker: WorkerThread, life: UInt64)?>(nil)

    /// Creates a renderer for `RenderSynchronizer.addRenderer`. Until then it accepts audio and plays nothing.
    ///
    /// - Parameters:
    ///   - codecs: The factory of decoders and encoders: `FilmAudioCodecs()` from MediaCodecs, or the application's
    ///     own.
    ///   - events: The log for the events of outputs.
    public init(
        codecs: any AudioCodecs, contentKind: ContentKind = .film, events: EventLog = EventLog(clock: MonotonicClock())
    ) {
        self.codecs = codecs
        self.contentKind = contentKind
        self.events = events
        let initial = RendererState(Timebase(clock: MonotonicClock()))
        (store, settings, partialFlushes) = (initial.store, initial.settings, initial.partialFlushes)
        state = Lock(initial)
    }

    // A receiver may wait for space.
    deinit { _ = demand.newReceiver() }

    /// The timebase of the synchronizer plus the delay set by the user or a calibration. Stopped until the renderer is
    /// added.
    public var timebase: Timebase { state.withLock { $0.timebase } }

    /// Starts the feeder of a renderer without a synchronizer; `addRenderer` does this otherwise.
    func start(onEvent handler: @escaping @Sendable (Event) -> Void) throws(ExhaustionError) {
        onEvent(handler)
        try startFeeder()
    }

    /// Sets the handler of events, replacing any other.
    ///
    /// - Parameter handler: Called on the feeder thread; must not block.
    public func onEvent(_ handler: (@Sendable (Event) -> Void)?) {
        state.withLock { $0.eventHandler = handler.map(HandlerBox.init) }
    }

    /// Sets the handler of commands from the output, such as a button on a speaker, replacing any other. A member of a
    /// group has its own ID.
    ///
    /// - Parameter handler: Called on a thread of the output; must not block.
    public func onCommand(_ handler: (@Sendable (OutputCommand, OutputID) -> Void)?) {
        state.withLock { $0.commandHandler = handler.map { handler in HandlerBox { handler($0.0, $0.1) } } }
    }

    /// The item that the output displays, and later outputs; nil: none. Any thread.
    public var nowPlaying: NowPlaying? {
        get { settings.withLock { $0.nowPlaying } }
        set { changeSettings { $0.nowPlaying = newValue } }
    }

    /// Starts the thread of the current use of the renderer, unless it runs. It waits for the thread of the preceding
    /// use.
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

    /// Same as `start` without a thread, for tests that drive the feeder.
    package func startWithoutThread(onEvent handler: @escaping @Sendable (Event) -> Void) -> AudioFeeder {
        onEvent(handler)
        return AudioFeeder(renderer: self)
    }

    /// Ends the feeder, closes the output, and leaves the synchronizer. Blocks until the output is closed. The renderer
    /// cannot be added again: audio enqueued later is dropped.
    public func invalidate() {
        state.withLock { $0.invalidate() }?.removeRenderer(self, completion: nil)
        demand.stop()
        _ = demand.newReceiver()
        wake.raise()
        feeder.withLock { thread in
            thread?.worker.join()
            thread = nil
        }
        let retired = state.withLock { state in
            defer { state.retired = [] }
            return state.retired
        }
        for outputs in retired { outputs.waitUntilClosed() }
        partialFlushes.reportOvertaken()
    }

    /// Sends the audio to another output. The old one is closed on another thread; its unplayed audio goes to the
    /// new one, from the current media time.
    ///
    /// An output that is not permitted for the content kind is refused with the event `outputFailed`, and the route is
    /// unchanged.
    public func setOutput(_ output: (any AudioDestination)?, id: OutputID = OutputID(0)) {
        if let output, !contentKind.mayTake(output.kind) {
            return report(
                .outputFailed(
                    OutputError(
                        .notPermitted,
                        "Interface sounds are played on this computer only, not on \(output.name); use a sound card."
                    )))
        }
        var outputs = output?.group(codecs: codecs)
        if let current = state.withLock({ $0.outputs }), let output = output as? any AudioOutput,
            current.members.count == 1, current.members[0] === output
        {
            outputs = current
        }
        let depth = outputs?.current.desiredDepth ?? .seconds(1)
        let isJoined = state.withLock { state in
            state.setOutputs(outputs, id: id, depth: depth)
            return state.isJoined
        }
        wake.raise()
        if isJoined, let outputs {
            outputs.open()
            // Replaced or invalidated meanwhile.
            let isUsed = state.withLock { $0.outputs === outputs && $0.isJoined && !$0.stopping }
            if !isUsed { outputs.closeUnstarted() }
        }
    }

    /// The progress of the enqueued audio. Any thread.
    public var progress: Progress {
        var (progress, outputs) = state.withLock { ($0.progress, $0.outputs) }
        guard let outputs else { return progress }
        let members = outputs.current
        (progress.isReadyToStart, progress.earliestStart) = (outputs.isReadyToStart, members.earliestStart)
        (progress.undecodable, progress.decodeErrorCount) = (members.undecodable, members.decodeErrorCount)
        return progress
    }

    /// How much audio the output must have accepted before a start can be met; zero without an output. Any thread.
    public var preroll: Duration { outputs?.current.preroll ?? .zero }

    /// The name of the output for the user; nil without an output.
    package var routeName: String? { outputs?.name }

    /// The outputs. Any thread.
    var outputs: OutputGroup? { state.withLock { $0.outputs } }

    /// Returns the context for an output that this renderer will feed.
    func outputContext(_ id: OutputID) -> AudioOutputContext {
        AudioOutputContext(timebase: timebase, writable: wake, events: events, id: id) {
            [weak self] command, output in
            self?.state.withLock { $0.commandHandler }?.call((command, output))
        }
    }

    /// Drops all unplayed audio in the queue and in the output. The next buffer starts afresh.
    public func flush() {
        state.withLock { $0.flush() }
        demand.notifyFlush()
        wake.raise()
    }

    /// The delay of the audio against the timebase; negative is earlier. A change takes effect as a discontinuity of
    /// the audio.
    public var delay: Duration {
        get { timebase.delay }
        set {
            let timebase = timebase
            timebase.delay = newValue
            timebaseDidChange(timebase.snapshot)
        }
    }

    /// The timeline to which the synchronizer must be steered if the output's timing is fixed
    /// (`RenderSynchronizer.steer(toward:)`); usually nil. Any thread.
    public var remoteTimeline: TimebaseSegment? {
        guard var timeline = outputs?.current.remoteTimeline else { return nil }
        timeline.hostAnchor = timeline.hostAnchor.advanced(by: .zero - timebase.delay)
        return timeline
    }

    /// Adjusts the rate of `remoteTimeline`; see `OwnClockOutput.adjustRemoteRate`. Any thread.
    public func adjustRemoteRate(by offset: Double) -> Bool {
        outputs?.current.adjustRemoteRate(by: offset) ?? false
    }

    // MARK: Follower

    /// The lead that the output needs for a start, less the delay of the audio. Any thread.
    public var startLead: Duration { lead { $0.startLead } }

    /// The lead that the output needs for a stop, less the delay of the audio. Any thread.
    public var stopLead: Duration { lead { $0.stopLead } }

    private func lead(_ value: (OutputLatency) -> Duration) -> Duration {
        let (outputs, timebase) = state.withLock { ($0.outputs, $0.timebase) }
        return max(.zero, (outputs.map { value($0.latency) } ?? .zero) - timebase.delay)
    }

    /// Applies a changed timeline to the output. Called by the synchronizer; any thread.
    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) {
        let (outputs, isSilent) = state.withLock { state in
            let isSilent = state.applyTimebase()
            return (state.outputs, isSilent)
        }
        if isSilent {
            Complaint.write("AudioRenderer: there is no output, so no audio is played; set one with setOutput(_:)")
        }
        outputs?.timebaseDidChange()
        // The playhead may be closer to the end of the queue.
        wake.raise()
    }
}
