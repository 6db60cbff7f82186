internal import AirPlay
internal import CardOutput
internal import Glibc
internal import MediaCore
internal import Playback
internal import Remote
internal import Routing
internal import ScreenOutput
internal import Storage
internal import SyncRendering
internal import Telemetry

/// Runs a session on the thread `session`: passes events to the parts that own its state, and updates what is shown.
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
        /// Creates the outputs of destinations, also of later choices. `routes` are the destinations at the start.
        var registry = OutputRegistry([])
        var routes: [OutputDestination] = []
        /// The selections of destinations at the start that play another audio track than the main one, by destination.
        var tracks: [String: AudioTrackChoice] = [:]
        /// The destination to use when everything else is lost.
        var home = SoundCardProvider().thisComputer
        /// The folder of stored positions and remembered outputs.
        var stateFolder = StateFolder.standard()
        /// The log file; nil: none.
        var log: LogFile?
        /// The link to the page for a phone; nil: none.
        var pageLink: String?
        /// Inhibits idleness while a film plays; nil without a message bus.
        var inhibitor: SleepInhibitor?
    }

    /// The update interval of the status line.
    private static let statusInterval = Duration.milliseconds(200)
    /// How long SIGTSTP waits for the audio to stop.
    private static let haltTimeout = Duration.milliseconds(500)

    private let stage: Stage
    private let arguments: PlayArguments
    private let mailbox: SessionMailbox
    private let items: [PlaylistLoader.Item]
    /// The commands and properties of the session, for every controller. Any thread.
    let control: PlayerControl
    private let display: SessionDisplay
    private let console: SessionConsole
    private let window: SessionWindow
    let outputs: SessionOutputs
    private let positions: ResumePositions
    private let offer: EpisodeOffer
    private let films: SessionFilms
    let panel: SessionPanel
    let controls: SessionControls
    /// A requested suspension of the process, and whether playback resumes after it.
    private var halt: (deadline: HostInstant, resumes: Bool)?
    /// Used by the main thread only.
    private var thread: WorkerThread?

    /// Creates a director; `start` runs it.
    ///
    /// - Parameter items: At least one item.
    init(stage: Stage, arguments: PlayArguments, items: [PlaylistLoader.Item], mailbox: SessionMailbox) {
        (self.stage, self.arguments, self.items, self.mailbox) = (stage, arguments, items, mailbox)
        let (rooms, episode) = (SessionRooms(), Lock<String?>(nil))
        display = SessionDisplay()
        control = PlayerControl(
            stage.player,
            table: .session(
                screen: stage.screen, distributor: stage.distributor, rooms: rooms, display: display, episode: episode,
                mailbox: mailbox))
        console = SessionConsole(stage, arguments)
        window = SessionWindow(
            stage, console, SessionCalibration(stage, console, areUsed: !arguments.isAudioDelayChosen),
            isRequested: arguments.screen != nil)
        outputs = SessionOutputs(
            stage: stage, arguments: arguments, console: console, rooms: rooms, mailbox: mailbox)
        positions = ResumePositions(stage, arguments, console, control: control, routes: outputs.routes)
        let isOnlyOne =
            items.count == 1 && arguments.loopPlaylist == .times(0) && arguments.options.loopFile == .times(0)
        offer = EpisodeOffer(stage.player, console, isEnabled: isOnlyOne) { [control] name in
            episode.withLock { $0 = name }
            control.propertiesHaveChanged()
        }
        films = SessionFilms(
            stage: stage, first: items[0], console: console, window: window, outputs: outputs, positions: positions,
            offer: offer, mailbox: mailbox)
        panel = SessionPanel(stage, console, outputs.routes)
        controls = SessionControls(
            stage: stage, control: control, arguments: arguments, console: console, films: films, outputs: outputs,
            panel: panel, positions: positions, offer: offer, display: display, mailbox: mailbox)
    }

    /// Reports items missing from the playlist; called before `start`.
    func report(leftOut failures: [TalkieError], warnings: [String]) {
        for failure in failures { console.fail(failure) }
        for warning in warnings { console.say(.warning, warning) }
    }

    /// Starts the thread and opens the first film.
    func start() throws(ExhaustionError) { thread = try WorkerThread.start(name: "session") { [self] in run() } }

    /// Joins the thread. Returns the exit status; errors have been printed.
    func join() -> Int32 {
        thread?.join()
        control.close()
        return console.status ?? ExitStatus.failed
    }

    /// Reports what arrived after the end, such as a failed recording. Called by the main thread after `join`.
    func reportRest() {
        console.reportMoreFailures()
        for event in mailbox.receive(until: .now) {
            switch event {
            case .remark(let level, let text): console.say(level, text)
            case .command(_, let reply): reply(.failure(ControlError(.unavailable, "the session has ended")))
            default: break
            }
        }
    }

    private func run() {
        let options = arguments.options
        if options.audioDelay != .zero { stage.distributor.record(.audioDelay(options.audioDelay)) }
        window.recalibrate()
        stage.player.setRetry(.eachPass)
        stage.player.setLoop(item: options.loopFile, list: arguments.loopPlaylist)
        stage.player.session = PlaybackSession(lostRoutePolicy: arguments.lostRoute ?? .wait)
        // The bar's button of the outputs appears with the first speaker.
        outputs.routes?.startSearch()
        films.open(items, startingWith: positions.recall(of: items))
        while console.status == nil {
            for event in mailbox.receive(until: nextDeadline) {
                handle(event)
                if console.status != nil { break }
            }
            haltIfReady()
            offer.showIfDue()
            if outputs.publishRooms() { control.propertiesHaveChanged() }
            panel.refreshRoutes()
            panel.refresh(for: films.current.address)
            controls.refreshBar()
            console.refreshMark(sign: controls.showsBar ? nil : outputs.pauseSign ?? permanentPosition)
            console.showStatus(outputs.routes?.picker?.terminalText)
        }
        outputs.close()
        stage.screen?.stop()
    }

    /// The position, if it is always displayed.
    private var permanentPosition: String? {
        let state = stage.player.state
        return display.value.osdLevel >= 3 && state.isUnderWay ? StatusText.position(state) : nil
    }

    private var nextDeadline: HostInstant {
        if let halt { return halt.deadline }
        let phase = stage.player.state.phase
        // The buffering progress is displayed.
        if panel.isListOpen || panel.page != nil || controls.showsBar || phase == .buffering
            || ((console.showsStatus || display.value.osdLevel >= 3) && phase == .playing)
        {
            return .now.advanced(by: Self.statusInterval)
        }
        return offer.due ?? .now.advanced(by: .seconds(3600))
    }

    // MARK: Events

    private func handle(_ event: SessionEvent) {
        switch event {
        case .player(.seeking): controls.seekHasBegun()
        case .player(.sought): controls.seekHasEnded()
        case .player(.routeChanged(let change)):
            // The same outputs are heard through another device.
            if change.added.isEmpty, change.removed.isEmpty { window.recalibrate() }
            outputs.handle(change, isUnseen: window.isLost && stage.player.state.hasVideo)
        case .player(.interruption(let interruption)):
            outputs.report(interruption)
        case .player(let event):
            if case .phase = event { stage.inhibitor?.setNeeded(stage.player.state.needsAwake) }
            switch films.handle(event, repeats: stage.player.state.loopItem == .forever) {
            case .none: break
            case .prepared: controls.applySection()
            case .plays: window.recordScreen()
            }
        case .screen(let input): handle(input)
        case .terminalKey(let key): controls.handle(key)
        case .command(let request, let reply): controls.carryOut(request, reply)
        case .rooms(let ids): outputs.routes?.choose(ids)
        case .changed(let name): controls.showChange(of: name)
        case .refused(let problem): controls.showRefusal(problem)
        case .route(let event): handle(event)
        case .request(.end(let status)):
            if arguments.keepsPositions { positions.store(films.current) }
            console.end(status)
        case .request(.reload): break
        case .request(.halt):
            let resumes = stage.player.state.phase != .paused
            stage.player.pause()
            halt = (.now.advanced(by: Self.haltTimeout), resumes)
        case .sinkChanged: window.recalibrate()
        case .clock(let output, let state): console.report(clockOf: output, state)
        case .listed(let page, let items): films.insert(listed: items, behind: page)
        case .inserted(let count):
            console.show(count == 1 ? "One more film on this page" : "\(count) more films on this page")
        case .stepRefused(let distance): films.refuseStep(by: distance)
        case .remark(let level, let text): console.say(level, text)
        case .done(let text):
            console.show(text)
            console.say(.info, text)
        }
    }

    private func handle(_ event: RouteController.Event) {
        let message = outputs.handle(event)
        panel.refreshRoutes()
        guard let message else { return }
        outputs.record()
        outputs.showSilence()
        stage.screen?.setTitle(outputs.windowTitle(films.title))
        outputs.report(message)
    }

    private func handle(_ input: ScreenInput) {
        switch input {
        case .key(let key, let isRepeat): controls.handle(key, isRepeat: isRepeat)
        case .pointer(let input): controls.handle(input.event)
        case .dropped(let paths, let appends): films.play(dropped: paths, appends: appends)
        case .close: controls.press("CLOSE_WIN")
        case .notice(let text): console.say(.warning, text)
        case .lost(let error): if window.lose(error) { films.printTitle() }
        case .visible, .resized, .fullScreen, .remade:
            window.recordScreen()
            control.propertiesHaveChanged()
        case .away(let error): window.reportNoDisplay(error)
        case .back:
            window.reportDisplay()
            control.propertiesHaveChanged()
        case .displays: break
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
}
