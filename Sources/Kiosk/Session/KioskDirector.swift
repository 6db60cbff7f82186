internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput
internal import Storage
internal import SyncRendering
internal import Telemetry

/// The state machine of a kiosk: schedule, playlist, audio outputs and repairs.
///
/// `@unchecked Sendable`: after `init` and `start`, all mutable state is used on the thread "kiosk" only. `thread` is
/// used by the caller of `start` and `join` only, and `result` by it once the thread has ended.
final class KioskDirector: @unchecked Sendable {
    typealias Item = PlaylistLoader.Item

    /// How the playlist is tried again.
    enum Attempt {
        /// From its current item on.
        case reopen
        /// From its first item on.
        case startOver
        /// From the item after the current one on.
        case skip
    }

    let stage: KioskStage
    let mailbox: Mailbox<KioskEvent>
    let messages: KioskMessages
    let settings: KioskSettings
    var hours: ScheduleFollower
    let screen: KioskScreen
    let resume: ResumeState
    let fleet: KioskFleet
    /// The number of searches for items; results of earlier searches are dropped.
    var programme = 0
    let files: ItemsWatch
    let sound: KioskRouteSupervisor?
    var exclusions: ItemExclusions
    var items = KioskItems()
    var progress = ItemProgress()
    /// Whether an item has played.
    var hasPlayed = false
    /// With `on_broken_item = "stop"`: the item before which the kiosk ends, and its failure.
    var stopBefore: (item: QueueItem, failure: TalkieError)?
    /// True while the player plays an item of the playlist.
    var isPlaying = false
    /// When the playlist is tried again, after none of its items could be played, and how.
    var nextAttempt: HostInstant?
    /// The last pause of a playlist that has played, while the image of the slate is shown; nil once an item plays.
    var passDelay: RetryDelay?
    var slates = SlateStack()
    var attempt = Attempt.reopen
    /// True while the player shows the configured slate image.
    var isSlatePicture = false
    /// The last failure, shown on the slate.
    var lastFailure: String?
    var watch = PlaybackWatch()
    var reporter: HealthReporter
    /// True if a repair ends the program. The current item is then blamed as for a crash.
    var endsForFault = false
    /// Synchronization with the other kiosks of a wall; nil without a wall.
    var wall: KioskWall?
    var rules = TimelineRules.own
    private var notedRoutes: Set<Int> = []
    private var lastBeat: HostInstant?
    private var lastRelease: HostInstant
    /// Nil before `begin`.
    private var service: ServiceReport?
    private(set) var result: KioskEnd?
    private var thread: WorkerThread?

    /// The interval of the periodic checks.
    static let beat = Duration.seconds(1)
    /// The interval at which free memory is returned to the system. Each film is decoded on new threads, and glibc
    /// keeps what they freed in up to eight arenas per processor: 100 MB more after an hour of films that were opened
    /// again.
    static let releaseInterval = Duration.seconds(60)
    /// Delay before a playlist without playable items is tried again, unless something changes earlier.
    static let again = Duration.seconds(10)

    /// Creates a director; `start` starts its thread.
    ///
    /// - Parameter outputs: The player's outputs; nil without audio.
    init(
        stage: KioskStage, configuration: KioskConfiguration, outputs: OutputGroup?, mailbox: Mailbox<KioskEvent>
    ) throws(ExhaustionError) {
        self.stage = stage
        self.mailbox = mailbox
        exclusions = ItemExclusions(stage.crashes)
        messages = KioskMessages(stage.log, clock: stage.clock)
        settings = KioskSettings(configuration)
        hours = ScheduleFollower(configuration, calendar: stage.calendar, at: stage.now())
        screen = KioskScreen(
            stage, settings: settings,
            hookRunner: HookRunner(start: stage.run) { mailbox.post(.remark(.warning, $0)) })
        resume = ResumeState(stage.places, messages: messages)
        fleet = KioskFleet(screenshot: stage.screenshot, messages: messages)
        let now = stage.clock.now
        lastRelease = now
        reporter = HealthReporter(at: now, wall: stage.now())
        files = try ItemsWatch(clock: stage.clock) { mailbox.post(.found($0)) }
        let programme = hours.shown.programme
        sound = outputs.map { group in
            KioskRouteSupervisor(
                player: stage.player, group: group, registry: stage.registry,
                tiers: SoundTiers(wanted: programme.speakers, fallbacks: programme.fallbacks), at: now,
                clock: stage.clock, answerTimeout: configuration.speakerTimeout
            ) { mailbox.post(.sound($0)) }
        }
    }

    /// Starts the threads. Called once.
    ///
    /// - Throws: `ExhaustionError` if the system provides no thread or descriptor; no thread runs then.
    func start() throws(ExhaustionError) {
        do throws(ExhaustionError) {
            try stage.places.start()
            try files.start()
            try sound?.start()
            guard stage.clock.runsByItself else { return begin() }
            thread = try WorkerThread.start(name: "kiosk") { [self] in
                begin()
                while result == nil { runIteration() }
                finish()
            }
        } catch {
            stopWorkers()
            throw error
        }
    }

    private func stopWorkers() {
        files.stop()
        sound?.stop()
        stage.places.stop()
    }

    /// Blocks until the kiosk has ended and returns the reason.
    func join() -> KioskEnd {
        thread?.join()
        return result ?? .done
    }

    private func begin() {
        for sentence in ConfigMistake.told(configuration.remarks) { messages.say(.warning, sentence) }
        service = ServiceReport(watchdogTime: stage.manager.watchdogTime, at: now)
        if let objection = stage.manager.objection { messages.say(.warning, objection) }
        resume.restore()
        if let note = stage.crashes.begin(at: stage.now()) { messages.say(.warning, note) }
        hours.waitForStart(at: stage.now())
        // A display that a command switches off is on after a start.
        if shown.isQuiet { screen.setPower(false) }
        fleet.join(configuration.fleet, mailbox)
        joinWall()
        findItems()
    }

    /// Handles posted events and everything due. Blocks until the next event or deadline if the clock advances
    /// automatically.
    func runIteration() {
        let clock = stage.clock
        let deadline = clock.runsByItself ? clock.machineInstant(of: nextDeadline) : HostInstant(nanoseconds: 0)
        for event in mailbox.receive(until: deadline) {
            handle(event)
            if result != nil { break }
        }
        files.runDueWork()
        openIfDue()
        sound?.performDueWork(at: now)
        beatIfDue()
        tellManager()
    }

    /// Writes the position and stops all threads. Called once `result` is set.
    func finish() {
        stage.manager.notify(.stopping)
        resume.noteEnd(result)
        keepPlace()
        if !endsForFault { exclusions.close() }
        fleet.stop()
        wall?.stop()
        stopWorkers()
        screen.stop()
    }

    private var nextDeadline: HostInstant {
        let beat = (lastBeat ?? now).advanced(by: Self.beat)
        return [beat, nextAttempt, sound?.nextDeadline, service?.nextDeadline].compactMap { $0 }.min() ?? beat
    }

    var now: HostInstant { stage.clock.now }
    var configuration: KioskConfiguration { settings.configuration }

    /// What is shown at present, according to the schedule.
    var shown: KioskSchedule.Shown { hours.shown }
    /// The configured start; nil once it has passed.
    var beginsAt: WallTime? { hours.beginsAt }
    /// True if nothing may be opened: before the start, or in quiet hours.
    var isWaiting: Bool { hours.isWaiting }
    /// The item that plays or is opened next; nil until items were found.
    var current: Item? { progress.item }
    /// The slate on the screen; nil while a film is shown.
    var slate: Slate? { slates.shown }
    /// True while paused by a fleet command.
    var isHeld: Bool { slates.isHeld }

    func end(_ end: KioskEnd) { if result == nil { result = end } }

    private func handle(_ event: KioskEvent) {
        switch event {
        case .player(let event): handlePlayerEvent(event)
        case .screen(let input): handleInput(input)
        case .output(let output, let isLost): logRemark(sound?.handleOutput(output, isLost: isLost))
        case .sound(let event):
            logRemark(sound?.handle(event, at: now))
            noteRoutes()
            refreshSlate()
        case .found(let found): applySearchResult(found)
        case .measured(let measured): applyMeasurement(measured)
        case .fleet(let command, let reply): carryOut(command, reply)
        case .sleep(let event): handleSleepEvent(event)
        case .request(.end(let status)): end(.asked(status: status))
        case .request(.reload): reload()
        case .places(let failure): resume.noteWriting(failure: failure)
        case .remark(let level, let text): messages.say(level, text)
        }
    }

    /// Records the name of each output once.
    private func noteRoutes() {
        guard let group = stage.player.outputs else { return }
        for member in group.members {
            guard let number = group.number(of: member), notedRoutes.insert(number).inserted else { continue }
            stage.distributor.record(.route(index: number, name: member.name, kind: member.kind.rawValue))
        }
    }

    /// Logs a remark about outputs.
    func logRemark(_ remark: KioskRouteSupervisor.Remark?) {
        if let remark { say(remark.level, remark.text, KioskNote(.output)) }
    }

    // MARK: Window

    private func handleInput(_ input: ScreenInput) {
        switch input {
        case .close: end(.done)
        case .lost(let error): end(.needsRestart("the window was lost: \(error.message)"))
        case .notice(let text): messages.say(.warning, text)
        case .away(let error): messages.say(.error, error.message, KioskNote(.fault))
        case .back: messages.say(.warning, "the window is open again", KioskNote(.repair))
        case .remade: messages.say(.info, "the window was recreated", KioskNote(.repair))
        case .displays(let displays):
            messages.say(
                .info, "displays: " + (displays.isEmpty ? "none" : displays.map(\.name).joined(separator: ", ")))
        case .visible, .resized, .fullScreen: screen.adapt(stage.player)
        case .key, .pointer, .dropped: break
        }
    }

    // MARK: Position

    /// Passes the current position to the thread that writes it.
    func keepPlace() { resume.write(place, at: now) }

    private var place: KioskResumePositions.Place? {
        guard isPlaying, progress.isOpen, let current else { return nil }
        return KioskResumePositions.Place(address: current.address, position: stage.player.state.position)
    }

    // MARK: Periodic checks

    /// Makes the next iteration run the periodic checks.
    func beatNow() { lastBeat = nil }

    private func beatIfDue() {
        let now = now
        guard lastBeat.map({ now - $0 >= Self.beat }) ?? true else { return }
        lastBeat = now
        followTheClock()
        if resume.isDue(at: now) { keepPlace() }
        if now - lastRelease >= Self.releaseInterval {
            lastRelease = now
            stage.releaseFreeMemory()
        }
        if exclusions.expire(at: now, wall: stage.now()) { applyExclusions() }
        watchOver(at: now)
        keepStep(at: now)
        tellHealth(at: now)
        tellOperator()
        fleet.publish(stateMessage)
    }

    /// Notifies the service manager.
    private func tellManager() {
        guard stage.manager.isPresent else { return }
        let event = service?.notifications(
            status: situation.line(), isReady: slate != nil || isWaiting || stage.player.state.phase == .playing,
            isAlive: watch.isAlive, at: now)
        for item in event ?? [] { stage.manager.notify(item) }
    }

    /// What is shown at present.
    var situation: KioskSituation {
        let state = stage.player.state
        var situation = KioskSituation(start: hours.start, slate: slate, isHeld: isHeld, awaitedSource: awaitedSource)
        if shown.isQuiet { situation.quietEnd = quietEnd }
        if let current, isPlaying {
            situation.playing = .init(item: current, number: state.itemNumber, count: state.itemCount)
        }
        return situation
    }
}
