public import MediaCore
package import Profiles
public import SyncRendering

/// Plays media: opens addresses, decodes them and renders audio, video and subtitles in sync.
///
/// A player plays a playlist. `open` replaces it by one item; `append`, `insert`, `remove` and others edit it during
/// playback, even if the affected item is already in a speaker's buffer. Items follow each other on one timeline,
/// accurate to the sample and the frame. An item lasts as long as the longer of its audio and its video. An item that
/// cannot follow gaplessly (a live stream), or is not open in time, starts when it can. As in AVFoundation's queue
/// player, an item that has played leaves the playlist unless that repeats.
///
/// An item without video shows cover art, or black if there is none (nothing before the first item with video). If an
/// item's first frame is more than a quarter of a second after a boundary, black precedes it. Audio is delivered as far
/// ahead as the output requires, video a few frames ahead of the playhead; both change together on an edit.
///
/// Every method is callable from any thread and, unless stated otherwise, does not block. Commands are executed in
/// order on the player's thread. Their effects are reported in `state` and as events.
public final class Player: Sendable {
    /// The synchronizer of all renderers of the player.
    public let synchronizer: RenderSynchronizer
    /// The layer for a screen.
    public let layer: DisplayLayer
    /// The log of the timeline's events.
    public let events: EventLog
    let mailbox: PlayerMailbox
    let publisher: PlayerStatePublisher
    /// The latest session that was set; guarded by its own lock.
    let currentSession: Lock<PlaybackSession>
    /// The group of all outputs, so that they can change during playback; nil without audio.
    package let outputs: OutputGroup?
    /// Applies calibrated delays to the outputs; nil: none.
    package let calibration: RouteCalibration?
    private let decoders: DecoderReport
    private let imageDuration: Lock<Duration?>
    /// The number of additional audio tracks added so far, and the outputs of those that were not removed.
    let addedAudio = Lock<(count: Int, groups: [Int: OutputGroup])>((0, [:]))
    let codecs: any AudioCodecs
    /// The player's thread; guarded by its own lock.
    private let thread = Lock<WorkerThread?>(nil)

    /// Creates a player and starts its thread; nothing plays before `open`. If no thread is available, `state` reports
    /// the failure and the player is unusable.
    ///
    /// - Parameter onEvent: The event handler; called on the player's thread, must not block.
    public convenience init(
        components: Components, options: PlayerOptions, events: EventLog,
        onEvent: @escaping @Sendable (PlayerEvent) -> Void
    ) {
        self.init(components: components, options: options, events: events, onEvent: onEvent) {
            make throws(ExhaustionError) in
            try WorkerThread.start(name: "player") { make(EngineWork()).run() }
        }
    }

    /// Runs the engine's work: on threads, or under the control of a test.
    struct EngineWork {
        var startPipeline: (TrackPipeline, String) -> Void = { $0.start(name: $1) }
        var runBackgroundWork = Prefetcher.onThreads
    }

    /// Creates a player with a custom thread.
    ///
    /// - Parameter start: Creates the engine with its argument and runs it on the returned thread; if that is nil, the
    ///   caller calls `PlaybackEngine.runIteration`.
    init(
        components: Components, options: PlayerOptions, events: EventLog,
        onEvent: @escaping @Sendable (PlayerEvent) -> Void,
        start: (_ make: @escaping @Sendable (EngineWork) -> PlaybackEngine) throws(ExhaustionError) -> WorkerThread?
    ) {
        let synchronizer = RenderSynchronizer(clock: components.clock, events: events)
        let layer = DisplayLayer(depth: 8, toneMapping: components.toneMapping)
        let mailbox = PlayerMailbox()
        var components = components
        if !options.mayCalibrate { components.calibration = nil }
        let outputs = components.joinOutputs(options)
        let publisher = PlayerStatePublisher(timebase: synchronizer.timebase, outputs: outputs)
        self.outputs = outputs
        codecs = components.codecs
        calibration = components.calibration
        components.deinterlacing.mode = options.deinterlacing
        decoders = components.decoders
        imageDuration = components.imageDuration
        currentSession = Lock(options.session)
        self.synchronizer = synchronizer
        self.layer = layer
        self.events = events
        self.mailbox = mailbox
        self.publisher = publisher
        do throws(ExhaustionError) {
            let worker = try start { [components] work in
                PlaybackEngine(
                    components: components, options: options, synchronizer: synchronizer, layer: layer, events: events,
                    mailbox: mailbox, publisher: publisher, startPipeline: work.startPipeline,
                    runBackgroundWork: work.runBackgroundWork,
                    onEvent: onEvent)
            }
            thread.withLock { $0 = worker }
        } catch {
            _ = mailbox.close()
            var state = PlayerState()
            (state.phase, state.failure) = (.failed, TalkieError(error))
            publisher.post(state)
        }
    }

    /// Stops playback, as `shutDown`, but does not wait: the last reference may be released on the player's thread.
    deinit {
        guard !mailbox.isClosed else { return }
        mailbox.cancelOpening()
        mailbox.post { $0.shutDown() }
        publisher.finish()
    }

    /// The current state. The lock is held for nanoseconds.
    public var state: PlayerState { publisher.state }

    /// Requests an iteration of the player's thread, which `PlayerState.turns` counts. Distinguishes a thread that
    /// rests until an event from a blocked one.
    package func probe() { mailbox.signal.raise() }

    /// Replaces the playlist by one item. Playback starts unless the options, or `pause`, prevent it.
    ///
    /// - Parameter position: The media time of the start; nil or a position beyond the end: the default start.
    public func open(_ address: String, at position: MediaTime? = nil) {
        mailbox.requestOpening { $0.open(address, at: position) }
    }

    /// Replaces the playlist by several items. An item that occurs again is ignored; create another one.
    ///
    /// - Parameters:
    ///   - first: The item to start with; nil: the first one. Preceding items are those that `previous` returns to.
    ///   - position: The media time of the start; nil: that of the item.
    ///   - order: The order of the items; nil: unchanged.
    public func open(
        _ items: [QueueItem], startingWith first: QueueItem.ID? = nil, at position: MediaTime? = nil,
        order: PlayerOptions.PlaylistOrder? = nil
    ) {
        mailbox.requestOpening(items: items.count) { $0.open(items, startingWith: first, at: position, order: order) }
    }

    /// Plays an item that is not in the playlist; `reopen` returns to that.
    package func openOutsideList(_ address: String) {
        mailbox.requestOpening { $0.openOutsideList(address) }
    }

    /// Opens the current item of the playlist again, or its first one.
    package func reopen(at position: MediaTime? = nil) {
        mailbox.requestOpening { $0.reopen(at: position) }
    }

    /// Opens the first item of the current pass, and permits items that have failed.
    package func startOver() {
        mailbox.requestOpening { $0.startOver() }
    }

    // MARK: Playlist

    /// The current or awaited item and the upcoming ones, as of the last executed edit.
    public var items: [QueueItem] { state.items }
    /// The items that have passed, oldest first, as of the last executed edit.
    public var history: [QueueItem] { state.history }

    /// Edits the playlist and, as far as affected, playback. `play` starts with the first item; a playlist that has
    /// ended continues with added items.
    ///
    /// - Parameter completion: Called once, on any thread, when playback has applied the edits, which takes up to about
    ///   a second on a playing speaker. An asynchronous function that does not wait passes nil, as `removeRenderer` is
    ///   called there.
    public func apply(_ edit: QueueEdit, completion: (@Sendable (QueueEditOutcome) -> Void)? = nil) {
        let isTaken = mailbox.request(items: edit.itemCount) { $0.apply(edit, done: completion) }
        if !isTaken { completion?(.unchanged) }
    }

    /// Same as `apply(_:completion:)`; returns the argument of the completion.
    public func apply(_ edit: QueueEdit) async -> QueueEditOutcome {
        await withCheckedContinuation { continuation in
            apply(edit) { continuation.resume(returning: $0) }
        }
    }

    /// Appends items.
    public func append(_ items: [QueueItem]) { apply(.append(items)) }
    /// Inserts items after another one; nil: at the end.
    public func insert(_ items: [QueueItem], after item: QueueItem.ID?) { apply(.insert(items, after: item)) }
    /// Removes an item.
    public func remove(_ item: QueueItem.ID) { apply(.remove(item)) }
    /// Moves an item after another one; nil: to the end.
    public func move(_ item: QueueItem.ID, after other: QueueItem.ID?) { apply(.move(item, after: other)) }
    /// Replaces an item.
    public func replace(_ item: QueueItem.ID, with other: QueueItem) { apply(.replace(item, with: other)) }
    /// Replaces all items; the current one plays to its end.
    public func replaceAll(with items: [QueueItem]) { apply(.replaceAll(items, order: nil)) }
    /// Removes all items.
    public func removeAll() { apply(.removeAll) }
    /// Sets the order of the items after the current one, and of later passes of the playlist.
    public func setOrder(_ order: PlayerOptions.PlaylistOrder) { apply(.order(order)) }
    /// Sets when unplayable items are tried again.
    package func setRetry(_ retry: PlayerOptions.Retry) { apply(.retry(retry)) }
    /// Sets the repetitions of each item and of the playlist, counted from now on.
    public func setLoop(item: PlayerOptions.Loop, list: PlayerOptions.Loop) { apply(.loop(item: item, list: list)) }

    /// Sets the repetitions of this item and each following one.
    public func setLoop(_ loop: PlayerOptions.Loop) { mailbox.request { $0.setLoop(loop) } }

    /// Replaces the items after the current one. Each is opened, read and decoded in advance. This also applies if the
    /// old ones were already delivered to a speaker; items that have begun meanwhile may be included.
    /// `PlayerOptions.expectsMore` should be set before the first item.
    package func setNext(_ items: [QueueItem]) { mailbox.request(items: items.count) { $0.setNext(items) } }

    /// Inserts items after the first item from the current one on that has an address, unless they are there.
    ///
    /// - Parameter done: Called on the player's thread if they were inserted.
    package func insert(_ items: [QueueItem], after address: String, done: @escaping @Sendable () -> Void) {
        mailbox.request(items: items.count) { $0.insert(items, after: address, done: done) }
    }

    /// Seeks to a position of an item in the playlist or its history.
    public func jump(to item: QueueItem.ID, at position: MediaTime = .zero) {
        mailbox.request { $0.jump(to: item, at: position) }
    }

    /// Same as `jump(to:at:)` at a scheduled time: the position is presented at a host instant. If the player is ready
    /// later, it starts at the position that would be reached by then.
    package func jump(to item: QueueItem.ID, at position: MediaTime, perceivedAt instant: HostInstant) {
        mailbox.request { $0.jump(to: item, at: position, perceivedAt: instant) }
    }

    /// Skips to the next item.
    public func skip() { mailbox.request { $0.skip() } }
    /// Same as `skip`, by AVQueuePlayer's name.
    public func advanceToNextItem() { skip() }

    /// Continues after an item that has failed, or after one that is not in the playlist; ends if nothing follows. No
    /// effect otherwise.
    package func skipFailed() { mailbox.request { $0.skipFailed() } }

    /// Returns to the preceding item, in the order of playback. No effect at the first one.
    public func previous() { step(by: -1) }

    /// Starts the item at a distance in the order of playback, within the current pass of the playlist.
    ///
    /// - Parameter refuse: Called on the player's thread if there is none; nothing is changed then.
    package func step(by distance: Int, refuse: @escaping @Sendable () -> Void = {}) {
        mailbox.request { $0.step(by: distance, refuse: refuse) }
    }

    // MARK: Transport

    /// Starts with the first item, resumes after a pause, or repeats the last item.
    public func play() { mailbox.request { $0.play() } }
    /// Pauses playback.
    public func pause() { mailbox.request { $0.pause() } }
    /// Pauses or resumes playback.
    public func togglePause() { mailbox.request { $0.togglePause() } }

    /// Seeks to a media time. Exact decodes up to that frame; otherwise the nearest earlier sync frame is used.
    public func seek(to time: MediaTime, exact: Bool = true) { mailbox.request { $0.seek(to: time, exact: exact) } }

    /// Seeks by a distance from the current position, or from the target of a seek in progress; beyond the end to the
    /// next item.
    ///
    /// Exact seeks to that frame. Otherwise the target is the first sync frame beyond it in the direction of the seek.
    /// If that frame is further from the target than the distance, the seek is exact.
    public func seek(by distance: MediaTime, exact: Bool = true) {
        mailbox.request { $0.seek(by: distance, exact: exact) }
    }

    /// Seeks by chapters: to the start of a later one, and beyond the last to the next item. Backward it seeks to the
    /// start of the current chapter or, within its first five seconds, of the preceding one. No effect without
    /// chapters.
    public func seek(byChapters count: Int) { mailbox.request { $0.seek(byChapters: count) } }

    /// Repeats a section of this and each following item until nil: when playback passes its end, or that of the item,
    /// it seeks to the section's start, exactly. A user seek beyond the end stops the repetition.
    public func setRepeatedSection(_ section: MediaTimeRange?) { mailbox.request { $0.setRepeatedSection(section) } }

    /// Pauses and shows the next frame.
    public func stepForward() { mailbox.request { $0.step(byFrames: 1) } }
    /// Pauses and shows the preceding frame.
    public func stepBackward() { mailbox.request { $0.step(byFrames: -1) } }

    /// The media seconds per second; 0 while paused. Setting 0 pauses, another value sets the speed and plays. A set is
    /// applied, and read, after the player's next iteration. Any thread.
    public var rate: Float {
        get {
            let state = state
            return state.isPaused ? 0 : Float(state.speed)
        }
        set {
            guard newValue > 0 else { return pause() }
            setSpeed(Double(newValue))
            play()
        }
    }
    /// Sets the media seconds per second, clamped to `PlayerOptions.speedRange`; the pitch is preserved.
    public func setSpeed(_ speed: Double) { mailbox.request { $0.setSpeed(speed) } }
    /// Replaces `PlayerOptions.imageDisplayDuration` for image files that are opened from now on.
    public func setImageDisplayDuration(_ duration: Duration?) { imageDuration.withLock { $0 = duration } }
    /// Sets night mode, which reduces the dynamic range.
    public func setNightMode(_ isOn: Bool) { mailbox.request { $0.audioControl.setNightMode(isOn) } }
    /// Sets the amplification of the centre channel, which carries dialogue, in decibels; clamped to 0…12.
    public func setDialogueLift(_ decibels: Double) { mailbox.request { $0.audioControl.setDialogueLift(decibels) } }
    /// Mutes or unmutes audio.
    public func setMuted(_ muted: Bool) { mailbox.request { $0.audioControl.setMuted(muted) } }
    /// Sets the delay of audio, clamped to ±`PlayerOptions.longestAudioDelay`; positive is later than video.
    public func setAudioDelay(_ delay: Duration) { mailbox.request { $0.audioControl.setDelay(delay) } }
    /// Sets the display, so that its calibration is applied; called by `PlayerWindow`. A change takes effect as a
    /// discontinuity of the audio.
    ///
    /// - Parameters:
    ///   - name: The display's name in the window system (`ScreenControl.Status.display`); nil: unknown.
    ///   - refreshRate: Refreshes per second; nil if each frame is shown at its own instant.
    public func setScreen(_ name: String?, refreshRate: Int?, isFullScreen: Bool) {
        mailbox.request { $0.audioControl.setScreen(name, refreshRate: refreshRate, isFullScreen: isFullScreen) }
    }
    /// Sets which video frames are deinterlaced, from the next decoded frame on.
    public func setDeinterlacing(_ mode: Deinterlacing) { mailbox.request { $0.tracks.setDeinterlacing(mode) } }

    /// The codec of the last frame and its decoder: `h264 (software)`, `h264 (vaapi)`. Nil before the first frame;
    /// unchanged by items without video. It may refer to the next item once that is prepared. Any thread.
    package var videoDecoder: String? { decoders.latest }
    /// Selects the next audio track of the item; after the last one the first.
    public func cycleAudioTrack() { mailbox.request { $0.cycleAudioTrack() } }
    /// Selects an audio track by number, 1 for the first. Following items use a similar track.
    public func selectAudioTrack(_ number: Int) { mailbox.request { $0.selectAudioTrack(number) } }
    /// Selects an audio track by language and purpose, before `PlayerOptions.audioLanguages` and instead of
    /// `audioPurpose`. Following items use them as well.
    public func selectAudioTrack(_ choice: AudioTrackChoice) { mailbox.request { $0.selectAudioTrack(choice) } }
    /// Selects the main audio track for outputs that have a selection of their own; nil restores the user's selection,
    /// unless the user has selected another track since. Any thread.
    package func overrideAudioTrack(with choice: AudioTrackChoice?) {
        mailbox.request { $0.overrideAudioTrack(with: choice) }
    }

    // MARK: Subtitles

    /// Selects the next (1) or the preceding (-1) subtitles of the item; between the last and the first there are none.
    public func cycleSubtitles(by step: Int = 1) { mailbox.request { $0.cycleSubtitles(by: step) } }
    /// Selects subtitles by number, 1 for the first; nil: none. Following items use similar ones.
    public func selectSubtitles(_ number: Int?) { mailbox.request { $0.selectSubtitles(number) } }
    /// Selects secondary subtitles, shown at the top as plain text, by number, 1 for the first; nil: none.
    public func selectSecondarySubtitles(_ number: Int?) { mailbox.request { $0.selectSecondarySubtitles(number) } }
    /// Selects the next (1) or the preceding (-1) secondary subtitles; between the last and the first there are none.
    public func cycleSecondarySubtitles(by step: Int = 1) { mailbox.request { $0.cycleSecondarySubtitles(by: step) } }
    /// Shows or hides the secondary subtitles.
    public func setSecondarySubtitlesShown(_ isShown: Bool) {
        mailbox.request { $0.tracks.subtitles.setSecondaryShown(isShown) }
    }
    /// Sets the delay of subtitles; positive is later. Takes effect at once, also while paused.
    public func setSubtitleDelay(_ delay: Duration) { mailbox.request { $0.tracks.subtitles.setDelay(delay) } }
    /// Shows or hides the primary subtitles.
    public func setSubtitlesShown(_ isShown: Bool) { mailbox.request { $0.tracks.subtitles.setShown(isShown) } }

    /// Stops playback, closes the outputs and ends all threads. Blocks until done; the player cannot be used again.
    public func shutDown() {
        mailbox.cancelOpening()
        mailbox.post { $0.shutDown() }
        thread.withLock { $0.take() }?.join()
        publisher.finish()
    }
}
