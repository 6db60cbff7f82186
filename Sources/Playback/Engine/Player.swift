public import MediaCore
package import Profiles
public import SyncRendering

/// Plays films: addresses in, rate 1, everything handled.
///
/// A player plays a list. `open` makes it a list of one film; `append`, `insert`, `remove` and the like change it while it plays, even
/// where the changed item is in a speaker's buffer already. Items follow one another on one timeline, exact to the sample and to the
/// picture, whatever they hold; an item lasts as long as the longer of its sound and its pictures. What cannot be joined (a live
/// stream), or is not open in time, begins when it can. As in AVFoundation's queue player, an item that has been played leaves the
/// list, unless the list is to be played again.
///
/// An item without pictures shows the picture that came along with the recording, and black where there is none (nothing at all before
/// the first item with pictures). Where an item's first picture comes later than a quarter of a second behind a joint, black comes
/// before it. Sound is handed over as far ahead as the output wants, pictures a few at a time near the playhead; both change together
/// when the list does.
///
/// Every method may be called from any thread and returns at once; commands are carried out in order on the player's
/// own thread. What a command leads to is seen in `state` and heard in the news.
public final class Player: Sendable {
    public let synchronizer: RenderSynchronizer
    /// Give this to a screen.
    public let layer: DisplayLayer
    public let events: EventLog
    package let mailbox: PlayerMailbox
    let board: PlayerBoard
    /// The outputs as one, so that they can change in mid-film; nil without sound.
    package let outputs: OutputGroup?
    /// What moves them by what was calibrated; nil where that is not wanted.
    package let calibration: RouteCalibration?
    private let deinterlacing: DeinterlacingSwitch
    private let decoders: DecoderReport
    private let imageDuration: Lock<Duration?>
    /// Counts further sounds.
    let addedSounds = Lock(0)
    private let thread = Lock<WorkerThread?>(nil)

    /// Puts a player together and starts its thread. It plays nothing before `open`. Where the system gives no thread, `state` says that
    /// the player has failed, and why; it is of no use then.
    ///
    /// - Parameter news: called on the player's thread; must return at once.
    public convenience init(
        parts: Parts, options: PlayerOptions, events: EventLog, news: @escaping @Sendable (PlayerNews) -> Void
    ) {
        self.init(parts: parts, options: options, events: events, news: news) { make throws(ExhaustionError) in
            try WorkerThread.start(name: "player") { make(EngineWork()).run() }
        }
    }

    /// Where the engine's work is done: on threads of its own, or by the hand of a test.
    struct EngineWork {
        var startPipeline: (TrackPipeline, String) -> Void = { $0.start(name: $1) }
        var runErrand = Prefetcher.onThreads
    }

    /// - Parameter start: makes the engine with its argument and runs it on the thread that it returns; without a thread the caller calls
    ///   `PlaybackEngine.turn`.
    init(
        parts: Parts, options: PlayerOptions, events: EventLog, news: @escaping @Sendable (PlayerNews) -> Void,
        start: (_ make: @escaping @Sendable (EngineWork) -> PlaybackEngine) throws(ExhaustionError) -> WorkerThread?
    ) {
        let synchronizer = RenderSynchronizer(clock: parts.clock, events: events)
        let layer = DisplayLayer(depth: 8, toneMapping: parts.toneMapping)
        let mailbox = PlayerMailbox()
        var parts = parts
        if !options.mayCalibrate { parts.calibration = nil }
        let outputs = parts.joinOutputs(options)
        let board = PlayerBoard(timebase: synchronizer.timebase, outputs: outputs)
        self.outputs = outputs
        calibration = parts.calibration
        deinterlacing = parts.deinterlacing
        deinterlacing.mode = options.deinterlacing
        decoders = parts.decoders
        imageDuration = parts.imageDuration
        self.synchronizer = synchronizer
        self.layer = layer
        self.events = events
        self.mailbox = mailbox
        self.board = board
        do throws(ExhaustionError) {
            let worker = try start { [parts] work in
                PlaybackEngine(
                    parts: parts, options: options, synchronizer: synchronizer, layer: layer, events: events,
                    mailbox: mailbox, board: board, startPipeline: work.startPipeline, runErrand: work.runErrand,
                    news: news)
            }
            thread.withLock { $0 = worker }
        } catch {
            _ = mailbox.close()
            var state = PlayerState()
            (state.phase, state.failure) = (.failed, TalkieError(error))
            board.post(state)
        }
    }

    /// Where the player stands. Lock held for nanoseconds.
    public var state: PlayerState { board.state }

    /// Replaces the list by one film. Play begins unless the options, or `pause`, say otherwise.
    ///
    /// - Parameter position: film time; nil is where films begin, and so is what lies behind the film's end.
    public func open(_ address: String, at position: MediaTime? = nil) {
        mailbox.cancelOpening()
        mailbox.post { $0.open(address, at: position) }
    }

    // MARK: The list

    /// The item that plays, or is about to, and those to come; as of the last change that was carried out.
    public var items: [QueueItem] { state.items }

    /// Changes the list, and what is heard and seen as far as need be. `play` begins with the first item; a list that has been played
    /// to its end goes on by itself with what is added.
    public func apply(_ edit: QueueEdit) { mailbox.post { $0.apply(edit) } }

    /// The same, and waits until list and sound agree again: within about a second on a speaker that plays.
    public func apply(_ edit: QueueEdit) async -> QueueEditOutcome {
        await withCheckedContinuation { continuation in
            let isTaken = mailbox.post { engine in engine.apply(edit) { continuation.resume(returning: $0) } }
            if !isTaken { continuation.resume(returning: .unchanged) }
        }
    }

    public func append(_ items: [QueueItem]) { apply(.append(items)) }
    /// Nil puts them last.
    public func insert(_ items: [QueueItem], after item: QueueItem.ID?) { apply(.insert(items, after: item)) }
    public func remove(_ item: QueueItem.ID) { apply(.remove(item)) }
    public func move(_ item: QueueItem.ID, after other: QueueItem.ID?) { apply(.move(item, after: other)) }
    public func replace(_ item: QueueItem.ID, with other: QueueItem) { apply(.replace(item, with: other)) }
    public func removeAll() { apply(.removeAll) }
    /// How often each item is played again at once, and how often the whole list; counted from now.
    public func setLoop(item: PlayerOptions.Loop, list: PlayerOptions.Loop) { apply(.loop(item: item, list: list)) }

    /// How often this film, and each after it, is played again.
    public func setLoop(_ loop: PlayerOptions.Loop) { mailbox.post { $0.setLoop(loop) } }

    /// What follows the item that plays, in this order, in place of what was to follow it: each is opened, read and decoded before it
    /// is needed. Also where the old ones have been handed to a speaker already; items that have begun meanwhile may be among them.
    /// `PlayerOptions.expectsMore` is best set before the first film.
    public func setNext(_ items: [QueueItem]) { mailbox.post { $0.setNext(items) } }

    /// Goes to an item of the list, and to a position in it.
    public func jump(to item: QueueItem.ID, at position: MediaTime = .zero) {
        mailbox.post { $0.jump(to: item, at: position) }
    }

    /// Goes to a position of an item so that it is perceived at a host instant: as `jump(to:at:)`, by appointment. Whoever is ready only
    /// later begins where the film would be by then.
    package func jump(to item: QueueItem.ID, at position: MediaTime, perceivedAt instant: HostInstant) {
        mailbox.post { $0.jump(to: item, at: position, perceivedAt: instant) }
    }

    /// Goes to the item behind the one that plays.
    public func skip() { mailbox.post { $0.skip() } }

    // MARK: Transport

    /// Begins with the first item, goes on after a pause, or plays the last film again.
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

    /// Goes by chapters: to the start of a later one, and past the last to what follows the film; back to the start of the one
    /// that plays, or, within its first five seconds, of the one before. Does nothing in a film without chapters.
    public func seek(byChapters count: Int) { mailbox.post { $0.seek(byChapters: count) } }

    /// Repeats a part of the film, and of each film after it, until nil: where its end is passed, or the film's, play jumps back to
    /// the section's start, exactly. Whoever winds past the end is let go.
    public func setRepeatedSection(_ section: MediaTimeRange?) { mailbox.post { $0.setRepeatedSection(section) } }

    /// Pauses and goes one picture on or back.
    public func stepForward() { mailbox.post { $0.stepForward() } }
    public func stepBackward() { mailbox.post { $0.stepBackward() } }

    /// Film seconds per second, held to `PlayerOptions.speedRange`; the pitch stays.
    public func setSpeed(_ speed: Double) { mailbox.post { $0.setSpeed(speed) } }
    /// Replaces `PlayerOptions.imageDisplayDuration` for picture files that are opened from now on.
    public func setImageDisplayDuration(_ duration: Duration?) { imageDuration.withLock { $0 = duration } }
    /// Brings loud and quiet nearer to each other.
    public func setNightMode(_ isOn: Bool) { mailbox.post { $0.setNightMode(isOn) } }
    /// Decibels by which a film's centre channel, which speaks, is lifted above the others; held to 0…12.
    public func setDialogueLift(_ decibels: Double) { mailbox.post { $0.setDialogueLift(decibels) } }
    public func setMuted(_ muted: Bool) { mailbox.post { $0.setMuted(muted) } }
    /// Positive: sound later than picture.
    public func setAudioDelay(_ delay: Duration) { mailbox.post { $0.setAudioDelay(delay) } }
    /// Where the pictures are seen, so that what was calibrated with just this screen is applied; `PlayerWindow` tells it. A change
    /// takes effect as a jump of the sound.
    ///
    /// - Parameters:
    ///   - name: the display's, as the window system calls it (`ScreenControl.Status.display`); nil is not known.
    ///   - refreshRate: pictures a second that it shows; nil where each is shown at its own instant.
    public func setScreen(_ name: String?, refreshRate: Int?, isFullScreen: Bool) {
        mailbox.post { $0.setScreen(name, refreshRate: refreshRate, isFullScreen: isFullScreen) }
    }
    /// Which pictures are shown as two, field by field; from the next picture that is decoded on.
    public func setDeinterlacing(_ mode: Deinterlacing) { deinterlacing.mode = mode }

    /// The codec of the latest picture and who decoded it: `h264 (software)`, `h264 (vaapi)`. Nil before the first; stays when a film
    /// without pictures follows. Of films in a row it may name the next one's when that is made ready. Any thread.
    public var videoDecoder: String? { decoders.latest }
    /// Takes the next sound track of the film, and the first after the last.
    public func cycleAudioTrack() { mailbox.post { $0.cycleAudioTrack() } }
    /// Takes a sound track by number, 1 the first. Films that follow play the like of it.
    public func selectAudioTrack(_ number: Int) { mailbox.post { $0.selectAudioTrack(number) } }

    // MARK: Subtitles

    /// Shows the next (1) or the one before (-1) of the film's subtitles; between the last and the first there are none.
    public func cycleSubtitles(by step: Int = 1) { mailbox.post { $0.cycleSubtitles(by: step) } }
    /// Shows subtitles by number, 1 the first; nil shows none. Films that follow show the like of it.
    public func selectSubtitles(_ number: Int?) { mailbox.post { $0.selectSubtitles(number) } }
    /// Shows subtitles at the top beside the others, by number, 1 the first; nil shows none. Words only.
    public func selectSecondarySubtitles(_ number: Int?) { mailbox.post { $0.selectSecondarySubtitles(number) } }
    /// The next (1) or the one before (-1) at the top; between the last and the first there are none.
    public func cycleSecondarySubtitles(by step: Int = 1) { mailbox.post { $0.cycleSecondarySubtitles(by: step) } }
    public func setSecondarySubtitlesShown(_ isShown: Bool) {
        mailbox.post { $0.setSecondarySubtitlesShown(isShown) }
    }
    /// Positive: later than the film says. Takes effect at once, also while the film stands.
    public func setSubtitleDelay(_ delay: Duration) { mailbox.post { $0.setSubtitleDelay(delay) } }
    public func setSubtitlesShown(_ isShown: Bool) { mailbox.post { $0.setSubtitlesShown(isShown) } }

    /// Stops, gives devices back, ends all threads. Blocks until done; the player cannot be used again.
    public func shutDown() {
        mailbox.cancelOpening()
        mailbox.post { $0.shutDown() }
        let worker = thread.withLock { thread -> WorkerThread? in
            defer { thread = nil }
            return thread
        }
        worker?.join()
        board.finish()
    }
}
