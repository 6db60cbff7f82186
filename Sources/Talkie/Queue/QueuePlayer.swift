public import MediaCore
public import SyncRendering

/// Plays items one after the other on one continuous timeline: joints exact to the sample and to the picture, and a list that
/// may be changed while it plays, even where the changed item is in the speaker's buffer already.
///
/// The sound of every item is decoded some seconds ahead and brought to one format (`QueueOptions.format`); items of
/// different rates, layouts and codecs follow one another without a gap.
///
/// Pictures come into `layer`, each in its item's place on the timeline; give it to a screen (`PlayerWindow`). An item lasts
/// as long as the longer of its sound and its pictures: silence follows sound that ends first, the last picture stays on when
/// pictures end first, and what a container holds behind that is left out. An item without pictures shows the picture that
/// came along with the recording, and black where there is none (nothing at all before the first item with pictures). Where
/// an item's first picture comes later than a quarter of a second, black comes before it. Sound is handed over as far ahead as
/// the output wants, pictures a few at a time near the playhead; both change together when the list does.
///
/// Every method may be called from any thread and returns at once; commands are carried out in order on the player's own
/// thread ("queue"). What they lead to is seen in `state` and heard in the news.
public final class QueuePlayer: Sendable {
    /// What a queue player is put together from. Tests put in virtual parts.
    public struct Parts: Sendable {
        /// Opens an item; may block, and gives up when the cancellation is used, as do the item's readers.
        public var open: @Sendable (String, OpenCancellation) throws(MediaError) -> any MediaSource
        public var codecs: any AudioCodecs
        public var output: any AudioOutput
        /// Nil plays sound only.
        public var makeDecoder: (@Sendable (VideoFormat) throws(MediaError) -> any PictureDecoder)?
        public var clock: any HostClock

        public init(
            open: @escaping @Sendable (String, OpenCancellation) throws(MediaError) -> any MediaSource,
            codecs: any AudioCodecs, output: any AudioOutput,
            makeDecoder: (@Sendable (VideoFormat) throws(MediaError) -> any PictureDecoder)? = nil,
            clock: any HostClock = MonotonicClock()
        ) {
            self.open = open
            self.codecs = codecs
            self.output = output
            self.makeDecoder = makeDecoder
            self.clock = clock
        }
    }

    public let synchronizer: RenderSynchronizer
    /// Where the pictures come: give it to a screen. Stays empty without `QueueOptions.showsPictures`. Where no screen takes
    /// them, a few wait here and the sound plays alone.
    public let layer = DisplayLayer()
    public let events: EventLog
    let renderer: AudioRenderer
    private let mailbox = QueueMailbox()
    private let published = Lock(QueueState())
    private let thread = Lock<WorkerThread?>(nil)

    /// Files and addresses through libavformat and libavcodec, to this output.
    ///
    /// - Parameter news: called on the player's thread; must return at once.
    public convenience init(
        output: any AudioOutput, options: QueueOptions = QueueOptions(),
        news: @escaping @Sendable (QueueNews) -> Void = { _ in }
    ) {
        let film = Player.Parts.film(audioOutput: output)
        self.init(
            parts: Parts(open: film.open, codecs: film.codecs, output: output, makeDecoder: film.makeDecoder),
            options: options, news: news)
    }

    /// Puts a queue player together and starts its threads. It plays nothing before `play`.
    public init(
        parts: Parts, options: QueueOptions = QueueOptions(), news: @escaping @Sendable (QueueNews) -> Void = { _ in }
    ) {
        let events = EventLog(clock: parts.clock)
        let synchronizer = RenderSynchronizer(clock: parts.clock, events: events)
        let renderer = AudioRenderer(synchronizer: synchronizer, codecs: parts.codecs, events: events)
        let mailbox = mailbox
        let published = published
        let reader = QueueReader(QueueReader.Setup(parts, options), news: mailbox.signal)
        (self.events, self.synchronizer, self.renderer) = (events, synchronizer, renderer)
        let layer = layer
        let pictures = PictureReader.Setup(parts, options, layer, synchronizer.timebase, events).map {
            PictureReader($0, news: mailbox.signal)
        }
        synchronizer.add(layer)
        reader.start()
        pictures?.start()
        renderer.setOutput(parts.output)
        renderer.start { news in QueuePlayer.pass(news, to: mailbox) }
        let worker = WorkerThread.start(name: "queue") {
            QueueCore(
                parts: parts, options: options, synchronizer: synchronizer, renderer: renderer, reader: reader,
                layer: layer, pictures: pictures, mailbox: mailbox, published: published, news: news
            ).run()
        }
        thread.withLock { $0 = worker }
    }

    static func pass(_ news: AudioRenderer.News, to mailbox: QueueMailbox) {
        switch news {
        case .progress, .readyForMoreMediaData: mailbox.signal.raise()
        case .cannotDecode, .outputFailed: mailbox.post { $0.hear(news) }
        }
    }

    // MARK: The list

    /// Everything in the queue, in order, as of the last change that was carried out.
    public var items: [QueueItem] { state.items }

    /// Changes the list, and what is heard as far as need be.
    public func apply(_ edit: QueueEdit) { mailbox.post { $0.apply(edit, done: nil) } }

    /// The same, and waits until list and sound agree again: within about a second on a speaker that plays.
    public func apply(_ edit: QueueEdit) async -> QueueEditOutcome {
        await withCheckedContinuation { continuation in
            let isTaken = mailbox.post { core in core.apply(edit) { continuation.resume(returning: $0) } }
            if !isTaken { continuation.resume(returning: .unchanged) }
        }
    }

    public func append(_ items: [QueueItem]) { apply(.append(items)) }
    public func insert(_ items: [QueueItem], after item: QueueItem.ID?) { apply(.insert(items, after: item)) }
    public func remove(_ item: QueueItem.ID) { apply(.remove(item)) }
    public func move(_ item: QueueItem.ID, after other: QueueItem.ID?) { apply(.move(item, after: other)) }
    public func replace(_ item: QueueItem.ID, with other: QueueItem) { apply(.replace(item, with: other)) }
    public func removeAll() { apply(.removeAll) }
    /// How often each item is played again at once, and how often the whole queue.
    public func setLoop(item: PlayerOptions.Loop, queue: PlayerOptions.Loop) { apply(.loop(item: item, queue: queue)) }

    // MARK: Transport

    /// Begins with the first item, goes on after a pause, or begins again after the end.
    public func play() { mailbox.post { $0.play() } }
    public func pause() { mailbox.post { $0.pause() } }
    /// Goes to an item, and to a position in it.
    public func jump(to item: QueueItem.ID, at position: MediaTime = .zero) {
        mailbox.post { $0.jump(to: item, at: position) }
    }
    /// Goes to the item after the one that is heard.
    public func skip() { mailbox.post { $0.skip() } }
    /// 0…100 on the perceptual curve.
    public func setVolume(_ volume: Double) {
        renderer.setGain(VolumeCurve.gain(volume: min(100, max(0, volume))))
    }

    /// Sends the sound elsewhere from now on; it goes on there from where it is heard.
    public func setOutput(_ output: any AudioOutput) { renderer.setOutput(output) }

    /// Where the player stands. Lock held for nanoseconds.
    public var state: QueueState {
        var state = published.withLock { $0 }
        if state.phase == .playing { state.position = max(.zero, synchronizer.currentTime - state.start) }
        return state
    }

    /// Stops, gives the output back, ends all threads. Blocks until done; the player cannot be used again.
    public func shutDown() {
        mailbox.post { $0.shutDown() }
        let worker = thread.withLock { thread -> WorkerThread? in
            defer { thread = nil }
            return thread
        }
        worker?.join()
    }
}

extension QueueReader.Setup {
    init(_ parts: QueuePlayer.Parts, _ options: QueueOptions) {
        let rate = Double(options.format.sampleRate)
        self.init(
            open: parts.open, codecs: parts.codecs, format: options.format,
            pieceFrames: max(1024, min(1 << 20, Int(options.bufferLength.inSeconds * rate))),
            readyFrames: max(1, min(1 << 24, Int(options.readAhead.inSeconds * rate))), tap: options.tap,
            showsPictures: options.showsPictures && parts.makeDecoder != nil)
    }
}

extension PictureReader.Setup {
    /// Nil where pictures are left out.
    init?(
        _ parts: QueuePlayer.Parts, _ options: QueueOptions, _ layer: DisplayLayer, _ timebase: Timebase,
        _ events: EventLog
    ) {
        guard options.showsPictures, let makeDecoder = parts.makeDecoder else { return nil }
        self.init(open: parts.open, makeDecoder: makeDecoder, layer: layer, timebase: timebase, events: events)
    }
}

/// Commands on their way to the queue player's thread.
final class QueueMailbox: Sendable {
    typealias Command = @Sendable (QueueCore) -> Void
    /// Nil once nobody carries out commands any more.
    private let waiting = Lock<[Command]?>([])
    /// Raised when a command came in or something the player waits for moved.
    let signal = Signal()

    /// False when the player has been shut down: the command is not carried out.
    @discardableResult
    func post(_ command: @escaping Command) -> Bool {
        let isTaken = waiting.withLock { waiting in
            waiting?.append(command)
            return waiting != nil
        }
        signal.raise()
        return isTaken
    }

    func takeAll() -> [Command] {
        waiting.withLock { waiting in
            guard let all = waiting, !all.isEmpty else { return [] }
            waiting = []
            return all
        }
    }

    /// Commands that wait are dropped unless they were taken; the caller answers for those.
    func close() -> [Command] {
        waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting ?? []
        }
    }
}
