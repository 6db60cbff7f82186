internal import AirPlay
internal import CardOutput
internal import Glibc
internal import MediaCore
internal import Playback
internal import Profiles
internal import Routing
internal import ScreenOutput
internal import Storage
internal import SyncRendering
internal import Telemetry

/// Runs a session on the thread `session`: executes keys, plays the playlist, and informs the user.
///
/// `@unchecked Sendable`: created by the main thread, then used only by the session thread until `join`.
final class SessionDirector: @unchecked Sendable {
    /// The objects a session controls.
    struct Stage: Sendable {
        var player: Player
        /// Nil without video.
        var screen: ScreenControl?
        var terminal: Terminal
        var keys: TerminalKeys?
        var distributor: EventDistributor
        var route: (any AudioOutput)?
        /// Creates the outputs of places, also of later choices. `routes` are the places at the start.
        var registry = OutputRegistry([])
        var routes: [OutputPlace] = []
        /// The place to use when everything else is lost.
        var home = SoundCardProvider().thisComputer
        /// The folder of stored positions and remembered outputs.
        var stateFolder = StateFolder.standard()
        /// The log file; nil: none.
        var log: LogFile?
    }

    let stage: Stage
    let arguments: PlayArguments
    let mailbox: SessionMailbox
    private let films: [PlaylistLoader.Item]
    /// The item that plays or is being opened.
    var current: QueueItem
    /// Whether its title was shown, and whether it has begun.
    var isTold = false
    var hasBegun = false
    /// The item that the flight recorder has, until it begins.
    var noted: QueueItem.ID?
    /// Whether the player waits for a lost item that repeats.
    var isReturning = false
    var settings: SessionSettings
    /// Whether the next episode is offered: only for a single film without repetition.
    let offersNext: Bool
    /// The next episode, and whether it was offered.
    var offered: (item: PlaylistLoader.Item, isTold: Bool)?
    /// The stored positions for resuming.
    var places: [FilmKey: MediaTime] = [:]
    /// The number of `open` commands whose phase `opening` has not been reported; events until then concern the
    /// previous film.
    var opensUnderWay = 0
    /// The exit status, once the session has ended.
    private var result: Int32?
    /// The exit status of the first failure, used at the end of the playlist.
    var firstFailure: Int32?
    /// The number of failures since a film played.
    var failuresInRow = 0
    var isScreenAttached = false
    /// Whether the window could not be opened or was lost.
    var hasLostScreen = false
    var hasShownPicture = false
    private var halt: (deadline: HostInstant, resumes: Bool)?
    private var showsNextJump = false
    /// Used by the main thread only.
    private var thread: WorkerThread?
    var bar = BarVisibility()
    /// The open list of tracks, chapters or speeds.
    var choice: ChoiceList?
    /// The open page; nil while a list is open.
    var page: InfoPage?
    /// When the statistics page is next updated.
    var statisticsDue = HostInstant.now
    /// The outputs; nil without audio.
    let desk: RouteController?
    /// The numbers of recorded outputs.
    var notedRoutes: Set<Int> = []
    /// The recorded corrections by output number.
    var notedCorrections: [Int: Duration] = [:]
    /// The permanent message about silent outputs. `shownMark` is the displayed one, which can be the reason for
    /// buffering.
    var outputMark: String?
    private var shownMark: String?
    /// Outputs that fell silent.
    var lostOutputs: [OutputID] = []
    /// Whether the history was read; `hasOffered`: whether the likely output was offered.
    var hasRecalled = false
    /// The folder hash and duration of the last film with audio.
    var lastHeard: (folder: UInt64, minutes: Int?)?
    var hasOffered = false

    /// The update interval of the status line.
    private static let statusInterval = Duration.milliseconds(200)
    /// The maximum number of failures reported individually.
    static let mostFailuresTold = 10
    /// How long SIGTSTP waits for the audio to stop.
    private static let haltPatience = Duration.milliseconds(500)

    /// Creates a director; `start` runs it.
    ///
    /// - Parameter items: At least one item.
    init(stage: Stage, arguments: PlayArguments, items: [PlaylistLoader.Item], mailbox: SessionMailbox) {
        self.stage = stage
        self.arguments = arguments
        self.mailbox = mailbox
        films = items
        current = QueueItem(items[0])
        offersNext = items.count == 1 && arguments.loopPlaylist == .times(0) && arguments.options.loopFile == .times(0)
        settings = SessionSettings(arguments.options)
        settings.view = arguments.view
        (settings.sectionStart, settings.sectionEnd) = (arguments.sectionStart, arguments.sectionEnd)
        desk = stage.player.outputs.map { group in
            RouteController(
                player: stage.player, group: group, registry: stage.registry, routes: stage.routes, home: stage.home
            ) { news in
                guard case .changed(let change, let ids) = news else { return mailbox.post(.route(news)) }
                mailbox.post(.route(.changed(change.saying(\.phrase), ids)))
            }
        }
    }

    /// Reports items missing from the playlist; called before `start`.
    func tell(leftOut failures: [TalkieError], warnings: [String]) {
        for failure in failures { tell(failure) }
        for warning in warnings { say(.warning, warning) }
    }

    /// Starts the thread and opens the first film.
    func start() throws(ExhaustionError) { thread = try WorkerThread.start(name: "session") { [self] in run() } }

    /// Joins the thread. Returns the exit status; errors have been printed.
    func join() -> Int32 {
        thread?.join()
        return result ?? ExitStatus.failed
    }

    /// Reports what arrived after the end, such as a failed recording. Called by the main thread after `join`.
    func tellRest() {
        tellOfMoreFailures()
        for case .remark(let level, let text) in mailbox.take(until: .now) { say(level, text) }
    }

    private func run() {
        if settings.audioDelay != .zero { stage.distributor.note(.audioDelay(settings.audioDelay)) }
        recalibrate()
        stage.player.setRetry(.eachPass)
        stage.player.setLoop(item: settings.loop, list: arguments.loopPlaylist)
        open(films, startingWith: recallPlaces(of: films))
        while result == nil {
            for event in mailbox.take(until: nextDeadline) {
                handle(event)
                if result != nil { break }
            }
            haltIfReady()
            offerIfDue()
            refreshRoutePicker()
            refreshChoice()
            refreshBar()
            refreshMark()
            showStatus()
        }
        keepHabit()
        desk?.close()
        stage.screen?.stop()
    }

    private var nextDeadline: HostInstant {
        if let halt { return halt.deadline }
        if isListOpen || page != nil || bar.isShown(at: .now) {
            return .now.advanced(by: Self.statusInterval)
        }
        let phase = stage.player.state.phase
        // The buffering progress is displayed.
        if phase == .buffering { return .now.advanced(by: Self.statusInterval) }
        guard stage.terminal.showsStatus, !arguments.isReallyQuiet, phase == .playing else {
            return offerDue ?? .now.advanced(by: .seconds(3600))
        }
        return .now.advanced(by: Self.statusInterval)
    }

    func end(_ status: Int32) { if result == nil { result = status } }

    private func handle(_ event: SessionEvent) {
        switch event {
        case .player(let news): take(news)
        case .screen(let input): take(input)
        case .terminalKey(let key):
            if pressInPanel(key) { return }
            press(key)
        case .route(let news): take(news)
        case .request(.end(let status)):
            if arguments.keepsPlaces { keepPlace() }
            end(status)
        case .request(.reload): break
        case .request(.halt):
            let resumes = stage.player.state.phase != .paused
            stage.player.pause()
            halt = (.now.advanced(by: Self.haltPatience), resumes)
        case .output(let output, let isLost): take(output, isLost: isLost)
        case .outputMoved(let output): takeMove(of: output)
        case .sinkChanged: recalibrate()
        case .clock(let output, let state): tell(ofClockOf: output, state)
        case .listed(let page, let items): take(listed: items, behind: page)
        case .inserted(let count): show(count == 1 ? "One more film on this page" : "\(count) more films on this page")
        case .stepRefused(let distance): refuse(step: distance)
        case .remark(let level, let text): say(level, text)
        case .done(let text):
            show(text)
            say(.info, text)
        }
    }

    // MARK: Films

    private func take(_ news: PlayerNews) {
        switch news {
        case .phase(.opening):
            let isCommanded = opensUnderWay > 0
            opensUnderWay = max(0, opensUnderWay - 1)
            guard opensUnderWay == 0 else { return }
            noteOpening(isCommanded: isCommanded)
            stage.distributor.note(.phase(PlayerState.Phase.opening.rawValue))
        case .phase(let phase):
            guard opensUnderWay == 0 else { return }
            stage.distributor.note(.phase(phase.rawValue))
            stage.log?.write(.debug, phase.rawValue)
            take(phase)
        case .message(let text): tell(text)
        case .began(let item, let moment, let isJoined):
            if opensUnderWay == 0 { film(item, beganAt: moment, isJoined: isJoined) }
        case .looped(let moment):
            guard opensUnderWay == 0 else { return }
            stage.distributor.note(.loop(at: moment, origin: stage.player.state.lineOffset))
        case .failed(_, let failure): if opensUnderWay == 0 { tell(failure) }
        case .seeking:
            guard showsNextJump else { return }
            bar.wasUsed(at: .now)
            show(StatusText.place(stage.player.state))
        case .incomplete(_, let failure): if opensUnderWay == 0 { tell(failure.error) }
        case .outputProblem(let problem):
            // Silent outputs are handled with their own event.
            if problem.kind != .silent { say(.warning, problem.error.message) }
            showSilence()
        case .outputRecovered(let problem):
            if problem.kind == .unresponsive,
                !stage.player.state.outputProblems.contains(where: { $0.kind == .silent && $0.output == problem.output }
                )
            {
                say(.info, "\(problem.name) answers again.")
            }
            showSilence()
        case .lost(let failure):
            guard opensUnderWay == 0 else { return }
            isReturning = settings.loop == .forever
            if isReturning { tell(failure) } else { tell(failure.message) }
        case .sought:
            guard showsNextJump else { return }
            showsNextJump = false
            show(StatusText.position(stage.player.state))
        }
    }

    private func take(_ phase: PlayerState.Phase) {
        switch phase {
        case .buffering: if !isTold { prepareFilm() }
        case .playing:
            tellOfMoreFailures()
            noteScreen()
        case .ended:
            if hasBegun { forgetPlace() }
            endList()
        case .failed:
            hasBegun = false
            tell(stage.player.state.failure ?? TalkieError(.failed, "the film cannot be played"))
            stage.player.skipFailed()
        case .idle, .opening, .paused: break
        }
    }

    private func noteScreen() {
        guard let status = stage.screen?.status, status.isVisible else { return }
        if !hasShownPicture { stage.distributor.note(.screen(status.summary)) }
        hasShownPicture = true
        calibrate(screen: status.display, mode: LatencyProfile.Key.mode(status))
    }

    private func tell(_ failure: TalkieError) {
        if firstFailure == nil { firstFailure = failure.exitStatus }
        failuresInRow += 1
        if failuresInRow <= Self.mostFailuresTold { say(.error, failure.message) }
    }

    // MARK: Window

    private func take(_ input: ScreenInput) {
        switch input {
        case .key(let key, let isRepeat):
            if pressInPanel(key) { return }
            press(key, isRepeat: isRepeat)
        case .pointer(let input): take(input.event)
        case .dropped(let words, let appends): take(dropped: words, appends: appends)
        case .close: press("CLOSE_WIN")
        case .notice(let text): say(.warning, text)
        case .lost(let error): lose(error)
        case .visible, .resized, .fullScreen: noteScreen()
        // Only for clients that follow displays.
        case .displays, .away, .back, .remade: break
        }
    }

    private func take(_ input: PointerInput.Event) {
        switch input {
        case .panel(let row, let part, let turned): point(at: row, part, turned: turned)
        case .besidePanel: closePanel()
        case .bar(let part, let isDragged): point(at: part, isDragged: isDragged)
        case .wheel(let part, let turned): turnWheel(over: part, turned)
        case .moved(let part): bar.pointerMoved(at: .now, over: part)
        case .left: bar.pointerLeft(at: .now)
        }
    }

    private func lose(_ error: OutputError) {
        hasLostScreen = true
        let hasSound = stage.player.state.hasAudio && stage.player.outputs?.isUnopened != true
        // A requested screen is mandatory; and without audio nothing would be left to play.
        if (arguments.screen != nil && !hasShownPicture) || !hasSound {
            let failure = TalkieError(
                error.code == .notPermitted ? .notPermitted : .unavailable,
                error.message + (hasSound ? ", or use --no-video to play the sound only" : ""))
            tell(failure)
            end(failure.exitStatus)
        } else {
            // A recording without its cover is complete.
            guard stage.player.state.hasVideo else { return say(.info, error.message) }
            say(.warning, Sentences.joined(error.message, "The sound plays without a picture."))
            tellTitle()
        }
    }

    // MARK: Suspension

    private func haltIfReady() {
        guard let halt, stage.player.state.phase == .paused || halt.deadline <= .now else { return }
        self.halt = nil
        stage.keys?.suspend()
        stage.terminal.leaveStatus()
        // Sent to this thread, so that it does not continue beyond this line before the process has stopped.
        pthread_kill(pthread_self(), SIGSTOP)
        // Resumed by SIGCONT.
        stage.keys?.resume()
        if halt.resumes { stage.player.play() }
    }

    // MARK: Messages

    func say(_ level: LogLevel, _ text: String) {
        stage.log?.write(level, text)
        let limit = arguments.isReallyQuiet ? LogLevel.error : arguments.logLevel
        if level <= limit { stage.terminal.say("talkie: " + PrintableText.sentence(text)) }
    }

    /// Displays text over the video.
    func show(_ text: String, for duration: Duration = .milliseconds(1500)) {
        stage.log?.write(
            .debug, "over the film: " + text.split(separator: "\n").joined(separator: " / "))
        stage.screen?.show(ScreenMessage(text, for: duration))
    }

    private func tell(ofClockOf output: OutputID, _ state: SpeakerClockState) {
        guard let (name, _) = stage.route?.part(output) else { return }
        switch state {
        case .stalled: tell("'\(name)' has lost the clock; its sound may get out of sync.")
        case .ready: tell("'\(name)' is synchronized to the clock again.")
        case .doubted:
            tell(
                "PTP times sent in the name of '\(name)' do not match its clock and are ignored; if this continues, find the"
                    + " device on this network that sends them (UDP ports 319 and 320).")
        case .cold, .probing: break
        }
    }

    func tell(_ text: String) {
        show(text)
        say(.warning, text)
    }

    /// Displays the reason for buffering, otherwise the silent outputs.
    func refreshMark() {
        let state = stage.player.state
        let mark = state.bufferingProgress == nil ? outputMark : state.reason ?? outputMark
        guard mark != shownMark else { return }
        shownMark = mark
        stage.screen?.show(mark: mark)
    }

    /// Displays the position at the target of the requested seek.
    func showJump() { showsNextJump = true }

    /// The player's state with the values measured at the outputs.
    var measuredState: PlayerState {
        var state = stage.player.state
        let statistics = stage.distributor.statistics
        state.offset = statistics.offset
        state.droppedFrames = statistics.droppedFrames
        state.underruns = statistics.underruns
        return state
    }

    private func showStatus() {
        guard stage.terminal.showsStatus, !arguments.isReallyQuiet else { return }
        let state = measuredState
        let line = desk?.picker.map { $0.line } ?? StatusText.line(state, columns: stage.terminal.columns)
        stage.terminal.show(status: line)
    }
}

extension ScreenControl.Status {
    /// The pacing and presentation, for the record.
    fileprivate var summary: String {
        let pace =
            switch refresh {
            case .unpaced: "unpaced"
            case .fixed(let period, _): "fixed \(Decimals.text(1 / max(1e-9, period.inSeconds), 3)) Hz"
            }
        return presentation.isEmpty ? pace : "\(pace), \(presentation)"
    }
}
