internal import AirPlay
internal import Glibc
internal import LocalOutput
internal import MediaCore
internal import Playback
internal import Profiles
internal import Routing
internal import Storage
internal import SyncRendering
internal import Telemetry

/// Runs a session: turns keys into commands, plays the list, tells people what happens. One thread, "session".
///
/// `@unchecked Sendable`: made by one thread, then used by the session's thread alone; `join` hands the result back.
final class SessionDirector: @unchecked Sendable {
    /// What the director directs.
    struct Stage: Sendable {
        var player: Player
        /// Nil without a picture.
        var screen: ScreenControl?
        var terminal: Terminal
        var keys: TerminalKeys?
        var distributor: EventDistributor
        var route: (any AudioOutput)?
        /// Makes the outputs of places that are chosen later, and the places that play at the start.
        var registry = OutputRegistry([])
        var routes: [OutputPlace] = []
        /// What plays when everything else is lost.
        var home = SoundCardProvider().thisComputer
        /// Where other evenings are kept.
        var stateFolder = StateFolder.standard()
        /// Where everything is written that is said.
        var log: LogFile?
    }

    let stage: Stage
    let arguments: PlayArguments
    let mailbox: SessionMailbox
    var queue: PlayQueue
    var toCome = FilmsToCome()
    var settings: SessionSettings
    /// One film was named, and nothing else: what follows it is offered.
    let offersNext: Bool
    /// The next episode, and whether people were told of it.
    var offered: (item: PlaylistLoader.Item, isTold: Bool)?
    /// Where films go on that were stopped on other evenings.
    var places: [FilmKey: MediaTime] = [:]
    /// Commands to open a film whose beginning the player has not reported yet; what it reports until then is about
    /// the film before.
    private var opensUnderWay = 0
    /// The exit status, once the session is over.
    private var result: Int32?
    /// The status of the first thing that failed; the exit status when the list is over.
    var firstFailure: Int32?
    /// Since a film played.
    var failuresInRow = 0
    var isScreenAttached = false
    /// There is no window, and there will be none.
    var hasLostScreen = false
    var hasShownPicture = false
    /// When the list is tried again of which nothing could be played.
    var nextAttempt: HostInstant?
    /// It was told that the list waits: what fails until a film plays is no news.
    var isWaitingForFilms = false
    private var halt: (deadline: HostInstant, resumes: Bool)?
    private var showsNextJump = false
    private var thread: WorkerThread?
    var bar = BarVisibility()
    /// The list of tracks, chapters or speeds that is open over the film.
    var choice: ChoiceList?
    /// Statistics or keys, where no list is open.
    var page: InfoPage?
    /// When the page of statistics is updated next.
    var statisticsDue = HostInstant.now
    /// Nil without sound.
    let desk: RouteController?
    /// Outputs that the record knows by name.
    var notedRoutes: Set<Int> = []
    /// What the record knows of calibrations, by the output's number.
    var notedCorrections: [Int: Duration] = [:]
    /// What stays over the picture: which outputs are silent; and the last one shown, with why the film waits in its place.
    var outputMark: String?
    private var shownMark: String?
    /// Outputs that fell silent by themselves.
    var lostOutputs: [OutputID] = []
    /// Other evenings were asked, and the likely place was offered.
    var hasRecalled = false
    /// The film with sound that began last: where it lies, and how long it is.
    var lastHeard: (folder: UInt64, minutes: Int?)?
    var hasOffered = false

    /// How often the status line is written anew: a person cannot read faster.
    private static let statusInterval = Duration.milliseconds(200)
    /// A list of thousands that are all gone is told in a few sentences.
    static let mostFailuresTold = 10
    /// How long a halt waits for the sound to stop.
    private static let haltPatience = Duration.milliseconds(500)

    /// - Parameter items: at least one.
    init(stage: Stage, arguments: PlayArguments, items: [PlaylistLoader.Item], mailbox: SessionMailbox) {
        self.stage = stage
        self.arguments = arguments
        self.mailbox = mailbox
        queue = PlayQueue(items, loop: arguments.loopPlaylist)
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

    /// Tells what was left out of the list; before `start`.
    func tell(leftOut failures: [TalkieError], warnings: [String]) {
        for failure in failures { tell(failure) }
        for warning in warnings { say(.warning, warning) }
    }

    /// Opens the first film and takes charge.
    func start() throws(ExhaustionError) { thread = try WorkerThread.start(name: "session") { [self] in run() } }

    /// Waits for the end and returns the exit status. What failed has been told.
    func join() -> Int32 {
        thread?.join()
        return result ?? ExitStatus.failed
    }

    /// What came too late for the session: a record that broke off with its last line.
    func tellRest() {
        tellOfMoreFailures()
        for case .remark(let level, let text) in mailbox.take(until: .now) { say(level, text) }
    }

    private func run() {
        if settings.audioDelay != .zero { stage.distributor.note(.audioDelay(settings.audioDelay)) }
        recalibrate()
        recallPlaces()
        openCurrent()
        while result == nil {
            for event in mailbox.take(until: nextDeadline) {
                handle(event)
                if result != nil { break }
            }
            haltIfReady()
            openIfDue()
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
        if let nextAttempt { return nextAttempt }
        if isListOpen || page != nil || bar.isShown(at: .now) {
            return .now.advanced(by: Self.statusInterval)
        }
        let phase = stage.player.state.phase
        // How much has been collected is shown on the picture, too.
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
        case .remark(let level, let text): say(level, text)
        case .done(let text):
            show(text)
            say(.info, text)
        }
    }

    // MARK: Films

    func openCurrent() {
        opensUnderWay += 1
        nextAttempt = nil
        toCome.removeAll()
        stage.distributor.note(.film(queue.current.title ?? PrintableText.withoutCredentials(queue.current.address)))
        stage.player.open(queue.current.address, at: place(of: queue.current))
    }

    /// Another film because a person wants it.
    func step(by distance: Int) {
        guard queue.step(by: distance) || (distance == 1 && takeOffer() && queue.step(by: distance)) else {
            return show(distance > 0 ? "This is the last film" : "This is the first film")
        }
        isWaitingForFilms = false
        openCurrent()
    }

    private func take(_ news: PlayerNews) {
        switch news {
        case .phase(.opening):
            opensUnderWay = max(0, opensUnderWay - 1)
            if opensUnderWay == 0 { stage.distributor.note(.phase(PlayerState.Phase.opening.rawValue)) }
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
        case .failed(let item, let failure):
            guard opensUnderWay == 0, !toCome.hasForgotten(item) else { return }
            // One that never was to come is the film that was opened.
            let isToCome = toCome.failed(item, behind: queue)
            tell(failure)
            if isToCome { announceFilms() }
        case .seeking:
            guard showsNextJump else { return }
            bar.wasUsed(at: .now)
            show(StatusText.place(stage.player.state))
        case .incomplete(_, let failure): if opensUnderWay == 0 { tell(failure.error) }
        case .outputProblem(let problem):
            // That one has fallen silent comes with its event, and with what is done about it.
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
        case .lost(let failure): if opensUnderWay == 0 { tell(failure) }
        case .sought:
            guard showsNextJump else { return }
            showsNextJump = false
            show(StatusText.position(stage.player.state))
        }
    }

    private func take(_ phase: PlayerState.Phase) {
        switch phase {
        case .buffering: if !queue.hasBegun { prepareFilm() }
        case .playing:
            noteFilmPlays()
            noteScreen()
        case .ended:
            forgetPlace()
            goOn()
        case .failed:
            let state = stage.player.state
            // The player was about to begin a film that is not to come any more.
            if let item = state.current, toCome.hasForgotten(item) { return goOn() }
            fail(
                state.failure
                    ?? TalkieError(.failed, "the film cannot be played"))
        case .idle, .opening, .paused: break
        }
    }

    private func noteScreen() {
        guard let status = stage.screen?.status, status.isVisible else { return }
        if !hasShownPicture { stage.distributor.note(.screen(status.summary)) }
        hasShownPicture = true
        calibrate(screen: status.display, mode: LatencyProfile.Key.mode(status))
    }

    /// The current film cannot be played: that is told, and the list goes on.
    private func fail(_ failure: TalkieError) {
        tell(failure)
        goOn()
    }

    private func tell(_ failure: TalkieError) {
        if firstFailure == nil { firstFailure = failure.exitStatus }
        guard !isWaitingForFilms else { return }
        failuresInRow += 1
        if failuresInRow <= Self.mostFailuresTold { say(.error, failure.message) }
    }

    // MARK: The window

    private func take(_ input: ScreenInput) {
        switch input {
        case .key(let key, let isRepeat):
            if pressInPanel(key) { return }
            press(key, isRepeat: isRepeat)
        case .panel(let row, let part, let turned): point(at: row, part, turned: turned)
        case .besidePanel: closePanel()
        case .bar(let part, let isDragged): point(at: part, isDragged: isDragged)
        case .wheel(let part, let turned): turnWheel(over: part, turned)
        case .pointer(let part): bar.pointerMoved(at: .now, over: part)
        case .pointerLeft: bar.pointerLeft(at: .now)
        case .dropped(let words, let appends): take(dropped: words, appends: appends)
        case .close: press("CLOSE_WIN")
        case .notice(let text): say(.warning, text)
        case .lost(let error): lose(error)
        case .visible, .resized, .fullScreen: noteScreen()
        // Told to those who follow displays.
        case .displays, .away, .back, .remade: break
        }
    }

    private func lose(_ error: OutputError) {
        hasLostScreen = true
        let hasSound = stage.player.state.hasAudio && stage.player.outputs?.isUnopened != true
        // A screen that was asked for is the user's will; and without sound nothing would be left.
        if (arguments.screen != nil && !hasShownPicture) || !hasSound {
            let failure = TalkieError(
                error.code == .notPermitted ? .notPermitted : .unavailable,
                error.message + (hasSound ? ", or play with --no-video to hear the sound alone" : ""))
            tell(failure)
            end(failure.exitStatus)
        } else {
            // A recording without its cover is complete.
            guard stage.player.state.hasVideo else { return say(.info, error.message) }
            say(.warning, Sentences.joined(error.message, "The sound plays without a picture."))
            tellTitle()
        }
    }

    // MARK: Halting

    private func haltIfReady() {
        guard let halt, stage.player.state.phase == .paused || halt.deadline <= .now else { return }
        self.halt = nil
        stage.keys?.suspend()
        stage.terminal.leaveStatus()
        // Sent to this thread, so that it does not run on past this line before the whole process has stopped.
        pthread_kill(pthread_self(), SIGSTOP)
        // Somebody let us go on.
        stage.keys?.resume()
        if halt.resumes { stage.player.play() }
    }

    // MARK: Telling

    func say(_ level: LogLevel, _ text: String) {
        stage.log?.write(level, text)
        let limit = arguments.isReallyQuiet ? LogLevel.error : arguments.logLevel
        if level <= limit { stage.terminal.say("talkie: " + PrintableText.sentence(text)) }
    }

    /// On the picture.
    func show(_ text: String, for duration: Duration = .milliseconds(1500)) {
        stage.log?.write(
            .debug, "over the film: " + text.split(separator: "\n").joined(separator: " / "))
        stage.screen?.show(ScreenMessage(text, for: duration))
    }

    private func tell(ofClockOf output: OutputID, _ state: SpeakerClockState) {
        guard let (name, _) = stage.route?.part(output) else { return }
        switch state {
        case .stalled: tell("'\(name)' has lost the clock; its sound goes on as well as it can.")
        case .ready: tell("'\(name)' has the clock again.")
        case .doubted:
            tell(
                "Times come in the name of '\(name)' that do not fit its clock, and are left out; if they go on, look"
                    + " which device of this network sends them (UDP ports 319 and 320).")
        case .cold, .probing: break
        }
    }

    func tell(_ text: String) {
        show(text)
        say(.warning, text)
    }

    /// Shows over the picture why the film waits for its source, and otherwise which outputs are silent.
    func refreshMark() {
        let state = stage.player.state
        let mark = state.bufferingProgress == nil ? outputMark : state.reason ?? outputMark
        guard mark != shownMark else { return }
        shownMark = mark
        stage.screen?.show(mark: mark)
    }

    /// The position is shown where the jump that was asked for leads.
    func showJump() { showsNextJump = true }

    /// The player's state with what is measured where sound and pictures leave the program.
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
    /// For the record: how pictures are paced and how they reach the glass.
    fileprivate var summary: String {
        let pace =
            switch refresh {
            case .unpaced: "unpaced"
            case .fixed(let period, _): "fixed \(Decimals.text(1 / max(1e-9, period.inSeconds), 3)) Hz"
            }
        return presentation.isEmpty ? pace : "\(pace), \(presentation)"
    }
}
