internal import CShim
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
    /// The objects and functions that a director uses.
    struct Stage: Sendable {
        var player: Player
        /// The window; nil without video.
        var screen: ScreenControl?
        var distributor: EventDistributor
        var registry: OutputRegistry
        var places: KioskResumePositions
        /// The record of items that were open when earlier processes ended.
        var crashes: CrashRecord
        /// Reads the configuration from its file again.
        var reload: @Sendable () throws(KioskConfigurationError) -> KioskConfiguration
        var log: KioskLog
        /// The service manager, notified of the kiosk's state.
        var manager: ServiceManager
        /// The published health, read by the metrics server's thread.
        var health: Lock<KioskHealth>
        /// Captures the screen as a PNG; nil without an image.
        var screenshot: @Sendable () async -> [UInt8]? = { nil }
        /// Returns the extent of a film, exact to the frame. Blocks.
        var measure: @Sendable (String) throws(MediaError) -> FilmExtent = { (address) throws(MediaError) in
            throw MediaError(.cannotOpen, "the duration of '\(address)' is unknown")
        }
        /// Sets the display duration of image files that are opened or measured later.
        var setImageDuration: @Sendable (Duration) -> Void = { _ in }
        /// Whether the EDID of the named display states overscan. Reads a small file.
        var isOverscanning: @Sendable (String) -> Bool = { DisplayIdentification.isOverscanning($0) }
        /// The clock of schedules.
        var now: @Sendable () -> WallTime = { .now }
        /// The clock of all deadlines. If it does not advance automatically, `start` starts no thread; the caller calls
        /// `turn` and `finish`.
        var clock: any HostClock = MonotonicClock()
        var calendar: any WallCalendar = SystemCalendar()
        typealias Run =
            @Sendable (_ name: String, WorkerThread.Priority, @escaping @Sendable () -> Void) throws(ExhaustionError) ->
            Void
        /// Runs work that may block, on a thread of this name and priority.
        var run: Run = { (name, priority, body) throws(ExhaustionError) in
            _ = try WorkerThread.start(name: name, priority: priority, body)
        }
        /// Returns free memory to the system.
        var releaseFreeMemory: @Sendable () -> Void = { cshim_release_free_memory() }
        /// The seed of shuffled playlists.
        var seed: UInt64 = .random(in: 0 ... .max)
    }

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

    let stage: Stage
    let mailbox: Mailbox<KioskEvent>
    /// The current configuration.
    var configuration: KioskConfiguration
    /// The configuration of the start: the values in force of keys that change at the next start only. A wall counts
    /// its time from `start`.
    var inForce: KioskConfiguration
    var hours: ScheduleFollower
    let screen: KioskScreen?
    let hookRunner: HookRunner
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
    /// The state that is written to disk.
    var kept = KioskResumePositions.Kept()
    var watch = PlaybackWatch()
    var reporter: HealthReporter
    /// True if a repair ends the program. The current item is then blamed as for a crash.
    var endsForFault = false
    /// Synchronization with the other kiosks of a wall; nil without a wall.
    var wall: KioskWall?
    var rules = TimelineRules.own
    /// The connection to the MQTT broker; nil without `[fleet]`.
    var fleet: FleetLink?
    var commandLog = CommandLog()
    let screenshots: ScreenshotQueue
    private var notedRoutes: Set<Int> = []
    private var messageLimiter = MessageRateLimiter()
    private var placesFailure: String?
    private var lastKept: HostInstant?
    private var lastBeat: HostInstant?
    private var lastRelease: HostInstant
    /// Nil before `begin`.
    private var service: ServiceReport?
    private(set) var result: KioskEnd?
    private var thread: WorkerThread?

    /// The interval of the periodic checks.
    static let beat = Duration.seconds(1)
    /// The interval at which the position is written: the maximum loss after a kill. At most 5760 small writes a day.
    static let keepingInterval = Duration.seconds(15)
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
        stage: Stage, configuration: KioskConfiguration, outputs: OutputGroup?, mailbox: Mailbox<KioskEvent>
    ) throws(ExhaustionError) {
        self.stage = stage
        self.mailbox = mailbox
        exclusions = ItemExclusions(stage.crashes)
        screenshots = ScreenshotQueue(.standard(), screenshot: stage.screenshot)
        (self.configuration, inForce) = (configuration, configuration)
        hours = ScheduleFollower(configuration, calendar: stage.calendar, at: stage.now())
        screen = stage.screen.map { KioskScreen($0, isOverscanning: stage.isOverscanning) }
        hookRunner = HookRunner(start: stage.run) { mailbox.post(.remark(.warning, $0)) }
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
            guard stage.clock.isRealTime else { return begin() }
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
        for sentence in ConfigMistake.messages(for: configuration.remarks) { say(.warning, sentence) }
        service = ServiceReport(watchdogTime: stage.manager.watchdogTime, at: now)
        if let objection = stage.manager.objection { say(.warning, objection) }
        recall()
        if let note = stage.crashes.begin(at: stage.now()) { say(.warning, note) }
        hours.waitForStart(at: stage.now())
        // A display that a command switches off is on after a start.
        if shown.isQuiet { setScreenPower(false) }
        joinFleet()
        joinWall()
        findItems()
    }

    /// Handles posted events and everything due. Blocks until the next event or deadline if the clock advances
    /// automatically.
    func runIteration() {
        let clock = stage.clock
        let deadline = clock.isRealTime ? clock.machineInstant(of: nextDeadline) : HostInstant(nanoseconds: 0)
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
        if case .asked = result { kept.hasEndedWell = true }
        if result == .done { (kept.hasEndedWell, kept.place) = (true, nil) }
        keepPlace()
        if !endsForFault { exclusions.close() }
        fleet?.stop()
        wall?.stop()
        stopWorkers()
        stage.screen?.stop()
    }

    private var nextDeadline: HostInstant {
        let beat = (lastBeat ?? now).advanced(by: Self.beat)
        return [beat, nextAttempt, sound?.nextDeadline, service?.nextDeadline].compactMap { $0 }.min() ?? beat
    }

    var now: HostInstant { stage.clock.now }

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
        case .output(let output, let isLost):
            logRemark(sound?.handleOutput(output, isLost: isLost), rest: MessageRateLimiter.restOfChanges)
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
        case .places(let failure?):
            placesFailure = failure
            say(.warning, failure, KioskNote(.fault))
        case .places(nil):
            // A repeated failure is logged again.
            if let placesFailure { messageLimiter.forget(placesFailure) }
            say(.info, "the kiosk's position can be stored again", KioskNote(.repair))
        case .remark(let level, let text): say(level, text)
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
    func logRemark(_ remark: KioskRouteSupervisor.Remark?, rest: Duration = MessageRateLimiter.rest) {
        if let remark { say(remark.level, remark.text, KioskNote(.output), rest: rest) }
    }

    /// Logs a text. Warnings and errors that repeat with every film are logged at most once per `rest`.
    func say(
        _ level: LogLevel, _ text: String, _ note: KioskNote = KioskNote(), rest: Duration = MessageRateLimiter.rest
    ) {
        guard level <= .warning else { return stage.log.say(level, text, note) }
        if let line = messageLimiter.line(for: text, rest: rest, at: now) { stage.log.say(level, line, note) }
    }

    // MARK: Window

    private func handleInput(_ input: ScreenInput) {
        switch input {
        case .close: end(.done)
        case .lost(let error): end(.needsRestart("the window was lost: \(error.message)"))
        case .notice(let text): say(.warning, text)
        case .away(let error): say(.error, error.message, KioskNote(.fault))
        case .back: say(.warning, "the window is open again", KioskNote(.repair))
        case .remade: say(.info, "the window was recreated", KioskNote(.repair))
        case .displays(let displays):
            say(.info, "displays: " + (displays.isEmpty ? "none" : displays.map(\.name).joined(separator: ", ")))
        case .visible, .resized, .fullScreen:
            guard let status = stage.screen?.status, status.isVisible else { return }
            screen?.arrange(by: configuration)
            stage.player.setScreen(
                status.display, refreshRate: status.displayRate, isFullScreen: status.isFullScreen)
        case .key, .pointer, .dropped: break
        }
    }

    // MARK: Position

    /// Restores the state of the last run.
    private func recall() {
        let (kept, note) = stage.places.read()
        if let note { say(.warning, note) }
        self.kept = kept
        self.kept.starts += 1
        self.kept.hasEndedWell = false
        if !kept.hasEndedWell, kept.starts > 0 {
            say(.warning, "the kiosk was interrupted; it resumes at its last position", KioskNote(.start))
        }
        stage.places.scheduleWrite(self.kept)
    }

    /// Passes the current position to the thread that writes it.
    func keepPlace() {
        lastKept = now
        if isPlaying, progress.isOpen, let current {
            kept.place = KioskResumePositions.Place(address: current.address, position: stage.player.state.position)
        }
        stage.places.scheduleWrite(kept)
    }

    // MARK: Periodic checks

    /// Makes the next iteration run the periodic checks.
    func beatNow() { lastBeat = nil }

    private func beatIfDue() {
        let now = now
        guard lastBeat.map({ now - $0 >= Self.beat }) ?? true else { return }
        lastBeat = now
        followTheClock()
        if lastKept.map({ now - $0 >= Self.keepingInterval }) ?? true { keepPlace() }
        if now - lastRelease >= Self.releaseInterval {
            lastRelease = now
            stage.releaseFreeMemory()
        }
        if exclusions.expire(at: now, wall: stage.now()) { applyExclusions() }
        watchOver(at: now)
        keepStep(at: now)
        tellHealth(at: now)
        tellOperator()
        tellFleet()
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
