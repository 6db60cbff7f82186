internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput
internal import Storage
internal import SyncRendering
internal import Telemetry

/// The films of a kiosk: the items of its playlist, the one that plays, and what is shown while none does. Used on the
/// kiosk's thread only.
///
/// The player's events and the kiosk's commands come in. `end` is set once playback ends the kiosk.
final class KioskPlayback {
    typealias Item = PlaylistLoader.Item

    private let stage: KioskStage
    private let mailbox: Mailbox<KioskEvent>
    private let messages: KioskMessages
    private let settings: KioskSettings
    private let hours: ScheduleFollower
    private let resume: ResumeState
    private let screen: KioskScreen
    private let files: ItemsWatch

    /// The number of searches for items; results of earlier searches are dropped.
    private var search = 0
    private var exclusions: ItemExclusions
    private var items = KioskItems()
    private var progress = ItemProgress()
    private var retry = PlaylistRetry()
    private let slate: KioskSlate
    /// Synchronization with the other kiosks of a wall; nil without a wall.
    private(set) var wall: KioskWall?
    private var rules = TimelineRules.own
    /// True while the player plays an item of the playlist.
    private(set) var isPlaying = false
    /// True while the player plays the test sound, because no item advances.
    private(set) var isTesting = false
    /// Whether an item has played.
    private var hasPlayed = false
    /// The last failure, shown on the slate.
    private var lastFailure: String?
    /// Whether the current item is reported once it plays: it was opened while the slate said that nothing can be
    /// played.
    private var isUnannounced = false
    /// With `on_broken_item = "stop"` or `"slate"`: the item at which the kiosk ends or shows a slate, its failure, and
    /// whether a part of it plays before.
    private var pausePoint: (item: QueueItem, failure: TalkieError, isPlayed: Bool)?
    /// The number of playlists that the player was given to open.
    private var openings = 0
    /// The addresses of the items in the order of a shuffled pass that is interrupted there.
    private var shuffledPass: [String] = []
    /// The address of an item that lacks progress, with the cause; nil if the current one advances.
    var stalledItem: (address: String, cause: Liveness.Cause)?
    /// The address of an item that was reported as one that cannot be played, while it is the current one.
    private var unplayable: String?
    /// Whether a command had paused the kiosk before `lend`.
    private var wasHeld = false
    /// The item that was shown last.
    private(set) var shownItem: KioskHealth.Item?
    /// The reason to end the kiosk; nil while it continues.
    private(set) var end: KioskEnd?

    /// Creates the playback of a kiosk; `begin` searches for its items.
    ///
    /// - Throws: `ExhaustionError` if the system provides no descriptor.
    init(
        _ stage: KioskStage, _ mailbox: Mailbox<KioskEvent>, messages: KioskMessages, settings: KioskSettings,
        hours: ScheduleFollower, resume: ResumeState, screen: KioskScreen, sound: KioskRouteSupervisor?
    ) throws(ExhaustionError) {
        (self.stage, self.mailbox, self.messages, self.settings) = (stage, mailbox, messages, settings)
        (self.hours, self.resume, self.screen) = (hours, resume, screen)
        slate = KioskSlate(stage.player, messages: messages, settings: settings, screen: screen, routeSupervisor: sound)
        exclusions = ItemExclusions(stage.crashes)
        files = try ItemsWatch(clock: stage.clock) { mailbox.post(.found($0)) }
    }

    private var player: Player { stage.player }
    private var configuration: KioskConfiguration { settings.configuration }
    private var now: HostInstant { stage.clock.now }
    /// The item that plays or is opened next; nil until items were found.
    private var current: Item? { progress.item }

    // MARK: Thread

    /// Starts the thread that searches for items.
    ///
    /// - Throws: `ExhaustionError` if the system provides no thread.
    func start() throws(ExhaustionError) { try files.start() }

    /// Joins the wall, if there is one, and searches for items.
    func begin() {
        joinWall()
        findItems()
    }

    /// When `performDueWork` must be called at the latest; nil without a deadline.
    var nextDeadline: HostInstant? { [retry.due, wall?.nextMeasurement].compactMap { $0 }.min() }

    /// Searches for items, and opens the playlist if an attempt is due.
    func performDueWork() {
        files.runDueWork()
        if retry.consumeDue(at: now) { open() }
        wall?.performDueWork()
    }

    /// Stops the threads.
    func stop() {
        wall?.stop()
        files.stop()
    }

    /// Records a normal end of the program: the current item is not blamed as for a crash.
    func recordEnd() { exclusions.close() }

    // MARK: Items

    /// Searches for the items of the current programme.
    func findItems() {
        search += 1
        files.find(hours.shown.settings.playlist, search: search)
    }

    /// Takes over the result of a search; results of earlier searches are dropped.
    func applySearchResult(_ found: ItemsWatch.Found) {
        guard found.search == search else { return }
        for remark in found.remarks { messages.say(.warning, remark) }
        if let failure = found.failure {
            lastFailure = failure
            messages.say(.error, failure)
        }
        items.setFound(found.items)
        applyExclusions()
    }

    /// Plays items again whose exclusion is over.
    func expireExclusions(at now: HostInstant) {
        if exclusions.expire(at: now, wall: stage.now()) { applyExclusions() }
    }

    /// Plays the found items, except those that are excluded at present.
    private func applyExclusions() {
        let (admitted, new) = exclusions.admit(items.found, at: now)
        for (item, reason) in new {
            let sentence = ItemExclusions.sentence(item, reason)
            if admitted.isEmpty {
                lastFailure = "\(sentence); no other item is left, so it is retried \(exclusions.retryText)"
            }
            messages.sayAlways(.error, sentence, KioskNote(.broken, item: item.address))
        }
        if pausePoint != nil {
            pausePoint = nil
            // `pause(at:)` ended the loop.
            applyLoop()
        }
        items.setAdmitted(admitted)
        guard !items.isEmpty else {
            wall?.cancelMeasurement()
            // The current film is played to its end.
            if isPlaying { return player.replaceAll(with: []) }
            player.removeAll()
            return show(.nothing(lastFailure))
        }
        if let wall { return wall.measure(admitted, search: search) }
        guard current != nil else { return beginPlaylist() }
        messages.say(
            .info, "the list now has \(admitted.count == 1 ? "one film" : "\(admitted.count) films")",
            KioskNote(.schedule))
        guard isPlaying, !items.isUnopened else {
            // New items may precede those that could not be played.
            load(startingWith: slate.isNothing ? nil : current?.address, at: items.unopenedPosition)
            // Tried at once after a change.
            if !hours.isWaiting { retry.makeDue(at: now) }
            return
        }
        player.apply(.replaceAll(items.playlist(exclusions.isSuspect), order: order))
    }

    private var order: PlayerOptions.PlaylistOrder {
        // A list that is opened again after a slate has another order.
        isShuffled ? .shuffled(seed: stage.seed &+ UInt64(openings)) : .listed
    }
    private var isShuffled: Bool { hours.shown.settings.order == .shuffled }

    private func beginPlaylist() {
        let start = items.start(from: resume.consumePosition())
        player.setRetry(.eachPass)
        applyLoop()
        load(startingWith: start.address, at: start.position)
        open()
    }

    /// Makes the items the playlist that is opened next.
    private func load(startingWith address: String?, at position: MediaTime?) {
        progress.select(items.load(startingWith: address, at: position, exclusions.isSuspect))
    }

    /// Applies a change of the items that are played alone.
    private func applySuspects() {
        guard rules.allowsSeeking, pausePoint == nil else { return }
        if let changed = items.changedPlaylist(exclusions.isSuspect) { player.replaceAll(with: changed) }
    }

    // MARK: Opening

    /// Opens the current item of the playlist.
    ///
    /// - Parameter position: Ignored for a playlist that the player does not have yet: it has its own one.
    func open(at position: MediaTime? = nil) {
        guard !items.isEmpty, current != nil else { return show(.nothing(lastFailure)) }
        if hours.isWaiting { return }
        if startOnWall() { return }
        (isPlaying, isTesting) = (true, false)
        slate.markImageReplaced()
        let attempt = retry.begin()
        if let unopened = items.consumeUnopened() {
            openings += 1
            // `pause(at:)` ends the loop.
            applyLoop()
            player.open(
                unopened.items, startingWith: unopened.first, at: unopened.position,
                order: unopened.isArranged ? .listed : order)
            // The rest of an interrupted pass keeps its order; later passes are shuffled again.
            if unopened.isArranged { player.apply(.replaceAll(unopened.items, order: order)) }
            progress.expectOpening()
        } else if attempt == .skip {
            // The end of the list may follow, without an opening.
            player.skipFailed()
        } else {
            if attempt == .reopen { player.reopen(at: position) } else { player.startOver() }
            progress.expectOpening()
        }
        // The image of a slate is shown even while paused.
        if slate.isHeld { player.pause() }
    }

    /// Restarts playback at the current position, which refills all buffers.
    ///
    /// - Parameter isWaiting: Whether playback waits for data.
    func restart(isWaiting: Bool) {
        if isWaiting || !rules.allowsSeeking { open() } else { player.seek(to: player.state.position) }
    }

    /// Records that the current item is left because it makes no progress. Returns the sentence about it; nil if the
    /// kiosk ends, or without an item.
    private func leaveCurrent(for cause: Liveness.Cause) -> String? {
        guard let current else { return nil }
        let sentence = "'\(ItemProgress.name(of: current))' was left: \(cause.rawValue)"
        record(problemOf: current, sentence, isSkipped: false, .error)
        let time = player.synchronizer.currentTime()
        exclusions.recordStalled(current, for: cause, isDamaged: player.state.isAudioUndecodable(at: time))
        exclusions.recordLeft()
        guard configuration.onBrokenItem == .stop else { return sentence }
        end(.broken(TalkieError(.failed, sentence)))
        return nil
    }

    /// Skips an item that makes no progress.
    func passOver(for cause: Liveness.Cause) {
        guard let sentence = leaveCurrent(for: cause), let current else { return }
        if rules.restartsByClock { return open() }
        guard configuration.onBrokenItem == .slate else {
            progress.leave()
            return player.skip()
        }
        interrupt(after: current.address, in: player.state.items.map(\.address), showing: sentence)
    }

    /// Leaves the only item, which makes no progress, and plays the test sound under a slate with the reason.
    func test(for cause: Liveness.Cause) {
        guard let sentence = leaveCurrent(for: cause) else { return }
        progress.leave()
        (isPlaying, isTesting, lastFailure) = (false, true, sentence)
        showNothing(sentence)
        slate.markImageReplaced()
        player.openOutsideList(TestSound.address)
        player.play()
        progress.expectOpening()
    }

    /// Ends the test after the test sound has advanced: the item that was left is at fault.
    private func endTest(at now: HostInstant) {
        isTesting = false
        if exclusions.suspectsSharedDecoder {
            return end(.needsRestart("several films in a row show no picture, and silence advances"))
        }
        let test = Item(address: TestSound.address)
        guard exclusions.recordAdvancing(test, hasAudio: player.state.hasAudio, at: now) else { return open() }
        applyExclusions()
    }

    /// Pauses the current item, and shows a slate before the item that follows another one.
    ///
    /// - Parameter pass: The addresses of the items from that one on, in the order of playback.
    private func interrupt(after address: String, in pass: [String], showing sentence: String) {
        progress.leave()
        exclusions.recordLeft()
        isPlaying = false
        lastFailure = sentence
        player.pause()
        showSlate(after: address, in: isShuffled ? pass : [])
    }

    // MARK: Player events

    /// Handles an event of the player.
    func handle(_ event: PlayerEvent) {
        switch event {
        case .phase(.opening):
            if let isCommanded = progress.consumeOpening() { handleOpening(isCommanded: isCommanded) }
        case .phase(let phase):
            guard !progress.isReplaced, !isTesting else { return }
            if slate.isImage { return slate.handleImage(phase) }
            handlePhase(phase)
        case .began(let item, let time, let isJoined):
            if !progress.isReplaced, !isTesting, !slate.isImage { film(item, beganAt: time, isJoined: isJoined) }
        case .failed(let item, let failure):
            exclusions.recordFailed(Item(item), isPresent: Self.isPresent(item.address))
            guard !progress.isReplaced else { return }
            record(progress.skip(item))
            if configuration.onBrokenItem != .skip, rules.allowsSeeking { return pause(at: item, failure) }
            recordBroken(Item(item), failure)
        case .incomplete(let item, let failure):
            guard !progress.isReplaced else { return }
            record(problemOf: Item(item), failure.error.message, isSkipped: false, .warning)
            if failure.error.code != .failed { unplayable = item.address }
            if configuration.onBrokenItem != .skip, rules.allowsSeeking {
                pause(at: item, failure.error, isPlayed: true)
            }
        case .ended(let item): if !isTesting, item.address != TestSound.address { recordEnded(Item(item)) }
        case .lost(let failure):
            guard !progress.isReplaced else { return }
            guard rules.allowsWaiting else { return messages.say(.error, failure.message) }
            isPlaying = false
            record(progress.interrupt())
            // The player tries again, unless the image of the slate has replaced its items.
            retry.cancel()
            // It may have returned before this event was handled: the image would interrupt the film.
            if ![.buffering, .playing].contains(player.state.phase) { showNothing(lastFailure) }
            if slate.isImage { retry.scheduleNextPass(at: now) }
        case .message, .outputProblem, .outputRecovered, .routeChanged, .interruption, .looped, .seeking, .sought: break
        }
    }

    private func handlePhase(_ phase: PlayerState.Phase) {
        let wasOpen = progress.isOpen
        let change = progress.enter(phase)
        record(change.remarks)
        switch phase {
        case .buffering:
            if !wasOpen, current != nil { isPlaying = true }
            if change.isToBeShown { showFilm() }
        case .playing:
            hasPlayed = true
            retry.resetDelay()
            if let current { exclusions.recordPlaying(current, at: now) }
            lastFailure = nil
            if isUnannounced { announceFilm() }
            showSlateOfFilm()
        case .ended:
            exclusions.recordEnded(at: now)
            continueAfterItem()
        case .failed:
            let state = player.state
            let item = state.current.map { Item($0) } ?? current ?? Item(address: "")
            exclusions.recordFailed(item, isPresent: Self.isPresent(item.address))
            recordBroken(item, state.failure ?? TalkieError(.failed, "the film cannot be played"))
            continueAfterFailure()
        case .paused where isUnannounced:
            announceFilm()
            showSlateOfFilm()
        case .idle, .opening, .paused: break
        }
    }

    /// Whether a failure to open an item concerns its contents: its file is there.
    private static func isPresent(_ address: String) -> Bool { FileEdition(of: address) != nil }

    private func handleOpening(isCommanded: Bool) {
        guard !slate.isImage, !isTesting, let item = player.state.current else { return }
        let isAlone = items.isAlone(item.address) || current.map { items.isAlone($0.address) } ?? false
        guard let change = progress.open(item, isCommanded: isCommanded, isSeparate: isAlone) else { return }
        record(change.remarks)
        if change.hasEnded { exclusions.recordEnded(at: now) }
        // At once: nothing can follow an item gaplessly whose audio a speaker has received to its end.
        applySuspects()
        // Attempts of a list without playable items do not count as playing.
        if !slate.isNothing { isPlaying = true }
    }

    /// Records that an item has ended. A damaged one that has lacked progress is charged as one that was left: once all
    /// of it was read and nothing could be decoded, it ends early. So is one that has stalled before, and cannot be
    /// played.
    private func recordEnded(_ item: Item) {
        if unplayable.take() == item.address { exclusions.recordFailed(item) }
        guard let (address, cause) = stalledItem, address == item.address, items.hasProblem(item) else {
            return items.recordEnded(item)
        }
        stalledItem = nil
        exclusions.recordStalled(item, for: cause, isDamaged: true)
        exclusions.recordLeft()
    }

    /// Logs that an item was not played, or not completely, once per pass.
    private func record(problemOf item: Item, _ sentence: String, isSkipped: Bool, _ level: LogLevel) {
        guard items.recordProblem(of: item, sentence, isSkipped: isSkipped) else { return }
        messages.sayAlways(level, sentence, KioskNote(.broken, item: item.address))
    }

    private func record(_ remarks: [TimelineRemark]) {
        for remark in remarks { stage.distributor.record(remark) }
    }

    /// Handles the start of an item after the previous one.
    private func film(_ item: QueueItem, beganAt time: MediaTime, isJoined: Bool) {
        let change = progress.begin(item, at: time, origin: isJoined ? player.state.timelineOffset : nil)
        record(change.remarks)
        if change.isToBeShown {
            exclusions.recordBegan(Item(item), at: now)
            showFilm()
        } else {
            exclusions.recordClosed(before: Item(item))
        }
        applySuspects()
    }

    /// Shows the current item: title, log line, window and display mode.
    private func showFilm() {
        guard let current else { return }
        unplayable = nil
        items.recordOpened(current)
        let state = player.state
        // An attempt that fails again leaves the slate.
        isUnannounced = slate.isNothing
        if !isUnannounced { announceFilm() }
        shownItem = KioskHealth.Item(ItemProgress.name(of: current), index: state.itemNumber, began: stage.now())
        guard screen.isPresent else { return }
        screen.open()
        if configuration.mode == .film { screen.applyMode(for: player) }
        if !isUnannounced { showSlateOfFilm() }
    }

    /// Removes the slate; shows one for an item with audio only.
    private func showSlateOfFilm() {
        guard screen.isPresent, !player.state.hasVideo, let current else { return slate.hide() }
        show(.audio(title: current.title ?? player.state.title))
    }

    private func announceFilm() {
        guard let current else { return }
        let state = player.state
        isUnannounced = false
        // The player may have passed an item without media already.
        let isPresent = state.current.map { Item($0) == current } ?? false
        let title = current.title ?? (isPresent ? state.title : PrintableText.name(of: current.address))
        let place = isPresent ? " (\(state.itemNumber) of \(state.itemCount))" : ""
        messages.say(.info, "playing '\(title)'\(place)", KioskNote(.item, item: current.address))
    }

    // MARK: Ends and failures

    /// Lets the items before a broken one play to their end; the kiosk ends then, or shows a slate.
    ///
    /// - Parameter isPlayed: Whether the item plays as far as it goes, because it is incomplete.
    private func pause(at item: QueueItem, _ failure: TalkieError, isPlayed: Bool = false) {
        guard pausePoint == nil else { return }
        let state = player.state
        let all = state.items
        let present = all.firstIndex { $0 == state.current } ?? 0
        let end = all.firstIndex(of: item) ?? all.endIndex
        var rest = end > present ? all[(present + 1)..<end] : all.dropFirst(present + 1) + all[..<end]
        if isPlayed {
            // It is reported while it plays; otherwise the next one has begun, which plays again after the slate.
            guard end == present else {
                if configuration.onBrokenItem == .stop { return self.end(.broken(failure)) }
                return interrupt(after: item.address, in: [item.address] + all.map(\.address), showing: failure.message)
            }
            rest = []
        }
        pausePoint = (item, failure, isPlayed)
        shuffledPass = isShuffled ? all.map(\.address) : []
        player.setLoop(item: .times(0), list: .times(0))
        player.setNext(Array(rest))
    }

    /// Continues after the end of the playlist.
    private func continueAfterItem() {
        isPlaying = false
        if let broken = pausePoint {
            pausePoint = nil
            lastFailure = broken.failure.message
            if !broken.isPlayed { recordBroken(Item(broken.item), broken.failure) }
            guard configuration.onBrokenItem != .stop else { return end(.broken(broken.failure)) }
            return showSlate(after: broken.item.address, in: shuffledPass)
        }
        guard !items.isEmpty, current != nil else { return show(.nothing(lastFailure)) }
        if !configuration.loops, progress.isOpen { return end(.done) }
        if rules.restartsByClock, progress.isOpen { return open() }
        // No item of the playlist was ever played: retried from the start after a delay or a change.
        retry.schedule(.startOver, at: now)
        showNothing(lastFailure)
    }

    /// Names a broken item on the slate for a while; the items that follow it are opened then.
    ///
    /// - Parameter pass: The addresses of the items in the order of a shuffled pass; empty: the order of the list.
    private func showSlate(after address: String, in pass: [String]) {
        let next = pass.isEmpty ? items.address(after: address) : items.address(after: address, in: pass)
        guard !items.isEmpty, next != nil || configuration.loops else { return end(.done) }
        // Another pass is shuffled as a whole.
        progress.select(items.load(startingWith: next, at: nil, in: next == nil ? [] : pass, exclusions.isSuspect))
        retry.schedule(.reopen, at: now)
        showNothing(lastFailure)
    }

    private func continueAfterFailure() {
        isPlaying = false
        if pausePoint != nil || items.isEmpty { return continueAfterItem() }
        if rules.restartsByClock {
            if hasPlayed { return open() }
            retry.schedule(.reopen, at: now)
            return showNothing(lastFailure)
        }
        let state = player.state
        let isLast = state.itemNumber >= state.itemCount && !(configuration.loops && hasPlayed)
        guard slate.shown == nil, configuration.onBrokenItem == .slate, let lastFailure, !isLast else {
            return player.skipFailed()
        }
        retry.schedule(.skip, at: now)
        showNothing(lastFailure)
    }

    private func recordBroken(_ item: Item, _ failure: TalkieError) {
        lastFailure = failure.message
        record(problemOf: item, failure.message, isSkipped: true, .error)
        if configuration.onBrokenItem == .stop { end(.broken(failure)) }
    }

    private func end(_ end: KioskEnd) { if self.end == nil { self.end = end } }

    // MARK: Schedule and configuration

    /// Starts playback at the configured time, or shows when it starts.
    func applyStart() {
        if hours.hasStarted(at: stage.now()) {
            slate.hide()
            if !isPlaying { open() }
        } else if let start = hours.start, slate.shown == nil, !hours.shown.isQuiet {
            show(.begins(start))
        }
    }

    /// Pauses for quiet hours.
    func beginQuietHours() {
        retry.cancel()
        player.pause()
    }

    /// Continues after quiet hours.
    func endQuietHours() {
        if !slate.isHeld { player.play() }
        if rules.restartsByClock || !isPlaying { open() }
    }

    /// Whether a changed start takes effect at once.
    var canMoveStart: Bool { !isPlaying && rules.allowsWaiting }

    /// Applies a change of the configuration.
    func apply(_ change: KioskSettings.Change) {
        switch change {
        case .loops: applyLoop()
        case .start:
            let wasAhead = hours.beginsAt != nil
            hours.waitForStart(at: stage.now())
            if case .begins? = slate.shown { slate.hide() }
            if wasAhead, hours.beginsAt == nil { open() }
        case .imageDuration:
            stage.setImageDuration(configuration.imageDuration)
            wall?.forgetExtents()
            // The position of a clock depends on all durations.
            if rules.restartsByClock { findItems() }
        case .mode: screen.applyMode(for: player)
        case .slate: if slate.changeImage(slateImage) { progress.expectOpening() }
        }
    }

    /// Applies `loop`. The current film and a wall's time continue.
    private func applyLoop() {
        player.setLoop(item: .times(0), list: configuration.loops ? .forever : .times(0))
        wall?.setLoops(configuration.loops)
    }

    // MARK: Commands

    /// Performs a command of `ControlTable.kiosk` that concerns playback.
    func carryOut(_ request: ControlRequest) throws(ControlError) {
        switch request.property?.name ?? request.command.name {
        case "playlist-next":
            try checkStep()
            // A skip would end the image of the slate.
            guard isPlaying else { throw ControlError(.unavailable, "no film is shown") }
            exclusions.recordLeft()
            player.skip()
        case "playlist-prev":
            try checkStep()
            guard current != nil, !isTesting, player.state.itemNumber > 1 else {
                throw ControlError(.unavailable, "this is the first film")
            }
            retry.cancel()
            slate.markImageReplaced()
            progress.leave()
            exclusions.recordLeft()
            player.previous()
            if slate.isHeld { player.pause() }
        case "pause" where request.arguments[1] == .flag(true):
            slate.hold()
            player.pause()
        case "pause":
            wasHeld = false
            continuePlayback()
        case "slate":
            player.pause()
            slate.hold(showing: request.arguments[0]?.text)
        case "volume": if let volume = request.arguments[1]?.number { player.setVolume(volume) }
        default: break
        }
    }

    // MARK: Calibration

    /// Stops playback, for another use of screen and outputs, until `showAgain`.
    ///
    /// - Throws: `unavailable` if nothing is shown at this time.
    func lend() throws(ControlError) {
        guard !hours.isWaiting else { throw ControlError(.unavailable, "nothing is scheduled at this time") }
        wasHeld = slate.isHeld
        slate.hold()
        player.pause()
        screen.lend()
    }

    /// Shows the films and the slate again. Playback continues with `continuePlayback`.
    func showAgain() {
        screen.showPlayer()
        slate.refresh()
    }

    /// Continues playback after `lend`, unless it was paused before.
    func continuePlayback() {
        guard !wasHeld else { return }
        if slate.resume(image: slateImage) { progress.expectOpening() }
        if !startOnWall(), !hours.isWaiting { player.play() }
    }

    /// Throws if no other film may be chosen.
    private func checkStep() throws(ControlError) {
        guard rules.allowsSeeking else {
            throw ControlError(.unavailable, "a wall plays at the position of its clock; its screens cannot seek")
        }
        guard !hours.isWaiting else { throw ControlError(.unavailable, "nothing is scheduled at this time") }
    }

    // MARK: Wall

    private func joinWall() {
        guard let settings = configuration.wall else { return }
        let report: @Sendable (String) -> Void = { [mailbox] in mailbox.post(.remark(.warning, $0)) }
        let clock = WallClock(chrony: ChronyReader(host: settings.chrony, port: settings.chronyPort), report: report)
        do throws(ExhaustionError) { try clock.start() } catch { return messages.say(.error, error.message) }
        wall = KioskWall(stage, clock: clock, report: report) { [mailbox] in mailbox.post(.measured($0)) }
        rules = .wall
        // The position follows from the wall's time, whenever the kiosk was started.
        hours.skipStart()
    }

    /// Plays measured items of the current programme.
    func applyMeasurement(_ measured: KioskWall.Measured) {
        guard let wall, measured.search == search else { return }
        for failure in measured.failures {
            lastFailure = failure
            messages.say(.error, failure, KioskNote(.broken))
        }
        // A time of day recurs daily: the wall's time continues across changes of the list.
        let epoch = settings.start.wallBeginning(
            at: stage.now(), remembered: wall.timeline?.epoch, calendar: stage.calendar)
        switch wall.play(measured, from: epoch, loops: configuration.loops) {
        case .unchanged: return
        case .unplayable: return show(.nothing(lastFailure))
        case .replaced: slate.markImageReplaced()
        }
        if current == nil { progress.select(measured.items[0]) }
        isPlaying = false
        _ = startOnWall()
    }

    /// Starts at the wall's current position, or shows the slate before its start. Returns false without a wall.
    private func startOnWall() -> Bool {
        guard let wall else { return false }
        guard !hours.isWaiting, !slate.isHeld else { return true }
        let start = wall.start(at: now)
        isPlaying = start == .started
        if case .begins(let time) = start { show(.begins(stage.calendar.local(time).time.text)) }
        return true
    }

    /// Starts playback on a wall once possible, and seeks if a rate change would take too long.
    func synchronize(at now: HostInstant) {
        guard !hours.isWaiting, !slate.isHeld else { return }
        if isPlaying { wall?.seekIfDue(at: now) } else { _ = startOnWall() }
    }

    // MARK: Slate

    /// Shows a slate. A slate of a fleet command stays visible while the kiosk is paused.
    func show(_ slate: Slate) { if self.slate.show(slate, image: slateImage) { progress.expectOpening() } }

    /// Shows that nothing can be played.
    private func showNothing(_ reason: String?) {
        if slate.showNothing(reason, image: slateImage) { progress.expectOpening() }
    }

    /// The configured image; nil if it cannot be shown at present.
    private var slateImage: String? {
        configuration.slate.flatMap { isPlaying || isTesting || exclusions.isSkipped($0) ? nil : $0 }
    }

    /// Updates the text of the slate, which may have changed.
    func refreshSlate() { slate.refresh() }

    // MARK: State

    /// Returns what is shown at present.
    ///
    /// - Parameter waitingSince: Since when playback lacks data; nil while it does not wait for any.
    func situation(waitingSince: HostInstant?) -> KioskSituation {
        var situation = KioskSituation(start: hours.start, slate: slate.shown, isHeld: slate.isHeld)
        situation.failure = lastFailure
        if hours.shown.isQuiet { situation.quietEnd = hours.quietEnd(after: stage.now()) }
        guard let current, isPlaying else { return situation }
        let state = player.state
        situation.playing = .init(item: current, number: state.itemNumber, count: state.itemCount)
        if rules.allowsWaiting, let waitingSince, now - waitingSince >= Presence.tolerance {
            situation.awaitedSource = InputCheck.isAddress(current.address) ? "the network" : "the disk"
        }
        return situation
    }

    /// Whether something is shown, or the reason why not is known.
    var isReady: Bool { slate.shown != nil || hours.isWaiting || player.state.phase == .playing }
    /// Whether an item should be visible and audible.
    var isExpected: Bool { (isPlaying || isTesting) && !hours.isWaiting && !slate.isHeld }
    /// Whether the kiosk is in sync with others.
    var isWall: Bool { rules == .wall }
    /// Sentences about items that are not played at present.
    var skippedItems: [String] { exclusions.sentences + (wall?.failures ?? []) + items.sentences(isSkipped: true) }
    /// Sentences about items of which a part was missing the last time.
    var incompleteItems: [String] { items.sentences(isSkipped: false) }
    /// The number of playbacks that were missing or incomplete.
    var problemCount: Int { items.problemCount }
    /// The item that follows; nil if none is known.
    var next: QueueItem? { items.isEmpty ? nil : player.state.next }

    /// The position to resume at; nil unless an item is open.
    var resumePosition: KioskResumePositions.Position? {
        guard isPlaying, progress.isOpen, let current else { return nil }
        return KioskResumePositions.Position(address: current.address, position: player.state.position)
    }

    /// The current item, as the watch sees it; nil without one.
    var watchedItem: RepairLadder.Item? {
        if isTesting { return RepairLadder.Item(TestSound.address, hasOther: false) }
        guard let current else { return nil }
        let address = current.address
        let isListed = items.contains(address)
        let hasOther = rules.allowsSeeking && (items.count > 1 || !isListed || !configuration.loops)
        var item = RepairLadder.Item(
            address, isRemote: InputCheck.isAddress(address), hasOther: hasOther, otherCount: items.count - 1,
            hasFailed: exclusions.hasFailed(current), isTestable: rules.allowsSeeking && configuration.hasAudio)
        item.isUnplayable = unplayable == address
        item.wasExcluded = exclusions.wasExcluded(current)
        return item
    }

    /// Records that the current item has advanced for some time: items that were left before it are at fault.
    func recordAdvancing(at now: HostInstant) {
        if isTesting {
            // An output with a deep buffer lets all of it be read, also if another one accepts nothing.
            let accepted = player.state.handedUntil ?? .zero
            return accepted > player.synchronizer.currentTime() ? endTest(at: now) : ()
        }
        guard let current, exclusions.recordAdvancing(current, hasAudio: player.state.hasAudio, at: now) else { return }
        applyExclusions()
    }

    /// Records that the current item presents video or audio.
    func recordProgress(at now: HostInstant) {
        guard let current, !isTesting else { return }
        if exclusions.recordProgress(of: current, at: now) { applySuspects() }
    }

    /// Permits stuck items again: the fault was not in the items.
    func forgiveStuckItems() { exclusions.forgiveStuck() }

    /// Adds the current item and the wall's state to a message.
    func describe(in message: inout KioskStateMessage) {
        let state = player.state
        if let current, isPlaying {
            message.title = current.title ?? state.title
            (message.item, message.items) = (state.itemNumber, state.itemCount)
            (message.position, message.duration) = (state.position, state.duration)
        }
        message.volume = state.volume
        wall?.describe(in: &message)
    }
}
