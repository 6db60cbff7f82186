internal import MediaCore
internal import Profiles
internal import SyncRendering

/// The player's state machine: plays a list, of which one film is the simplest case. Confined to the player's thread: made there,
/// used there, ended there.
///
/// `shared` lays the list out; the pipelines walk along it (`AudioStage`, `VideoStage`); the prefetcher goes ahead of them. What people
/// see changes when the playhead passes a joint.
package final class PlaybackEngine {
    let parts: Player.Parts
    var options: PlayerOptions
    let synchronizer: RenderSynchronizer
    let layer: DisplayLayer
    let events: EventLog
    let mailbox: PlayerMailbox
    let news: @Sendable (PlayerNews) -> Void
    /// Gives a pipeline its thread; tests turn it by hand instead.
    let startPipeline: (TrackPipeline, String) -> Void
    private let board: PlayerBoard
    let progress: ProgressGate
    let renderer: AudioRenderer?
    /// Further sound tracks that play beside the first.
    var addedSounds: [AddedSound] = []
    /// Nil where no pictures are shown, or nobody draws.
    let subtitles: ShownSubtitles?
    /// Those at the top.
    let secondarySubtitles: ShownSubtitles?
    /// Those below and those at the top, as far as there are any.
    let allSubtitles: [ShownSubtitles]

    let shared: SharedPlaybackList
    let prefetcher: Prefetcher
    var audio: TrackPipeline?
    var video: TrackPipeline?
    var jump: Jump?
    var serial = 0
    var wantsPlay = true
    /// Where the awaited item begins when it is open; nil is its start.
    var arrivalPosition: MediaTime?
    /// When it is to be perceived there; nil is as soon as it can be.
    var arrivalInstant: HostInstant?
    var ahead = Ahead()
    var cut: ListCut?
    var cuts = 0
    /// Who is told when list and sound agree again, and what.
    var settling: [@Sendable (QueueEditOutcome) -> Void] = []
    var outcome = QueueEditOutcome.seamless
    /// The entry of which the news have told that it is perceived.
    var announced: Int?
    /// The item in whose middle something else was perceived last.
    var interrupted: QueueItem.ID?
    package var state = PlayerState() { didSet { board.post(state) } }
    private var isRunning = true
    /// The sound was given up for this film; the picture goes on.
    var soundIsLost = false
    /// The system gave no thread for a track of the film that was opened last.
    var exhaustion: MediaError?
    /// The film has played since it was opened.
    var hasBegun = false
    /// What was reported last of an item that cannot be played whole.
    var reported: (item: QueueItem.ID, failure: MediaFailure)?
    /// Attempts to open films that have vanished, until one plays; the next is waited for.
    var returning: Retry?
    var isAway = false
    var absent: PlaybackList.Turn?
    /// Pictures to go on (or back, below zero) while the film is paused.
    var stepsLeft = 0
    /// A part that is played again and again, and the film moment at the last look.
    var repeated: (section: MediaTimeRange, from: MediaTime)?
    var isVolumeChosen: Bool
    var buffering = BufferingPolicy()
    /// Host time until a track may run dry, as of the last iteration.
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
        // Before anything is heard: a change would be a jump of the sound.
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

    /// The list as it is now.
    var list: PlaybackList { shared.list }
    /// The entry that is perceived.
    var current: PlaybackList.Entry? { shared.current }
    var speed: Double { state.speed }
    /// A place that nobody knows without the film's duration is its start.
    var resolvedStart: MediaTime { options.start?.moment(in: state.duration) ?? .zero }
    /// Something is on the line.
    var isUnderWay: Bool { [.playing, .paused, .buffering].contains(state.phase) }

    // MARK: The thread

    func run() {
        while turn() {
            mailbox.signal.wait(until: .now.advanced(by: restingTime))
            mailbox.signal.clear()
        }
    }

    /// Carries out what was asked and looks at what moved; false when the player is shut down.
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

    /// How long nothing will happen unless somebody wakes us.
    private var restingTime: Duration {
        // Whether the screen has taken the picture of one step is seen before the next.
        if stepsLeft != 0 { return .milliseconds(10) }
        if jump != nil { return .milliseconds(50) }
        if isAway, let returning { return max(.milliseconds(1), returning.notBefore - parts.clock.now) }
        if let next = ahead.nextAttempt, list.awaited != nil { return max(.milliseconds(1), next - parts.clock.now) }
        guard state.phase == .playing else { return .seconds(3600) }
        let now = synchronizer.currentTime()
        // Read to its end, a film says where that is before it has been played out.
        let end = filmEnd ?? current?.joint.flatMap { $0 > now ? $0 : nil }
        let next = sectionEnd.map { limit in end.map { min($0, limit) } ?? limit } ?? end
        let remaining = (next.map { $0 - now } ?? MediaTime(value: 1, timescale: 4)).duration
        // Whoever waits at the end of a film is looked after in time.
        let longest: Duration =
            shared.isWaiting(.sound) || shared.isWaiting(.picture) || isUnseen ? .milliseconds(50) : .milliseconds(250)
        return min(min(longest, max(.milliseconds(2), remaining)), lookAfterSupply)
    }

    /// - Parameter fail: what a refusal of this sound leads to, on the player's thread.
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

    func shutDown() {
        isRunning = false
        // Edits among them are answered when this turn ends.
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

    // MARK: Moving on

    /// Looks at what has changed and does what follows from it.
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

    /// Pictures that no screen takes are dropped so long after their time: an application may take them itself.
    private static let unseenDelay = MediaTime(value: 1, timescale: 4)

    /// Without a screen the film goes on all the same, and ends.
    private func passPicturesUnseen() {
        guard isUnseen else { return }
        let time = synchronizer.currentTime() - Self.unseenDelay
        if let next = layer.nextTime, next <= time { _ = layer.take(upTo: time) }
    }

    private var isUnseen: Bool { video != nil && state.phase == .playing && !layer.hasPresenter }

    /// Where the film ends on the line, as far as known now: where the next begins, or the later of both tracks' ends, or the
    /// end asked for.
    private var filmEnd: MediaTime? {
        let entries = list.entries
        if entries.count > 1, let begin = entries[1].begin { return begin }
        let asked = aside == nil ? options.end?.moment(in: state.duration).map { $0 + state.lineOffset } : nil
        let cut = entries.first.flatMap { $0.setEnd == nil ? nil : $0.joint }
        return Self.earlier(Self.earlier(ownEnd, asked), cut)
    }

    /// Without an array, which would be memory from the heap in every turn.
    private static func earlier(_ left: MediaTime?, _ right: MediaTime?) -> MediaTime? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }

    /// Where both tracks have ended, sound that is delayed against the timeline included.
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

    /// The film is over, and nothing has taken its place without a seam: what follows begins as soon as it can.
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
        // Nothing joined in time.
        if turn.aside != nil || entry.turn.aside != nil { return begin(with: turn) }
        if let place = turn.from { return begin(at: place, exact: true) }
        if turn.item == entry.item, turn.itemPass > 0 {
            if entry.film.summary.isSeekable {
                shared.update { list in list.change(entry.serial) { $0.turn = turn } }
                return begin(at: resolvedStart, exact: true)
            }
            news(.message("This film cannot be wound; it is played once."))
            guard let next = list.successor(of: turn, leavesLoop: true) else {
                synchronizer.setRate(0, atHostTime: parts.clock.now)
                return enter(.ended)
            }
            turn = next
        }
        begin(with: turn)
    }

    func enter(_ phase: PlayerState.Phase) {
        guard state.phase != phase else { return }
        tellPhase(phase)
    }

    /// Also where it is the same once more.
    func tellPhase(_ phase: PlayerState.Phase) {
        state.phase = phase
        if phase != .buffering { (state.reason, state.bufferingProgress) = (nil, nil) }
        news(.phase(phase))
    }

    func fail(_ failure: TalkieError) {
        closeFilm()
        state.failure = failure
        enter(.failed)
    }

    /// Sound cannot be had: a named output that fails before the film has begun is the user's will, anything else is a
    /// pity that the picture outlives.
    func soundFailed(_ failure: TalkieError) {
        guard !soundIsLost else { return }
        soundIsLost = true
        let isWanted = (options.audioDevice != nil || options.isOutputNamed) && failure.code != .failed
        if current?.videoTrack == nil || (isWanted && !hasBegun) {
            fail(failure)
        } else {
            news(.message(PrintableText.sentence(failure.message) + " The picture plays on without sound."))
        }
    }
}
