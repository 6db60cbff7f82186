internal import MediaCore
internal import Profiles
internal import SyncRendering

/// The state machine of the player. Confined to the player's thread, including `init` and deinitialization.
///
/// `shared` holds the schedule; the pipelines read along it (`AudioStage`, `VideoStage`), and the prefetcher prepares
/// it. The displayed state changes when the playhead passes a gapless boundary.
package final class PlaybackEngine {
    let parts: Player.Parts
    var options: PlayerOptions
    let synchronizer: RenderSynchronizer
    let layer: DisplayLayer
    let events: EventLog
    let mailbox: PlayerMailbox
    let news: @Sendable (PlayerNews) -> Void
    /// Starts the thread of a pipeline; tests drive it instead.
    let startPipeline: (TrackPipeline, String) -> Void
    private let board: PlayerBoard
    let progress: ProgressGate
    let renderer: AudioRenderer?
    /// Additional audio tracks beside the main one.
    var addedSounds: [AddedSound] = []
    /// The primary subtitles; nil if video is not played or there is no drawing.
    let subtitles: ShownSubtitles?
    /// The secondary subtitles, at the top.
    let secondarySubtitles: ShownSubtitles?
    /// The primary and the secondary subtitles, if any.
    let allSubtitles: [ShownSubtitles]

    let shared: SharedPlaybackList
    let prefetcher: Prefetcher
    var audio: TrackPipeline?
    var video: TrackPipeline?
    var jump: Jump?
    /// The number of the last seek.
    var serial = 0
    /// Whether the user wants playback, also while it is not possible yet.
    var wantsPlay = true
    /// The media time at which the awaited item starts; nil: its start.
    var arrivalPosition: MediaTime?
    /// When that position is to be presented; nil: as soon as possible.
    var arrivalInstant: HostInstant?
    var ahead = Ahead()
    var cut: ListCut?
    /// The number of the last cut.
    var cuts = 0
    /// The completion handlers of pending edits, and their outcome.
    var settling: [@Sendable (QueueEditOutcome) -> Void] = []
    var outcome = QueueEditOutcome.seamless
    /// The entry that was reported as current.
    var announced: Int?
    /// The item that was last interrupted by an interstitial.
    var interrupted: QueueItem.ID?
    package var state = PlayerState() { didSet { board.post(state) } }
    private var isRunning = true
    /// Whether audio is lost for this item; video continues.
    var soundIsLost = false
    /// The error of a track of the last opened item for which no thread was available.
    var exhaustion: MediaError?
    /// Whether the item has played since it was opened.
    var hasBegun = false
    /// The last reported failure of an incomplete item.
    var reported: (item: QueueItem.ID, failure: MediaFailure)?
    /// The next attempt to reopen lost media; nil once an item plays. `isAway`: the attempt is pending. `absent`: the
    /// lost position.
    var returning: Retry?
    var isAway = false
    var absent: PlaybackList.Turn?
    /// The number of pending frame steps while paused; negative for backward.
    var stepsLeft = 0
    /// The repeated section, and the media time at the last check.
    var repeated: (section: MediaTimeRange, from: MediaTime)?
    var isVolumeChosen: Bool
    var buffering = BufferingPolicy()
    /// Host time until a track may underrun, as of the last iteration.
    var untilDry: Duration?
    private let watch: TimelineWatch

    init(
        parts: Player.Parts, options: PlayerOptions, synchronizer: RenderSynchronizer, layer: DisplayLayer,
        events: EventLog, mailbox: PlayerMailbox, board: PlayerBoard,
        startPipeline: @escaping (TrackPipeline, String) -> Void = { $0.start(name: $1) },
        runErrand: @escaping Prefetcher.Run = Prefetcher.onThreads,
        news: @escaping @Sendable (PlayerNews) -> Void
    ) {
        self.startPipeline = startPipeline
        self.parts = parts
        self.options = options
        self.synchronizer = synchronizer
        self.layer = layer
        self.events = events
        self.mailbox = mailbox
        self.board = board
        self.news = news
        shared = SharedPlaybackList { [mailbox] in mailbox.signal.raise() }
        shared.update { ($0.loopItem, $0.loopList) = (options.loopFile, options.loopPlaylist) }
        prefetcher = Prefetcher(parts, run: runErrand)
        progress = ProgressGate(signal: mailbox.signal)
        // Applied before playback: a later change would be a discontinuity of the audio.
        parts.calibration?.apply()
        if options.playsAudio, let output = parts.audioOutput {
            let renderer = AudioRenderer(codecs: parts.codecs, events: events)
            self.renderer = renderer
            renderer.delay = options.audioDelay + options.calibration
            renderer.setSpeed(options.speed)
            renderer.setOutput(output)
            renderer.onNews { [mailbox, progress] in
                Self.hear($0, mailbox: mailbox, progress: progress) { $0.soundFailed($1) }
            }
            renderer.onAutomaticFlush { [mailbox] _ in mailbox.post { $0.soundIsBack() } }
        } else {
            renderer = nil
        }
        subtitles = options.playsVideo ? parts.subtitles.map { ShownSubtitles($0, over: layer, options: options) } : nil
        secondarySubtitles =
            options.playsVideo
            ? parts.subtitles.flatMap { ShownSubtitles(secondary: $0, over: layer, options: options) } : nil
        allSubtitles = [subtitles, secondarySubtitles].compactMap { $0 }
        synchronizer.addRenderer(layer)
        watch = TimelineWatch(mailbox.signal)
        synchronizer.add(watch)
        wantsPlay = !options.startsPaused
        isVolumeChosen = options.volume != nil
        state.speed = options.speed
        state.volume = options.volume ?? 100
        state.isMuted = options.isMuted
        state.audioDelay = options.audioDelay
        state.subtitleDelay = options.subtitleDelay
        state.showsSubtitles = options.showsSubtitles
        if isVolumeChosen || options.isMuted { applyGain() }
        applyTreatment()
    }

    /// A copy of the current list.
    var list: PlaybackList { shared.list }
    /// The current entry.
    var current: PlaybackList.Entry? { shared.current }
    var speed: Double { state.speed }
    /// The start position; zero if it depends on an unknown duration.
    var resolvedStart: MediaTime { options.start?.moment(in: state.duration) ?? .zero }
    /// Whether the timeline has media.
    var isUnderWay: Bool { [.playing, .paused, .buffering].contains(state.phase) }

    // MARK: Thread

    /// The loop of the player's thread.
    func run() {
        while turn() {
            mailbox.signal.wait(until: .now.advanced(by: restingTime))
            mailbox.signal.clear()
        }
    }

    /// Runs one iteration: executes commands and handles changes. Returns false when the player is shut down.
    func turn() -> Bool {
        synchronizer.attend()
        for command in mailbox.takeAll() { command(self) }
        guard isRunning else {
            settleEdits(.unchanged)
            return false
        }
        advance()
        let sound = renderer?.progress
        board.note(
            loadedUntil: readUntil, handedUntil: sound?.acceptedUntil, soundReadUntil: sound?.enqueuedUntil,
            soundIsRead: audio?.status.hasEnded ?? true || shared.isWaiting(.sound),
            picturesAreRead: video?.status.hasEnded ?? true || shared.isWaiting(.picture))
        if state.phase == .playing { board.tick() }
        return true
    }

    /// How long no work is due without a signal.
    private var restingTime: Duration {
        // Polled, because the screen takes the frame of a step without a signal.
        if stepsLeft != 0 { return .milliseconds(10) }
        if jump != nil { return .milliseconds(50) }
        if isAway, let returning { return max(.milliseconds(1), returning.notBefore - parts.clock.now) }
        if let next = ahead.nextAttempt, list.awaited != nil { return max(.milliseconds(1), next - parts.clock.now) }
        guard state.phase == .playing else { return .seconds(3600) }
        let now = synchronizer.currentTime()
        // The end of media that was read completely is known before it has played.
        let end = filmEnd ?? current?.joint.flatMap { $0 > now ? $0 : nil }
        let next = sectionEnd.map { limit in end.map { min($0, limit) } ?? limit } ?? end
        let remaining = (next.map { $0 - now } ?? MediaTime(value: 1, timescale: 4)).duration
        // A waiting track is polled, so that its item ends in time.
        let longest: Duration =
            shared.isWaiting(.sound) || shared.isWaiting(.picture) || isUnseen ? .milliseconds(50) : .milliseconds(250)
        return min(min(longest, max(.milliseconds(2), remaining)), lookAfterSupply)
    }

    /// Handles an event of a renderer. Called on its feeder thread.
    ///
    /// - Parameter fail: Called on the player's thread with a failure.
    static func hear(
        _ news: AudioRenderer.News, mailbox: PlayerMailbox, progress: ProgressGate,
        fail: @escaping @Sendable (PlaybackEngine, TalkieError) -> Void
    ) {
        switch news {
        case .progress: progress.report()
        case .readyForMoreMediaData: break
        case .cannotDecode(let error): mailbox.post { fail($0, TalkieError(.failed, error.message)) }
        case .outputFailed(let error):
            let code: TalkieError.Code = error.code == .notPermitted ? .notPermitted : .unavailable
            mailbox.post { fail($0, TalkieError(code, error.message)) }
        }
    }

    /// Stops all tracks and threads; blocks until they have ended.
    func shutDown() {
        isRunning = false
        // Edits among them are answered at the end of this iteration.
        for command in mailbox.close() { command(self) }
        for entry in list.entries { entry.media.cancel() }
        closeFilm()
        forgetAhead()
        prefetcher.stop()
        synchronizer.remove(watch)
        synchronizer.removeRenderer(layer, completion: nil)
        for renderer in soundRenderers { renderer.invalidate() }
        for subtitles in allSubtitles {
            synchronizer.removeRenderer(subtitles.renderer, completion: nil)
            subtitles.renderer.stop()
        }
    }

    // MARK: Progress

    /// Handles all changes since the last iteration.
    private func advance() {
        tryReturn()
        continueArrival()
        continueCut()
        dropLost()
        repeatSection()
        passJoints()
        endWhatBrokeOff()
        reconcile()
        passPicturesUnseen()
        reportLosses()
        reportOutputs()
        if jump != nil { continueJump() }
        continueSteps()
        noteHold()
        holdIfStarved()
        tellSubtitleTrouble()
        if state.phase == .playing, hasReachedEnd { reachEnd() }
    }

    /// How long after its time a frame is dropped if no screen takes it; an application may take frames itself.
    private static let unseenDelay = MediaTime(value: 1, timescale: 4)

    /// Drops frames if there is no screen, so that playback continues and ends.
    private func passPicturesUnseen() {
        guard isUnseen else { return }
        let time = synchronizer.currentTime() - Self.unseenDelay
        if let next = layer.nextTime, next <= time { _ = layer.take(upTo: time) }
    }

    private var isUnseen: Bool { video != nil && state.phase == .playing && !layer.hasPresenter }

    /// The end of the current entry on the timeline, as currently known. It is the start of the next entry, the later
    /// end of both tracks, or the requested end.
    private var filmEnd: MediaTime? {
        let entries = list.entries
        if entries.count > 1, let begin = entries[1].begin { return begin }
        let asked = aside == nil ? options.end?.moment(in: state.duration).map { $0 + state.lineOffset } : nil
        let cut = entries.first.flatMap { $0.setEnd == nil ? nil : $0.joint }
        return Self.earlier(Self.earlier(ownEnd, asked), cut)
    }

    /// Avoids an array and therefore an allocation in every iteration.
    private static func earlier(_ left: MediaTime?, _ right: MediaTime?) -> MediaTime? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }

    /// The position at which both tracks have ended, including a delay of the audio.
    private var ownEnd: MediaTime? {
        guard let entry = current else { return nil }
        var end: MediaTime?
        if let renderer, audio != nil, entry.audioTrack != nil, !soundIsLost {
            guard renderer.progress.isDrained else { return nil }
            let delay = max(0, Double(renderer.delay.wholeNanoseconds) * state.speed)
            end = renderer.progress.acceptedUntil.map { $0 + MediaTime(nanoseconds: Int64(delay)) }
        }
        if video != nil, entry.videoTrack != nil {
            guard layer.isDrained else { return nil }
            if let shown = layer.shownEnd { end = max(end ?? shown, shown) }
        }
        return end ?? synchronizer.currentTime()
    }

    var hasReachedEnd: Bool { filmEnd.map { synchronizer.currentTime() >= $0 } ?? false }

    /// Ends the current entry if nothing follows gaplessly; the successor starts as soon as possible.
    func reachEnd() {
        if let entry = current { reportRest(of: entry) }
        let list = list
        if list.entries.count > 1 {
            let next = list.entries[1]
            advanceList(to: next)
            return begin(at: next.start, exact: true)
        }
        guard let entry = list.entries.first, var turn = list.successor(of: entry) else {
            synchronizer.setRate(0, atHostTime: parts.clock.now)
            return list.mayComeBack ? waitForReturn() : enter(.ended)
        }
        // Nothing followed gaplessly in time.
        if turn.aside != nil || entry.turn.aside != nil { return begin(with: turn) }
        if let place = turn.from { return begin(at: place, exact: true) }
        if turn.item == entry.item, turn.itemPass > 0 {
            if entry.film.summary.isSeekable {
                shared.update { list in list.change(entry.serial) { $0.turn = turn } }
                return begin(at: resolvedStart, exact: true)
            }
            news(.message("This film is not seekable; it is played once."))
            guard let next = list.successor(of: turn, leavesLoop: true) else {
                synchronizer.setRate(0, atHostTime: parts.clock.now)
                return enter(.ended)
            }
            turn = next
        }
        begin(with: turn)
    }

    /// Changes the phase and reports it.
    func enter(_ phase: PlayerState.Phase) {
        guard state.phase != phase else { return }
        tellPhase(phase)
    }

    /// Reports a phase even if it is unchanged.
    func tellPhase(_ phase: PlayerState.Phase) {
        state.phase = phase
        if phase != .buffering { (state.reason, state.bufferingProgress) = (nil, nil) }
        news(.phase(phase))
    }

    /// Ends playback with a failure.
    func fail(_ failure: TalkieError) {
        closeFilm()
        state.failure = failure
        enter(.failed)
    }

    /// Handles a failure of the main audio track. A user-provided output that fails before playback has begun ends
    /// playback. Otherwise the video continues without audio.
    func soundFailed(_ failure: TalkieError) {
        guard !soundIsLost else { return }
        soundIsLost = true
        let isWanted = (options.audioDevice != nil || options.isOutputNamed) && failure.code != .failed
        if current?.videoTrack == nil || (isWanted && !hasBegun) {
            fail(failure)
        } else {
            news(.message(PrintableText.sentence(failure.message) + " The picture continues without sound."))
        }
    }
}
