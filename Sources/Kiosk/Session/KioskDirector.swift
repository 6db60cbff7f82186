internal import LocalOutput
internal import MediaCore
internal import Playback
internal import Routing
internal import Storage
internal import SyncRendering
internal import Telemetry

/// Runs a kiosk: what is shown at which hour, what follows, what is done when something breaks. One thread, "kiosk".
///
/// `@unchecked Sendable`: made by one thread, then used by the kiosk's thread alone; `join` hands the result back.
final class KioskDirector: @unchecked Sendable {
    /// What the director directs.
    struct Stage: Sendable {
        var player: Player
        /// Nil without a picture.
        var screen: ScreenControl?
        var distributor: EventDistributor
        var registry: OutputRegistry
        var places: KioskPlaces
        /// What was open when earlier processes ended.
        var crashes: CrashRecord
        /// Reads the configuration again.
        var reload: @Sendable () throws(KioskConfigurationError) -> KioskConfiguration
        var log: KioskLog
        /// Who started the kiosk and wants to know how it is.
        var manager: ServiceManager
        /// How it is, for whoever asks.
        var health: Lock<KioskHealth>
        /// What is on the screen, as a PNG.
        var screenshot: @Sendable () async -> [UInt8]? = { nil }
        /// Finds out how long a film is, to the frame. Blocks.
        var measure: @Sendable (String) throws(MediaError) -> FilmExtent = { (address) throws(MediaError) in
            throw MediaError(.cannotOpen, "'\(address)' cannot be measured")
        }
        /// For picture files that are opened or measured from now on.
        var setImageDuration: @Sendable (Duration) -> Void = { _ in }
        /// Whether the display of this name states that it hides the edges. Reads a small file.
        var isOverscanning: @Sendable (String) -> Bool = { DisplayIdentification.isOverscanning($0) }
        var now: @Sendable () -> WallTime = { .now }
        /// The clock of all deadlines. Where it does not run by itself, `start` starts no thread: the caller calls `turn` and `finish`.
        var clock: any HostClock = MonotonicClock()
        var calendar: any WallCalendar = SystemCalendar()
        /// Speakers that are wanted are waited for so long before others take over.
        var speakerPatience = SoundKeeper.patience
        /// Throws the order of shuffled lists.
        var seed: UInt64 = .random(in: 0 ... .max)
    }

    let stage: Stage
    let mailbox: Mailbox<KioskEvent>
    var configuration: KioskConfiguration
    /// The configuration of the kiosk's start, whose values are in force for the keys that wait for the next start. What
    /// plays has begun already, and a wall counts its time from `start`.
    var inForce: KioskConfiguration
    var schedule: KioskSchedule
    /// What is shown at this hour.
    var shown: KioskSchedule.Shown
    /// Counts programmes: the films of another one are found anew.
    var programme = 0
    let files: ItemsWatch
    let sound: SoundKeeper?
    /// What was found last, before exclusions.
    var found: [PlayQueue.Item] = []
    var exclusions: ItemExclusions
    /// The films, once some were found.
    var queue: PlayQueue?
    /// False where the list has become empty.
    var hasFilms = false
    var toCome = FilmsToCome()
    /// With `on_broken_item = "stop"`: the item before which the kiosk ends, and why.
    var stopBefore: (item: QueueItem, failure: TalkieError)?
    /// The films are in the player's hands.
    var isPlaying = false
    /// Commands to open a film whose beginning the player has not reported yet.
    var opensUnderWay = 0
    /// When the list is tried again of which nothing could be played.
    var nextAttempt: HostInstant?
    /// Why there is nothing to show; nil while there is.
    var slate: Slate?
    /// The player holds the owner's picture for that.
    var isSlatePicture = false
    /// What could not be played, so that it is told once for each edition.
    var toldBroken: Set<PlayQueue.Item> = []
    var lastFailure: String?
    var beginsAt: WallTime?
    var kept = KioskPlaces.Kept()
    var isScreenAttached = false
    var liveness = Liveness()
    var ladder = RepairLadder()
    var presence = Presence()
    var leftOut = LeftOutPictures()
    /// A repair has ended the program: the item that plays is blamed for it, as for a crash.
    var endsForFault = false
    let began: HostInstant
    var loaded: KioskHealth.Configuration
    var repairs: [RepairLadder.Stage: Int] = [:]
    /// The last film that began.
    var item: KioskHealth.Item?
    /// In step with other kiosks; nil plays by itself.
    var wall: WallSteps?
    /// Nil where nobody drives it from afar.
    var fleet: FleetLink?
    var commandLog = CommandLog()
    let screenshots: ScreenshotQueue
    /// Somebody afar wants it to stand.
    var isHeld = false
    /// What the slate that was asked for from afar covers.
    var coveredSlate: Slate?
    private var notedRoutes: Set<Int> = []
    private var told = ToldSentences()
    private var placesFailure: String?
    private var lastKept: HostInstant?
    private var lastBeat: HostInstant?
    private var watchdog: Watchdog?
    private var isReady = false
    private var lastStatus = ""
    private(set) var result: KioskEnd?
    private var thread: WorkerThread?

    /// How often it looks at itself.
    static let beat = Duration.seconds(1)
    /// The interval at which the position is kept, and so how far a killed kiosk goes back: at most 5760 small writes a day.
    static let keepingInterval = Duration.seconds(15)
    /// A list of which nothing can be played is tried again after so long, if nothing changes before.
    static let again = Duration.seconds(10)

    /// - Parameter outputs: the player's; nil without sound.
    init(
        stage: Stage, configuration: KioskConfiguration, outputs: OutputGroup?, mailbox: Mailbox<KioskEvent>
    ) throws(ExhaustionError) {
        self.stage = stage
        self.mailbox = mailbox
        exclusions = ItemExclusions(stage.crashes)
        screenshots = ScreenshotQueue(.standard(), screenshot: stage.screenshot)
        (self.configuration, inForce) = (configuration, configuration)
        schedule = KioskSchedule(configuration, calendar: stage.calendar)
        shown = schedule.shown(at: stage.now())
        loaded = KioskHealth.Configuration(loaded: stage.now())
        let now = stage.clock.now
        began = now
        files = try ItemsWatch { mailbox.post(.found($0)) }
        let programme = shown.programme
        sound = outputs.map { group in
            SoundKeeper(
                player: stage.player, group: group, registry: stage.registry,
                tiers: SoundTiers(wanted: programme.speakers, fallbacks: programme.fallbacks), at: now,
                patience: stage.speakerPatience, answerTimeout: configuration.speakerTimeout
            ) { mailbox.post(.sound($0)) }
        }
    }

    func start() throws(ExhaustionError) {
        try stage.places.start()
        try files.start()
        try sound?.start()
        guard stage.clock.runsByItself else { return begin() }
        thread = try WorkerThread.start(name: "kiosk") { [self] in
            begin()
            while result == nil { turn() }
            finish()
        }
    }

    /// Waits for the end.
    func join() -> KioskEnd {
        thread?.join()
        return result ?? .done
    }

    private func begin() {
        for sentence in ConfigMistake.told(configuration.remarks) { say(.warning, sentence) }
        watchdog = Watchdog(patience: stage.manager.watchdogTime, at: now)
        if let objection = stage.manager.objection { say(.warning, objection) }
        recall()
        if let note = stage.crashes.begin(at: stage.now()) { say(.warning, note) }
        beginsAt = schedule.start(from: stage.now())
        // A display that a command switches off is on after a start.
        if shown.isQuiet { setScreenPower(false) }
        joinFleet()
        joinWall()
        look()
    }

    /// Waits for the next event or deadline, where the clock runs by itself, and handles what has come and what is due.
    func turn() {
        let clock = stage.clock
        let deadline = clock.runsByItself ? clock.machineInstant(of: nextDeadline) : HostInstant(nanoseconds: 0)
        for event in mailbox.take(until: deadline) {
            handle(event)
            if result != nil { break }
        }
        openIfDue()
        sound?.attend(at: now)
        beatIfDue()
        tellManager()
    }

    /// Keeps the position and ends the threads; the result is known.
    func finish() {
        stage.manager.tell(.stopping)
        if case .asked = result { kept.hasEndedWell = true }
        if result == .done { (kept.hasEndedWell, kept.place) = (true, nil) }
        keepPlace()
        if !endsForFault { exclusions.close() }
        fleet?.stop()
        wall?.clock.stop()
        files.stop()
        sound?.stop()
        stage.places.stop()
        stage.screen?.stop()
    }

    private var nextDeadline: HostInstant {
        let beat = (lastBeat ?? now).advanced(by: Self.beat)
        return [beat, nextAttempt, sound?.nextDeadline, watchdog?.next].compactMap { $0 }.min() ?? beat
    }

    var now: HostInstant { stage.clock.now }

    func end(_ end: KioskEnd) { if result == nil { result = end } }

    private func handle(_ event: KioskEvent) {
        switch event {
        case .player(let news): take(news)
        case .screen(let input): take(input)
        case .output(let output, let isLost): tell(sound?.note(output, isLost: isLost))
        case .sound(let news):
            tell(sound?.hear(news, at: now))
            noteRoutes()
            refreshSlate()
        case .found(let found): take(found)
        case .measured(let measured): take(measured)
        case .fleet(let command, let reply): carryOut(command, reply)
        case .sleep(let news): take(news)
        case .request(.end(let status)): end(.asked(status: status))
        case .request(.reload): reload()
        case .places(let failure?):
            placesFailure = failure
            say(.warning, failure, KioskNote(.fault))
        case .places(nil):
            // The next time it is news again.
            if let placesFailure { told.forget(placesFailure) }
            say(.info, "where the kiosk is can be kept again", KioskNote(.repair))
        case .remark(let level, let text): say(level, text)
        }
    }

    /// Records the names of the outputs, each once.
    private func noteRoutes() {
        guard let group = stage.player.outputs else { return }
        for member in group.members {
            guard let number = group.number(of: member), notedRoutes.insert(number).inserted else { continue }
            stage.distributor.note(.route(index: number, name: member.name, kind: member.kind.rawValue))
        }
    }

    func tell(_ remark: SoundKeeper.Remark?) {
        if let remark { say(remark.level, remark.text, KioskNote(.output)) }
    }

    /// Says what comes with every film again, as long as nobody mends it, once an hour.
    func say(_ level: LogLevel, _ text: String, _ note: KioskNote = KioskNote()) {
        if level <= .warning, !told.isNews(text, at: now) { return }
        stage.log.say(level, text, note)
    }

    // MARK: The window

    private func take(_ input: ScreenInput) {
        switch input {
        case .close: end(.done)
        case .lost(let error): end(.needsRestart("there is no window any more: \(error.message)"))
        case .notice(let text): say(.warning, text)
        case .away(let error): say(.error, error.message, KioskNote(.fault))
        case .back: say(.warning, "there is a window again", KioskNote(.repair))
        case .remade: say(.info, "the window was made anew", KioskNote(.repair))
        case .displays(let displays):
            say(.info, "displays: " + (displays.isEmpty ? "none" : displays.map(\.name).joined(separator: ", ")))
        case .visible, .resized, .fullScreen:
            guard let status = stage.screen?.status, status.isVisible else { return }
            applyArrangement()
            stage.player.setScreen(
                status.display, refreshRate: status.displayRate, isFullScreen: status.isFullScreen)
        case .key, .panel, .besidePanel, .bar, .wheel, .pointer, .pointerLeft, .dropped: break
        }
    }

    // MARK: Where it was

    /// What the last run left behind.
    private func recall() {
        let (kept, note) = stage.places.read()
        if let note { say(.warning, note) }
        self.kept = kept
        self.kept.starts += 1
        self.kept.hasEndedWell = false
        if !kept.hasEndedWell, kept.starts > 0 {
            say(.warning, "the kiosk had not ended by itself; it goes on where it was", KioskNote(.start))
        }
        stage.places.keep(self.kept)
    }

    func keepPlace() {
        lastKept = now
        if isPlaying, let queue, queue.hasBegun {
            kept.place = KioskPlaces.Place(address: queue.current.address, position: stage.player.state.position)
        }
        stage.places.keep(kept)
    }

    // MARK: The beat

    /// Has the next iteration report what has changed.
    func beatNow() { lastBeat = nil }

    private func beatIfDue() {
        let now = now
        guard lastBeat.map({ now - $0 >= Self.beat }) ?? true else { return }
        lastBeat = now
        followTheClock()
        if lastKept.map({ now - $0 >= Self.keepingInterval }) ?? true { keepPlace() }
        if exclusions.expire(at: now, wall: stage.now()) { applyExclusions() }
        watchOver(at: now)
        keepStep(at: now)
        tellHealth(at: now)
        tellOperator()
        tellFleet()
    }

    /// Tells whoever started the kiosk how it is: ready once something is shown or it is known why not, and alive only while it is.
    private func tellManager() {
        guard stage.manager.isPresent else { return }
        let status = statusLine
        if status != lastStatus {
            lastStatus = status
            stage.manager.tell(.status(status))
        }
        if !isReady, slate != nil || isWaiting || stage.player.state.phase == .playing { becomeReady() }
        var isAlive = true
        // What waits for its server is alive: another process would begin to wait anew.
        if case .stalled(let cause, _) = liveness.verdict { isAlive = cause == .waiting }
        if watchdog?.isSignDue(at: now, isAlive: isAlive) == true { stage.manager.tell(.alive) }
    }

    func becomeReady() {
        isReady = true
        stage.manager.tell(.ready)
    }

    /// What it does, in a line for people.
    var statusLine: String { statusLine(naming: Self.name) }

    func statusLine(naming name: (PlayQueue.Item) -> String) -> String {
        if shown.isQuiet { return "Quiet hours: screen and sound are off\(quietEnd)" }
        if let beginsAt { return "Begins at \(stage.calendar.local(beginsAt).time.words)" }
        switch slate {
        case .nothing(let reason)?: return "Nothing is shown: \(reason ?? "no films were found yet")"
        default: break
        }
        guard let queue, isPlaying else { return "Looks for films" }
        let what = awaitedSource.map { "Waits for \($0):" } ?? "Plays"
        return "\(what) '\(name(queue.current))' (\(queue.number) of \(queue.count))"
    }
}
