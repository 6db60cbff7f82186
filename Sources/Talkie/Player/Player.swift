public import MediaCore
public import SyncRendering

/// Plays films: an address in, rate 1, everything handled.
///
/// Every method may be called from any thread and returns at once; commands are carried out in order on the player's
/// own thread. What a command leads to is seen in `state` and heard in the news.
public final class Player: Sendable {
    /// What a player is put together from. Tests put in virtual parts.
    public struct Parts: Sendable {
        /// Opens a film; may block, and gives up when `cancellation` is used.
        public var open:
            @Sendable (_ address: String, _ cancellation: OpenCancellation) throws(MediaError)
                -> any MediaSource
        public var codecs: any AudioCodecs
        public var makeDecoder: @Sendable (VideoFormat) throws(MediaError) -> any PictureDecoder
        /// Where the sound goes; nil plays without sound.
        public var audioOutput: (any AudioOutput)?
        public var clock: any HostClock
        /// What a person who sees a film should know of it; told once when it begins.
        public var remark: @Sendable (any MediaSource) -> String?

        public init(
            open: @escaping @Sendable (String, OpenCancellation) throws(MediaError) -> any MediaSource,
            codecs: any AudioCodecs,
            makeDecoder: @escaping @Sendable (VideoFormat) throws(MediaError) -> any PictureDecoder,
            audioOutput: (any AudioOutput)?, clock: any HostClock = MonotonicClock(),
            remark: @escaping @Sendable (any MediaSource) -> String? = { _ in nil }
        ) {
            self.open = open
            self.codecs = codecs
            self.makeDecoder = makeDecoder
            self.audioOutput = audioOutput
            self.clock = clock
            self.remark = remark
        }
    }

    public let synchronizer: RenderSynchronizer
    /// Give this to a screen.
    public let layer: DisplayLayer
    public let events: EventLog
    let mailbox: PlayerMailbox
    let board: PlayerBoard
    /// The outputs as one, so that they can change in mid-film; nil without sound.
    let outputs: OutputGroup?
    private let cancellation = Lock<OpenCancellation?>(nil)
    private let thread = Lock<WorkerThread?>(nil)

    /// Puts a player together and starts its thread. It plays nothing before `open`.
    ///
    /// - Parameter news: called on the player's thread; must return at once.
    public init(
        parts: Parts, options: PlayerOptions, events: EventLog, news: @escaping @Sendable (PlayerNews) -> Void
    ) {
        let synchronizer = RenderSynchronizer(clock: parts.clock, events: events)
        let layer = DisplayLayer()
        let mailbox = PlayerMailbox()
        var parts = parts
        let outputs = parts.joinOutputs(options)
        let board = PlayerBoard(timebase: synchronizer.timebase, outputs: outputs)
        self.outputs = outputs
        self.synchronizer = synchronizer
        self.layer = layer
        self.events = events
        self.mailbox = mailbox
        self.board = board
        synchronizer.add(layer)
        let worker = WorkerThread.start(name: "player") { [parts] in
            let core = PlayerCore(
                parts: parts, options: options, synchronizer: synchronizer, layer: layer, events: events,
                mailbox: mailbox, board: board, news: news)
            core.run()
        }
        thread.withLock { $0 = worker }
    }

    /// Where the player stands. Lock held for nanoseconds.
    public var state: PlayerState { board.state }

    /// Replaces the film, and forgets what was to follow. Play begins unless the options say paused.
    public func open(_ address: String) {
        let fresh = OpenCancellation()
        cancellation.withLock { current in
            current?.cancel()
            current = fresh
        }
        mailbox.post { $0.open(address, cancellation: fresh) }
    }

    public func play() { mailbox.post { $0.play() } }
    public func pause() { mailbox.post { $0.pause() } }
    public func togglePause() { mailbox.post { $0.wantsPlay ? $0.pause() : $0.play() } }

    /// Goes to a film position. Exact decodes up to the very picture; otherwise the nearest earlier sync picture.
    public func seek(to time: MediaTime, exact: Bool = true) { mailbox.post { $0.seek(to: time, exact: exact) } }

    /// Goes by a distance from where the film is, or from where a jump under way leads; past the end to what follows.
    ///
    /// Exact goes to the very picture; otherwise to the first sync picture that lies beyond the target, seen from here, when
    /// it is no further from there than the distance, and else exactly.
    public func seek(by distance: MediaTime, exact: Bool = true) {
        mailbox.post { $0.seek(by: distance, exact: exact) }
    }

    /// Pauses and goes one picture on or back.
    public func stepForward() { mailbox.post { $0.stepForward() } }
    public func stepBackward() { mailbox.post { $0.stepBackward() } }

    /// Film seconds per second, held to 0.5…2; the pitch stays.
    public func setSpeed(_ speed: Double) { mailbox.post { $0.setSpeed(speed) } }
    /// 0…100 on the perceptual curve.
    public func setVolume(_ volume: Double) { mailbox.post { $0.setVolume(volume) } }
    public func setMuted(_ muted: Bool) { mailbox.post { $0.setMuted(muted) } }
    /// Positive: sound later than picture.
    public func setAudioDelay(_ delay: Duration) { mailbox.post { $0.setAudioDelay(delay) } }
    /// What a calibration adds to the delay; a change takes effect as a jump of the sound.
    func setCalibration(_ delay: Duration) { mailbox.post { $0.setCalibration(delay) } }
    /// Takes the next sound track of the film, and the first after the last.
    public func cycleAudioTrack() { mailbox.post { $0.cycleAudioTrack() } }

    /// What follows the film that plays, in this order, once its loops are over: each is opened, read and decoded before it is
    /// needed and begins where the one before ends, to the sample and the picture, on the same timeline. The news tell
    /// which has begun and which cannot be played.
    ///
    /// A new list replaces the old one, also where its films have been handed to a speaker already. Films that begin
    /// meanwhile are taken off it: give the same items again, with others behind. A film that cannot be read ahead
    /// (a pipe, a live stream), or is not open in time, does not follow: the player reports `ended`, and `open`
    /// takes over what has been opened. `PlayerOptions.expectsMore` is best set before the first film.
    public func setNext(_ items: [QueueItem]) { mailbox.post { $0.setNext(items) } }

    /// How often this film, and each after it, is played again.
    public func setLoop(_ loop: PlayerOptions.Loop) { mailbox.post { $0.setLoop(loop) } }

    /// Stops, gives devices back, ends all threads. Blocks until done; the player cannot be used again.
    public func shutDown() {
        cancellation.withLock { $0?.cancel() }
        mailbox.post { $0.shutDown() }
        let worker = thread.withLock { thread -> WorkerThread? in
            defer { thread = nil }
            return thread
        }
        worker?.join()
        board.finish()
    }
}

/// Gives up on a film that is being opened. Any thread.
public final class OpenCancellation: Sendable {
    private let state = Lock<(cancelled: Bool, handler: (@Sendable () -> Void)?)>((false, nil))

    public init() {}

    public var isCancelled: Bool { state.withLock { $0.cancelled } }

    /// What to do when it is used; done at once when it has been used already.
    public func onCancel(_ handler: @escaping @Sendable () -> Void) {
        let now = state.withLock { state -> Bool in
            state.handler = handler
            return state.cancelled
        }
        if now { handler() }
    }

    public func cancel() {
        let handler = state.withLock { state -> (@Sendable () -> Void)? in
            state.cancelled = true
            return state.handler
        }
        handler?()
    }
}

/// Commands on their way to the player's thread.
final class PlayerMailbox: Sendable {
    typealias Command = @Sendable (PlayerCore) -> Void
    private let waiting = Lock<[Command]>([])
    /// The pipelines to wake when a renderer has room.
    let pipelines = Lock<(audio: TrackPipeline?, video: TrackPipeline?)>((nil, nil))
    /// Raised when a command came in or something the player waits for moved.
    let signal = Signal()

    func post(_ command: @escaping Command) {
        waiting.withLock { $0.append(command) }
        signal.raise()
    }

    func takeAll() -> [Command] {
        waiting.withLock { waiting in
            if waiting.isEmpty { return [] }
            defer { waiting.removeAll(keepingCapacity: true) }
            return waiting
        }
    }
}
