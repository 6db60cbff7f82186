internal import MediaCore
internal import Playback
internal import Remote
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
    let stage: KioskStage
    private let mailbox: Mailbox<KioskEvent>
    private let messages: KioskMessages
    let settings: KioskSettings
    let hours: ScheduleFollower
    /// The commands of the kiosk, for every controller. Any thread.
    let control: PlayerControl
    private let screen: KioskScreen
    let resume: ResumeState
    private let fleet: KioskFleet
    private let pairing: KioskPairing
    private let calibration: KioskCalibration
    /// Whether playback continues once the outputs are open again.
    private var isTakingBack = false
    let routeSupervisor: KioskRouteSupervisor?
    let playback: KioskPlayback
    private var watch = PlaybackWatch()
    private var reporter: HealthReporter
    /// True if a repair ends the program because of the current item, which is then blamed as for a crash.
    private var endsForFault = false
    private var notedRoutes: Set<Int> = []
    private var lastBeat: HostInstant?
    private var lastRelease: HostInstant
    /// Nil before `begin`.
    private var service: ServiceReport?
    private(set) var result: KioskEnd?
    private var thread: WorkerThread?
    /// Raised by the thread when all others have ended.
    private let hasFinished = Signal()
    /// The reason of the end, before the threads have ended.
    private let reason = Lock(KioskEnd.done)

    /// The interval of the periodic checks.
    static let beat = Duration.seconds(1)
    /// The interval at which free memory is returned to the system. Each film is decoded on new threads, and glibc
    /// keeps what they freed in up to eight arenas per processor: 100 MB more after an hour of films that were opened
    /// again.
    static let releaseInterval = Duration.seconds(60)

    /// Creates a director; `start` starts its thread.
    ///
    /// - Parameter outputs: The player's outputs; nil without audio.
    init(
        stage: KioskStage, configuration: KioskConfiguration, outputs: OutputGroup?, mailbox: Mailbox<KioskEvent>
    ) throws(ExhaustionError) {
        self.stage = stage
        self.mailbox = mailbox
        var table = ControlTable.kiosk { mailbox.post(.command($0, $1)) }
        table.addState { [health = stage.health] in health.withLock { $0 } }
        control = PlayerControl(stage.player, table: table)
        messages = KioskMessages(stage.log, clock: stage.clock)
        settings = KioskSettings(configuration)
        hours = ScheduleFollower(configuration, calendar: stage.calendar, at: stage.now())
        screen = KioskScreen(
            stage, settings: settings,
            hookRunner: HookRunner(start: stage.run) { mailbox.post(.remark(.warning, $0)) })
        resume = ResumeState(stage.resumePositions, messages: messages)
        fleet = KioskFleet(screenshot: stage.screenshot, messages: messages)
        pairing = KioskPairing(stage.registry, run: stage.run)
        calibration = KioskCalibration(stage.tasks, screen: stage.screen, start: stage.run) {
            mailbox.post(.calibration($0))
        }
        let now = stage.clock.now
        lastRelease = now
        reporter = HealthReporter(at: now, wall: stage.now())
        let daySettings = hours.shown.settings
        routeSupervisor = outputs.map { group in
            KioskRouteSupervisor(
                player: stage.player, group: group, registry: stage.registry,
                tiers: OutputTiers(daySettings), at: now,
                clock: stage.clock, answerTimeout: configuration.speakerTimeout
            ) { mailbox.post(.route($0)) }
        }
        playback = try KioskPlayback(
            stage, mailbox, messages: messages, settings: settings, hours: hours, resume: resume, screen: screen,
            sound: routeSupervisor)
    }

    /// Starts the threads. Called once.
    ///
    /// - Throws: `ExhaustionError` if the system provides no thread or descriptor; no thread runs then.
    func start() throws(ExhaustionError) {
        do throws(ExhaustionError) {
            try stage.resumePositions.start()
            try playback.start()
            try routeSupervisor?.start()
            guard stage.clock.isRealTime else { return begin() }
            thread = try WorkerThread.start(name: "kiosk") { [self] in
                begin()
                while result == nil { runIteration() }
                finish()
                hasFinished.raise()
            }
        } catch {
            stopWorkers()
            throw error
        }
    }

    private func stopWorkers() {
        playback.stop()
        routeSupervisor?.stop()
        stage.resumePositions.stop()
    }

    /// Blocks until the kiosk and all its threads have ended, at most until a timeout: one of them may wait for a
    /// network drive.
    ///
    /// - Returns: The reason of the end, and whether all threads have ended.
    func join(within timeout: Duration) -> (end: KioskEnd, isDown: Bool) {
        guard let thread else { return (result ?? .done, true) }
        guard hasFinished.wait(until: .now.advanced(by: timeout)) else { return (reason.withLock { $0 }, false) }
        thread.join()
        return (result ?? .done, true)
    }

    private func begin() {
        for sentence in ConfigMistake.messages(for: configuration.remarks) { messages.say(.warning, sentence) }
        service = ServiceReport(watchdogTime: stage.manager.watchdogTime, at: now)
        if let objection = stage.manager.objection { messages.say(.warning, objection) }
        resume.restore()
        if let note = stage.crashes.begin(at: stage.now()) { messages.say(.warning, note) }
        hours.waitForStart(at: stage.now(), continues: resume.continues)
        if hours.beginsAt != nil { resume.recordWaiting() }
        // A command of an earlier run may have switched the display off.
        screen.setPower(!hours.shown.isQuiet)
        if let settings = configuration.fleet { fleet.join(settings, control, mailbox) }
        if let volume = hours.shown.settings.volume { stage.player.setVolume(volume) }
        playback.begin()
    }

    /// Handles posted events and everything due. Blocks until the next event or deadline if the clock advances
    /// automatically.
    func runIteration() {
        let clock = stage.clock
        let deadline = clock.isRealTime ? clock.machineInstant(of: nextDeadline) : HostInstant(nanoseconds: 0)
        for event in mailbox.receive(until: deadline) {
            handle(event)
            if let end = playback.end { self.end(end) }
            if result != nil { break }
        }
        playback.performDueWork()
        routeSupervisor?.performDueWork(at: now)
        calibration.performDueWork(at: now)
        beatIfDue()
        // An item that is left may end playback, too.
        if let end = playback.end { self.end(end) }
        notifyManager()
    }

    /// Writes the position and stops all threads. Called once `result` is set.
    func finish() {
        stage.manager.notify(.stopping)
        resume.recordEnd(result)
        storePosition()
        endsForFault ? stage.crashes.recordFault() : playback.recordEnd()
        reason.withLock { $0 = result ?? .done }
        // The main thread limits what follows.
        screen.stop()
        fleet.stop()
        pairing.stop()
        calibration.stop()
        stopWorkers()
    }

    private var nextDeadline: HostInstant {
        let beat = (lastBeat ?? now).advanced(by: Self.beat)
        let others = [
            playback.nextDeadline, routeSupervisor?.nextDeadline, calibration.nextDeadline, service?.nextDeadline,
        ]
        return ([beat] + others.compactMap { $0 }).min() ?? beat
    }

    private var now: HostInstant { stage.clock.now }
    private var configuration: KioskConfiguration { settings.configuration }

    func end(_ end: KioskEnd) { if result == nil { result = end } }

    private func handle(_ event: KioskEvent) {
        switch event {
        case .player(let event): handlePlayerEvent(event)
        case .screen(let input): handleInput(input)
        case .output(let output, let isLost):
            logRemark(
                routeSupervisor?.handleOutput(output, isLost: isLost, at: now), rest: MessageRateLimiter.restOfChanges)
        case .route(let event):
            logRemark(routeSupervisor?.handle(event, at: now))
            if isTakingBack, case .changed = event { endCalibration() }
            recordRoutes()
            playback.refreshSlate()
        case .calibration(let event): handle(event)
        case .found(let found): playback.applySearchResult(found)
        case .measured(let measured): playback.applyMeasurement(measured)
        case .command(let request, let reply): carryOut(request, reply)
        case .sleep(let event): handleSleepEvent(event)
        case .request(.end(let status)): end(.asked(status: status))
        case .request(.reload): reload()
        case .stateFailure(let failure): resume.recordWriting(failure: failure)
        case .remark(let level, let text): messages.say(level, text)
        }
    }

    /// Records the name of each output once.
    private func recordRoutes() {
        for (id, output) in stage.player.allOutputs where notedRoutes.insert(id.index).inserted {
            stage.distributor.record(.route(index: id.index, name: output.name, kind: output.kind.rawValue))
        }
    }

    /// Logs a remark about outputs.
    private func logRemark(_ remark: KioskRouteSupervisor.Remark?, rest: Duration = MessageRateLimiter.rest) {
        if let remark { messages.say(remark.level, remark.text, KioskNote(.output), rest: rest) }
    }

    // MARK: Player

    private func handlePlayerEvent(_ event: PlayerEvent) {
        switch event {
        case .message(let text): messages.say(.warning, text)
        case .outputProblem(let problem):
            if [.gainRefused, .starved, .unconfirmed, .formatReduced].contains(problem.kind) {
                messages.say(.warning, problem.error.message, KioskNote(.output))
            }
            if problem.kind == .unresponsive { handleOutput(problem.output, isUnresponsive: true) }
        case .outputRecovered(let problem):
            if problem.kind == .unresponsive { handleOutput(problem.output, isUnresponsive: false) }
        default: playback.handle(event)
        }
    }

    private func handleOutput(_ output: OutputID, isUnresponsive: Bool) {
        logRemark(
            routeSupervisor?.handleOutput(output, isUnresponsive: isUnresponsive, at: now),
            rest: MessageRateLimiter.restOfChanges)
        // The next iteration runs the periodic checks.
        lastBeat = nil
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
    private func storePosition() { resume.write(playback.resumePosition, at: now) }

    // MARK: Periodic checks

    private func beatIfDue() {
        let now = now
        guard lastBeat.map({ now - $0 >= Self.beat }) ?? true else { return }
        lastBeat = now
        applyDueSchedule()
        if resume.isDue(at: now) { storePosition() }
        if now - lastRelease >= Self.releaseInterval {
            lastRelease = now
            stage.releaseFreeMemory()
        }
        playback.expireExclusions(at: now)
        // Another process may have calibrated an output.
        stage.player.refreshCalibration()
        watchOver(at: now)
        playback.synchronize(at: now)
        reportHealth(at: now)
        showDashboard()
        fleet.publish(stateMessage)
    }

    /// Notifies the service manager.
    private func notifyManager() {
        guard stage.manager.isPresent else { return }
        let event = service?.notifications(
            status: situation.summary(), isReady: playback.isReady, isAlive: watch.isAlive, at: now)
        for item in event ?? [] { stage.manager.notify(item) }
    }

    /// What is shown at present.
    private var situation: KioskSituation { playback.situation(waitingSince: watch.waitingSince) }

    // MARK: Schedule

    /// Applies everything that the schedule makes due.
    private func applyDueSchedule() {
        playback.applyStart()
        applySchedule()
    }

    private func applySchedule() {
        guard let before = hours.advance(to: stage.now()) else { return }
        let shown = hours.shown
        if shown.period != before.period {
            messages.say(
                .info, shown.period.map { "part of the day: '\($0)'" } ?? "no part of the day applies",
                KioskNote(.schedule))
        }
        if shown.settings.playlist != before.settings.playlist || shown.settings.order != before.settings.order {
            playback.findItems()
        }
        applyOutputs(before: before.settings)
        if shown.isQuiet != before.isQuiet { shown.isQuiet ? beginQuietHours() : endQuietHours() }
    }

    /// Applies the speakers and the volume of the current programme.
    private func applyOutputs(before: KioskConfiguration.DaySettings) {
        let daySettings = hours.shown.settings
        routeSupervisor?.want(OutputTiers(daySettings), at: now)
        if let volume = daySettings.volume {
            stage.player.setVolume(volume)
        } else if before.volume != nil {
            stage.player.restoreVolumes()
        }
    }

    private func beginQuietHours() {
        let end = hours.quietEnd(after: stage.now())
        messages.say(.info, "quiet hours begin: screen and sound are off\(end)", KioskNote(.schedule))
        playback.beginQuietHours()
        screen.setPower(false)
    }

    private func endQuietHours() {
        messages.say(.info, "quiet hours are over", KioskNote(.schedule))
        screen.setPower(true)
        playback.endQuietHours()
    }

    // MARK: Configuration

    /// Reads the configuration again and applies it unless it has mistakes.
    private func reload() {
        stage.manager.notify(.reloading(at: .now))
        defer { stage.manager.notify(.ready) }
        let fresh: KioskConfiguration
        do throws(KioskConfigurationError) { fresh = try stage.reload() } catch {
            let note = KioskNote(.reload)
            reporter.recordRefusal(ConfigMistake.messages(for: error.mistakes).first)
            messages.sayAlways(.error, "the new configuration is invalid; the old one remains active", note)
            for sentence in ConfigMistake.messages(for: error.mistakes) { messages.sayAlways(.error, sentence, note) }
            return
        }
        reporter.recordConfiguration(at: stage.now())
        let event = fresh == configuration ? ": no changes" : ""
        messages.say(.info, "the configuration was reloaded\(event)", KioskNote(.reload))
        if fresh != configuration { apply(fresh) }
        let waiting = settings.keysThatWait(hasAudioOutputs: routeSupervisor != nil)
        if !waiting.isEmpty {
            messages.sayAlways(
                .warning, "these keys take effect at the next start: \(waiting.joined(separator: ", "))",
                KioskNote(.reload))
        }
    }

    private func apply(_ fresh: KioskConfiguration) {
        let changes = settings.replace(with: fresh, movesStart: playback.canMoveStart)
        hours.replace(fresh)
        for sentence in ConfigMistake.messages(for: fresh.remarks) {
            messages.sayAlways(.warning, sentence, KioskNote(.reload))
        }
        routeSupervisor?.answerTimeout = fresh.speakerTimeout
        screen.arrange()
        for change in changes { playback.apply(change) }
        applySchedule()
    }

    // MARK: Sleep

    /// Logs the state of the sleep inhibitor; saves the position before sleep.
    private func handleSleepEvent(_ event: SleepInhibitor.Event) {
        switch event {
        case .kept(.system("idle")):
            messages.say(.info, "this computer is kept from idling, but the system does not permit blocking sleep")
        case .kept: messages.say(.info, "this computer is kept from sleeping")
        case .refused(let reason): messages.say(.info, "this computer cannot be kept from sleeping: \(reason)")
        case .fallsAsleep:
            messages.say(.warning, "the computer is going to sleep", KioskNote(.fault))
            storePosition()
        case .woke:
            messages.say(.warning, "the computer has woken up", KioskNote(.repair))
            // Observations from before the sleep are not faults.
            watch.forgive(at: now)
        }
    }

    // MARK: Fleet

    /// The state message published to the broker.
    var stateMessage: KioskStateMessage {
        var message = KioskStateMessage(stage.health.withLock { $0 })
        playback.describe(in: &message)
        message.dayPeriod = hours.shown.period
        return message
    }

    /// Runs a command and replies with its result. A screenshot is replied to later.
    private func carryOut(_ request: ControlRequest, _ reply: @escaping ControlReply) {
        switch request.command.name {
        // With a password, which is not logged.
        case "pair-output":
            let method = request.arguments[2]?.text.flatMap { KioskPairing.Method(rawValue: $0) }
            return pairing.pair(
                request.arguments.text(0), code: request.arguments[1]?.mpvText, method ?? .password, reply)
        // Repeated by the controller.
        case "calibration-progress": return calibration.report(at: now, reply)
        default: break
        }
        fleet.logCommand(request, at: now)
        do throws(ControlError) {
            switch request.command.name {
            case "calibrate-outputs": return try calibrate(request.arguments.text(0), reply)
            case "profiles": return editProfiles(request.arguments.text(0), reply)
            case "reload": reload()
            case "screenshot": return fleet.captureScreenshot(reply)
            default:
                guard request.property?.name == "volume" || !calibration.isActive && !isTakingBack else {
                    throw ControlError(.unavailable, "a calibration is in progress; try again later")
                }
                try playback.carryOut(request)
            }
            reply(.success(.null))
        } catch { reply(.failure(error)) }
    }

    // MARK: Calibration

    /// Calibrates outputs for a controller: playback stops, and the outputs are closed first.
    private func calibrate(_ request: String, _ reply: @escaping ControlReply) throws(ControlError) {
        guard let routeSupervisor else { throw ControlError(.unavailable, "this kiosk plays without sound") }
        guard !calibration.isActive, !isTakingBack else {
            throw ControlError(.unavailable, "another calibration is in progress; try again later")
        }
        try playback.lend()
        messages.say(.info, "a calibration begins; the film is paused", KioskNote(.output))
        try calibration.begin(request, at: now, reply)
        routeSupervisor.release { [mailbox] isReleased in
            mailbox.post(.calibration(isReleased ? .released : .notReleased))
        }
    }

    private func handle(_ event: KioskCalibration.Event) {
        guard calibration.handle(event, at: now) else { return }
        playback.showAgain()
        isTakingBack = true
        if routeSupervisor?.restoreChosen() != true { endCalibration() }
    }

    /// Continues playback with the outputs that have been opened again.
    private func endCalibration() {
        isTakingBack = false
        stage.player.refreshCalibration()
        playback.continuePlayback()
        messages.say(.info, "the calibration has ended; the film continues", KioskNote(.output))
    }

    /// Lists or changes the stored calibrations for a controller.
    private func editProfiles(_ request: String, _ reply: @escaping ControlReply) {
        do throws(ExhaustionError) {
            try stage.run("kiosk profiles", .normal) { [tasks = stage.tasks] in
                do throws(TalkieError) { reply(.success(.text(try tasks.editProfiles(request)))) } catch {
                    reply(.failure(ControlError(.failed, error.message)))
                }
            }
        } catch { reply(.failure(ControlError(.failed, error.message))) }
    }

    // MARK: Health

    /// Publishes the health.
    private func reportHealth(at now: HostInstant) {
        var seen = HealthReporter.Observation(shown: situation.shown)
        let player = stage.player
        let outputs = stage.distributor.outputs
        seen.isWindowVisible = hours.isWaiting ? nil : screen.isVisible
        seen.isHeard = isHeard
        seen.stall = watch.fault
        (seen.outputProblems, seen.skippedItems) = (routeSupervisor?.problems ?? [], playback.skippedItems)
        (seen.incompleteItems, seen.problemCount) = (playback.incompleteItems, playback.problemCount)
        seen.isWall = playback.isWall
        seen.statistics = stage.distributor.statistics
        let known = Dictionary(outputs.all.map { ($0.output.index, $0) }) { first, _ in first }
        seen.outputs = player.allOutputs.map { ($0.output.name, known[$0.id.index]) }
        seen.skew = outputs.skew
        // The buffer of a lost output is still filled.
        seen.lastAudio = outputs.all.filter { !$0.isLost }.compactMap(\.accepted).max()
        seen.restarts = resume.restarts
        seen.repairs = watch.repairs
        if playback.isPlaying { seen.position = player.state.position }
        if let item = playback.shownItem { reporter.setItem(item) }
        let health = reporter.health(of: seen, at: now)
        stage.health.withLock { $0 = health }
        control.propertiesHaveChanged()
    }

    /// Whether an output receives the audio of the current film; nil if no audio is expected.
    private var isHeard: Bool? {
        let state = stage.player.state
        guard playback.isExpected, state.phase == .playing, state.hasAudio, let routeSupervisor,
            !hours.shown.settings.speakers.isEmpty
        else { return nil }
        return routeSupervisor.outputNames != nil && stage.player.outputs?.failure == nil
    }

    /// Updates the operator's dashboard; returns at once without such a display.
    private func showDashboard() {
        guard settings.hasOperatorScreen, screen.isPresent else { return }
        var dashboard = OperatorDashboard(health: stage.health.withLock { $0 })
        dashboard.status = situation.summary(naming: OperatorDashboard.name)
        dashboard.hasAudio = configuration.hasAudio
        if playback.isPlaying { dashboard.duration = stage.player.state.duration }
        dashboard.next = playback.next.map { OperatorDashboard.name(of: PlaylistLoader.Item($0)) }
        screen.show(dashboard.content)
    }

    // MARK: Watch

    /// Evaluates one observation and runs the repair that is due. Called once per `beat`.
    func watchOver(at now: HostInstant) {
        let beat = Liveness.Beat(
            of: stage.player, screen: screen.status, isExpected: playback.isExpected,
            isAudible: routeSupervisor?.outputNames != nil, isWall: playback.isWall)
        stage.player.probe()
        let outcome = watch.observe(
            beat, droppedFrames: stage.distributor.statistics.droppedFrames, item: playback.watchedItem, at: now)
        if let count = outcome.droppedFrames {
            messages.sayAlways(
                .warning, "\(count) pictures were late and dropped; the picture is in sync again",
                KioskNote(.fault))
        }
        playback.stalledItem = watch.stalledItem
        if outcome.isHealthy { playback.recordProgress(at: now) }
        if outcome.isProved { playback.recordAdvancing(at: now) }
        if let repair = outcome.repair { run(repair) }
    }

    private func run(_ repair: PlaybackWatch.Repair) {
        // An item of which nothing can be decoded is left at once.
        let time = repair.duration < .seconds(1) ? "" : " for \(Decimals.text(repair.duration.inSeconds, 0)) s"
        messages.sayAlways(
            .error, "\(repair.cause.rawValue)\(time): \(repair.stage.logText)",
            KioskNote(.repair, item: repair.item, stage: repair.stage.name))
        // Neither the item nor the test sound advances: the outputs are at fault.
        guard !playback.isTesting else { return end(.needsRestart(repair.cause.rawValue)) }
        switch repair.stage {
        case .anchor: playback.restart(isWaiting: repair.cause == .waiting)
        case .route:
            routeSupervisor?.reopen()
            playback.open(at: repair.cause == .waiting ? nil : stage.player.state.position)
        case .next:
            watch.startOver()
            playback.passOver(for: repair.cause)
        case .test:
            watch.startOver()
            playback.test(for: repair.cause)
        case .window:
            playback.forgiveStuckItems()
            screen.remake()
        case .exit:
            endsForFault = repair.cause == .engine || ItemExclusions.Reason(of: repair.cause) != nil
            end(.needsRestart(repair.cause.rawValue))
        }
    }
}
