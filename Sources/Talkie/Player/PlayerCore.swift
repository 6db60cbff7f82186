internal import MediaCore
internal import SyncRendering

/// The player's state machine. Confined to the player's thread: made there, used there, ended there.
final class PlayerCore {
    /// A start or a jump under way: both tracks collect what they need, then time runs from one instant.
    struct Jump {
        var target: MediaTime
        var serial: Int
        var isExact: Bool
        /// False when only the sound starts anew, as after a change of speed.
        var movesPicture: Bool
        /// After a jump to a sync picture the sound is sent to that picture's time.
        var soundFollowsPicture: Bool
        var began: HostInstant
        /// Outputs are given until then to notice by themselves that they must begin anew.
        var notBefore: HostInstant?
    }

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

    /// The film that is perceived, and those behind it.
    let chain: FilmChain
    let scout: FilmScout
    var audio: TrackPipeline?
    var video: TrackPipeline?
    var jump: Jump?
    var serial = 0
    var wantsPlay = true
    /// What the owner wants behind the film that plays.
    var upcoming: [QueueItem] = []
    var ahead = FilmsAhead()
    var state = PlayerState() { didSet { board.post(state) } }
    private var isRunning = true
    /// The sound was given up for this film; the picture goes on.
    var soundIsLost = false
    /// The film has played since it was opened.
    var hasBegun = false
    /// What `open` was told last.
    var opened = (address: "", cancellation: OpenCancellation())
    var lost: LostFilm?
    /// Attempts to open a lost film, until it plays.
    var reopening: Retry?
    var startWatch = StartWatch()
    /// Pictures to go on (or back, below zero) while the film is paused.
    var stepsLeft = 0
    var isVolumeChosen: Bool
    var suspensions: SuspensionWatch
    /// When the line was last compared with what an output holds.
    var lastSteering = HostInstant(nanoseconds: 0)

    init(
        parts: Player.Parts, options: PlayerOptions, synchronizer: RenderSynchronizer, layer: DisplayLayer,
        events: EventLog, mailbox: PlayerMailbox, board: PlayerBoard,
        startPipeline: @escaping (TrackPipeline, String) -> Void = { $0.start(name: $1) },
        startRenderer: (AudioRenderer, @escaping @Sendable (AudioRenderer.News) -> Void) -> Void = {
            $0.start(news: $1)
        },
        runErrand: @escaping FilmScout.Run = { WorkerThread.start(name: $0, $1) },
        news: @escaping @Sendable (PlayerNews) -> Void
    ) {
        self.startPipeline = startPipeline
        self.parts = parts
        suspensions = SuspensionWatch(parts.clock)
        self.options = options
        self.synchronizer = synchronizer
        self.layer = layer
        self.events = events
        self.mailbox = mailbox
        self.board = board
        self.news = news
        chain = FilmChain { [mailbox] in mailbox.signal.raise() }
        scout = FilmScout(parts, run: runErrand)
        progress = ProgressGate(signal: mailbox.signal)
        if options.playsAudio, let output = parts.audioOutput {
            let renderer = AudioRenderer(synchronizer: synchronizer, codecs: parts.codecs, events: events)
            self.renderer = renderer
            renderer.delay = options.audioDelay + options.calibration
            renderer.setSpeed(options.speed)
            renderer.setOutput(output)
            startRenderer(renderer) { [mailbox, progress] in Self.hear($0, mailbox: mailbox, progress: progress) }
        } else {
            renderer = nil
        }
        layer.onReadyForMoreMediaData { [mailbox] in mailbox.wakeVideo() }
        wantsPlay = !options.startsPaused
        isVolumeChosen = options.volume != nil
        state.speed = options.speed
        state.volume = options.volume ?? 100
        state.isMuted = options.isMuted
        state.audioDelay = options.audioDelay
        if isVolumeChosen || options.isMuted { applyGain() }
    }

    // MARK: The thread

    func run() {
        while turn() {
            mailbox.signal.wait(until: .now.advanced(by: restingTime))
            mailbox.signal.clear()
        }
    }

    /// Carries out what was asked and looks at what moved; false when the player is shut down.
    func turn() -> Bool {
        if let asleep = suspensions.check(parts.clock) { resumed(after: asleep) }
        for command in mailbox.takeAll() { command(self) }
        if isRunning { advance() }
        if state.phase == .playing { board.tick() }
        return isRunning
    }

    /// How long nothing will happen unless somebody wakes us.
    var restingTime: Duration {
        // Whether the screen has taken the picture of one step is seen before the next.
        if stepsLeft != 0 { return .milliseconds(10) }
        if jump != nil { return .milliseconds(50) }
        if let lost { return max(.milliseconds(1), lost.again.notBefore - parts.clock.now) }
        guard state.phase == .playing else { return .seconds(3600) }
        if startWatch.isWatching { return .milliseconds(20) }
        let now = synchronizer.currentTime
        // Read to its end, a film says where that is before it has been played out.
        let end = filmEnd ?? chain.current?.joint.flatMap { $0 > now ? $0 : nil }
        let remaining = (end.map { $0 - now } ?? MediaTime(value: 1, timescale: 4)).duration
        // Whoever waits at the end of a film is looked after in time.
        let longest: Duration =
            chain.isWaiting(.sound) || chain.isWaiting(.picture) ? .milliseconds(50) : .milliseconds(250)
        return min(longest, max(.milliseconds(2), remaining))
    }

    private static func hear(_ news: AudioRenderer.News, mailbox: PlayerMailbox, progress: ProgressGate) {
        switch news {
        case .progress: progress.report()
        case .readyForMoreMediaData: mailbox.wakeAudio()
        case .cannotDecode(let error): mailbox.post { $0.soundFailed(error.message, status: 1) }
        case .outputFailed(let error):
            mailbox.post { $0.soundFailed(error.message, status: error.code == .notPermitted ? 77 : 69) }
        }
    }

    func shutDown() {
        for link in chain.links { link.cancellation?.cancel() }
        closeFilm()
        forgetAhead()
        scout.stop()
        renderer?.invalidate()
        isRunning = false
    }

    // MARK: Moving on

    /// Looks at what has changed and does what follows from it.
    private func advance() {
        reopenLost()
        continueCut()
        dropLost()
        passJoints()
        layOutFilms()
        if jump != nil { continueJump() }
        continueSteps()
        keepStart()
        if state.phase == .playing, hasReachedEnd { reachEnd() }
        if state.phase == .playing { steer() }
    }

    var speed: Double { state.speed }

    /// Where the film ends on the line, as far as known now: where the next begins, or the later of both tracks' ends, or the
    /// end asked for.
    private var filmEnd: MediaTime? {
        if let begin = chain.second?.begin { return begin }
        let asked = options.end?.moment(in: state.duration).map { $0 + state.lineOffset }
        guard let end = ownEnd else { return asked }
        return min(end, asked ?? end)
    }

    /// Where both tracks have ended.
    private var ownEnd: MediaTime? {
        guard let film = chain.current else { return nil }
        var end: MediaTime?
        if let renderer, audio != nil, film.audioTrack != nil, !soundIsLost {
            guard renderer.status.isDrained else { return nil }
            end = renderer.status.acceptedUntil
        }
        if video != nil, film.videoTrack != nil {
            guard layer.isDrained else { return nil }
            if let shown = layer.shownEnd { end = max(end ?? shown, shown) }
        }
        return end ?? synchronizer.currentTime
    }

    private var hasReachedEnd: Bool { filmEnd.map { synchronizer.currentTime >= $0 } ?? false }

    /// The film is over, and nothing has taken its place without a seam.
    func reachEnd() {
        if let next = chain.second {
            // It is there, but not in time: it begins when it can.
            enter(next)
            return begin(at: next.start, exact: true)
        }
        guard let film = chain.current, let left = film.loopsLeft.next else {
            synchronizer.setRate(0)
            return enter(.ended)
        }
        chain.setLoopsLeft(left, of: film.serial)
        seek(to: resolvedStart, exact: true)
    }

    /// A place that nobody knows without the film's duration is its start.
    var resolvedStart: MediaTime { options.start?.moment(in: state.duration) ?? .zero }

    func enter(_ phase: PlayerState.Phase) {
        guard state.phase != phase else { return }
        state.phase = phase
        if phase != .buffering { state.reason = nil }
        news(.phase(phase))
    }

    func fail(_ message: String, status: Int32) {
        closeFilm()
        state.failure = PlayerFailure(exitStatus: status, message: message)
        enter(.failed)
    }

    /// Sound cannot be had: a named output that fails before the film has begun is the user's will, anything else is a
    /// pity that the picture outlives.
    func soundFailed(_ message: String, status: Int32) {
        guard !soundIsLost else { return }
        soundIsLost = true
        let isWanted = (options.audioDevice != nil || options.isOutputNamed) && status != 1
        if chain.current?.videoTrack == nil || (isWanted && !hasBegun) {
            fail(message, status: status)
        } else {
            news(.message("\(message) The picture plays on without sound."))
        }
    }

    // MARK: Jumps

    /// Goes to a moment of the film that plays.
    ///
    /// - Parameter movesPicture: when the picture starts anew, too, film time is the line's from here on, and what was
    ///   laid out behind the film is laid out anew; the sound alone keeps the line.
    func begin(at moment: MediaTime, exact: Bool, movesPicture: Bool = true) {
        begin(at: moment, aim: exact ? .exact : .anySyncBefore, movesPicture: movesPicture)
    }

    func begin(at moment: MediaTime, aim: SeekAim, movesPicture: Bool = true) {
        serial += 1
        if movesPicture { rebase() }
        choosePassThrough()
        let target = moment + state.lineOffset
        synchronizer.setRate(0, time: target)
        let followsPicture = aim != .exact && movesPicture && video != nil && chain.current?.videoTrack != nil
        jump = Jump(
            target: target, serial: serial, isExact: aim == .exact, movesPicture: movesPicture,
            soundFollowsPicture: followsPicture, began: parts.clock.now)
        progress.arm(true)
        if movesPicture { video?.seek(to: target, aim: aim, serial: serial) }
        if !followsPicture { audio?.seek(to: target, aim: .exact, serial: serial) }
        state.position = moment
        state.reason = nil
        enter(.buffering)
    }

    /// The moment of the film that is perceived now, or where a jump under way leads.
    var filmMoment: MediaTime { max(.zero, (jump?.target ?? synchronizer.currentTime) - state.lineOffset) }

    private func continueJump() {
        guard var jump else { return }
        if hasNothingCome(for: jump) { return giveUpFilm() }
        let pictureReady = isPictureReady(for: jump)
        if jump.soundFollowsPicture {
            guard let place = picturePlace(for: jump, isReady: pictureReady) else { return }
            // The picture found its place; the sound meets it there.
            jump.target = place
            jump.soundFollowsPicture = false
            self.jump = jump
            state.position = place - state.lineOffset
            synchronizer.setRate(0, time: jump.target)
            audio?.seek(to: jump.target, aim: .exact, serial: jump.serial)
        }
        let soundReady = isSoundReady(for: jump)
        // Sound that does not come within eight seconds is joined later rather than waited for.
        let patience = parts.clock.now - jump.began < .seconds(8)
        let mayGoWithoutSound = options.startPolicy == .picture || !patience
        let isTime = jump.notBefore.map { parts.clock.now >= $0 } ?? true
        guard pictureReady, isTime, soundReady || mayGoWithoutSound else {
            let reason = waitingReason(picture: pictureReady, sound: soundReady)
            if state.reason != reason { state.reason = reason }
            return
        }
        self.jump = nil
        progress.arm(false)
        if !jump.isExact || !wantsPlay, let shown = layer.shownTime, shown > jump.target { jump.target = shown }
        news(.sought(jump.target - state.lineOffset))
        guard wantsPlay else { return enter(.paused) }
        startTime(at: jump.target)
        if soundReady { startWatch.begin(synchronizer.timebase.snapshot) }
    }

    /// “waiting for Kitchen's clock, about 1.2 s”
    private func waitingReason(picture: Bool, sound: Bool) -> String {
        if !picture { return "waiting for the picture" }
        return parts.audioOutput?.wait?.description ?? "waiting for sound"
    }

    /// Where on the line the picture goes on; nil while that is not known.
    private func picturePlace(for jump: Jump, isReady: Bool) -> MediaTime? {
        guard let status = video?.status, status.seekSerial == jump.serial else { return nil }
        if let landed = status.landed { return landed }
        return isReady ? layer.shownTime ?? layer.nextTime ?? jump.target : nil
    }

    private func isPictureReady(for jump: Jump) -> Bool {
        guard let video, jump.movesPicture, chain.current?.videoTrack != nil else { return true }
        let status = video.status
        guard status.seekSerial == jump.serial else { return false }
        // One is enough: by the time the film starts, an output's lead later, the next are there.
        return status.hasEnded || chain.isWaiting(.picture) || layer.count >= 1 || layer.shownTime != nil
    }

    private func isSoundReady(for jump: Jump) -> Bool {
        guard let renderer, let audio, !soundIsLost, chain.current?.audioTrack != nil else { return true }
        let pipeline = audio.status
        guard pipeline.seekSerial == jump.serial else { return false }
        let status = renderer.status
        if status.hasFailed { return true }
        guard status.isReadyToStart else { return false }
        if status.isDrained { return true }
        guard let until = status.acceptedUntil else { return false }
        return (until - jump.target).duration >= renderer.preroll
    }
}
