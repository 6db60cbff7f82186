internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput
internal import SyncRendering
internal import Telemetry

// The sequence of films: what follows, what has started, what cannot be played.
extension KioskDirector {
    /// Searches for the items of the current programme.
    func findItems() {
        programme += 1
        files.find(shown.programme.playlist, programme: programme)
    }

    /// Takes over the result of a search; results of earlier searches are dropped.
    func applySearchResult(_ found: ItemsWatch.Found) {
        guard found.programme == programme else { return }
        for remark in found.remarks { say(.warning, remark) }
        if let failure = found.failure {
            lastFailure = failure
            say(.error, failure)
        }
        items.setFound(found.items)
        applyExclusions()
    }

    /// Plays the found items, except those that are excluded at present.
    func applyExclusions() {
        let (admitted, new) = exclusions.admit(items.found, at: now)
        for (item, reason) in new {
            let sentence = ItemExclusions.sentence(item, reason)
            if admitted.isEmpty { lastFailure = "\(sentence); no other item is left, so it is retried after a minute" }
            stage.log.say(.error, sentence, KioskNote(.broken, item: item.address))
        }
        stopBefore = nil
        items.setAdmitted(admitted)
        guard !items.isEmpty else {
            // The current film is played to its end.
            if isPlaying { return stage.player.replaceAll(with: []) }
            stage.player.removeAll()
            return showSlate(.nothing(lastFailure))
        }
        if let wall {
            do throws(ExhaustionError) {
                try wall.measure(admitted, programme: programme, stage) { [mailbox] in mailbox.post(.measured($0)) }
            } catch {
                say(.error, error.message)
            }
            return
        }
        guard current != nil else { return beginPlaylist() }
        say(.info, "the list now has \(Self.films(admitted.count))", KioskNote(.schedule))
        guard isPlaying, !items.isUnopened else {
            // New items may precede those that could not be played.
            if case .nothing? = slate { load() } else { load(startingWith: current?.address) }
            return openSoon()
        }
        stage.player.apply(.replaceAll(items.playlist(exclusions.isSuspect), order: order))
    }

    static func films(_ count: Int) -> String { count == 1 ? "one film" : "\(count) films" }

    private var order: PlayerOptions.PlaylistOrder {
        shown.programme.order == .shuffled ? .shuffled(seed: stage.seed) : .listed
    }

    private func beginPlaylist() {
        let start = items.start(from: kept.place)
        kept.place = nil
        stage.player.setRetry(.eachPass)
        applyLoop()
        load(startingWith: start.address)
        open(at: start.position)
    }

    /// Makes the items the playlist that is opened next.
    private func load(startingWith address: String? = nil) {
        progress.select(items.load(startingWith: address, exclusions.isSuspect))
    }

    // MARK: Opening

    /// Opens the current item of the playlist.
    func open(at position: MediaTime? = nil) {
        guard !items.isEmpty, current != nil else { return showSlate(.nothing(lastFailure)) }
        if isWaiting { return }
        if startOnWall() { return }
        let (player, attempt) = (stage.player, attempt)
        (isSlatePicture, isPlaying, nextAttempt, self.attempt) = (false, true, nil, .reopen)
        if let unopened = items.takeUnopened() {
            player.open(unopened.items, startingWith: unopened.first, at: position, order: order)
            progress.expectOpening()
        } else if attempt == .skip {
            // The end of the list may follow, without an opening.
            player.skipFailed()
        } else {
            if attempt == .reopen { player.reopen(at: position) } else { player.startOver() }
            progress.expectOpening()
        }
        // The image of a slate is shown even while paused.
        if isHeld { player.pause() }
    }

    /// Retries at once after a change.
    private func openSoon() { if !isWaiting { nextAttempt = now } }

    func openIfDue() {
        guard let due = nextAttempt, due <= now else { return }
        open()
    }

    // MARK: Player events

    func handlePlayerEvent(_ event: PlayerEvent) {
        switch event {
        case .phase(.opening):
            if let isCommanded = progress.takeOpening() { noteOpening(isCommanded: isCommanded) }
        case .phase(let phase):
            guard !progress.isReplaced else { return }
            if isSlatePicture { return takeOfSlate(phase) }
            handlePhase(phase)
        case .message(let text): say(.warning, text)
        case .began(let item, let moment, let isJoined):
            if !progress.isReplaced, !isSlatePicture { film(item, beganAt: moment, isJoined: isJoined) }
        case .failed(let item, let failure):
            exclusions.noteFailed(item.address)
            guard !progress.isReplaced else { return }
            record(progress.skip(item))
            if configuration.onBrokenItem == .stop, rules.allowsSeeking { return stop(before: item, failure) }
            tellBroken(item.address, failure)
        case .incomplete(let item, let failure):
            // Once per item: a playlist may loop for months.
            guard !progress.isReplaced, items.shouldLogFailure(of: item.address) else { return }
            say(.warning, failure.error.message, KioskNote(.broken, item: item.address))
        case .lost(let failure):
            guard !progress.isReplaced else { return }
            guard rules.allowsWaiting else { return say(.error, failure.message) }
            isPlaying = false
            record(progress.interrupt())
            waitForFilms(nil)
        case .outputProblem(let problem):
            if problem.kind == .gainRefused { say(.warning, problem.error.message, KioskNote(.output)) }
            if problem.kind == .unresponsive { handleOutput(problem.output, isUnresponsive: true) }
        case .outputRecovered(let problem):
            if problem.kind == .unresponsive { handleOutput(problem.output, isUnresponsive: false) }
        case .looped, .seeking, .sought: break
        }
    }

    private func handleOutput(_ output: OutputID, isUnresponsive: Bool) {
        logRemark(
            sound?.handleOutput(output, isUnresponsive: isUnresponsive, at: now),
            rest: MessageRateLimiter.restOfChanges)
        beatNow()
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
            (hasPlayed, passDelay) = (true, nil)
            if let current { exclusions.notePlaying(current, at: now) }
            lastFailure = nil
            hideSlate()
        case .ended:
            exclusions.noteEnded(at: now)
            continueAfterItem()
        case .failed:
            let state = stage.player.state
            let address = state.current?.address ?? current?.address ?? ""
            exclusions.noteFailed(address)
            tellBroken(address, state.failure ?? TalkieError(.failed, "the film cannot be played"))
            continueAfterFailure()
        case .idle, .opening, .paused: break
        }
    }

    private func noteOpening(isCommanded: Bool) {
        guard !isSlatePicture, let item = stage.player.state.current else { return }
        let isAlone = items.isAlone(item.address) || current.map { items.isAlone($0.address) } ?? false
        guard let change = progress.open(item, isCommanded: isCommanded, isSeparate: isAlone) else { return }
        record(change.remarks)
        if change.hasEnded { exclusions.noteEnded(at: now) }
        // Attempts of a list without playable items do not count as playing.
        if case .nothing? = slate {} else { isPlaying = true }
    }

    private func record(_ remarks: [TimelineRemark]) {
        for remark in remarks { stage.distributor.record(remark) }
    }

    /// Handles the start of an item after the previous one.
    private func film(_ item: QueueItem, beganAt moment: MediaTime, isJoined: Bool) {
        let change = progress.begin(item, at: moment, origin: isJoined ? stage.player.state.lineOffset : nil)
        record(change.remarks)
        guard change.isToBeShown else { return }
        exclusions.noteBegan(Item(item), at: now)
        showFilm()
        applySuspects()
    }

    /// Applies a change of the items that are played alone.
    private func applySuspects() {
        guard rules.allowsSeeking, stopBefore == nil else { return }
        if let changed = items.changedPlaylist(exclusions.isSuspect) { stage.player.replaceAll(with: changed) }
    }

    /// Lets the items before a broken one play to their end; the kiosk ends then.
    private func stop(before item: QueueItem, _ failure: TalkieError) {
        guard stopBefore == nil else { return }
        stopBefore = (item, failure)
        let state = stage.player.state
        let all = state.items
        let present = all.firstIndex { $0 == state.current } ?? 0
        let end = all.firstIndex(of: item) ?? all.endIndex
        let rest = end > present ? all[(present + 1)..<end] : all.dropFirst(present + 1) + all[..<end]
        stage.player.setLoop(item: .times(0), list: .times(0))
        stage.player.setNext(Array(rest))
    }

    /// Continues after the end of the playlist.
    private func continueAfterItem() {
        isPlaying = false
        if let stopBefore {
            tellBroken(stopBefore.item.address, stopBefore.failure)
            return end(.broken(stopBefore.failure))
        }
        guard !items.isEmpty, current != nil else { return showSlate(.nothing(lastFailure)) }
        if !configuration.loops, progress.isOpen { return end(.done) }
        if rules.restartsByClock, progress.isOpen { return open() }
        // No item of the playlist was ever played: retried from the start after a delay or a change.
        attempt = .startOver
        waitForFilms(Self.again)
    }

    private func continueAfterFailure() {
        isPlaying = false
        if stopBefore != nil || items.isEmpty { return continueAfterItem() }
        if rules.restartsByClock { return hasPlayed ? open() : waitForFilms(Self.again) }
        let state = stage.player.state
        let isLast = state.itemNumber >= state.itemCount && !(configuration.loops && hasPlayed)
        if slate == nil, configuration.onBrokenItem == .slate, let lastFailure, !isLast {
            attempt = .skip
            return waitForFilms(Self.again, saying: lastFailure)
        }
        stage.player.skipFailed()
    }

    /// Skips an item that makes no progress.
    func passOver(for cause: Liveness.Cause) {
        guard let current else { return }
        if let reason = ItemExclusions.Reason(of: cause) { exclusions.exclude(current, for: reason, at: now) }
        watch.startOver()
        applyExclusions()
        if rules.restartsByClock { return open() }
        progress.leave()
        stage.player.skip()
    }

    /// Shows that nothing can be played, and tries the playlist again.
    ///
    /// - Parameter pause: Nil: the player tries it again, unless the image of the slate is shown.
    private func waitForFilms(_ pause: Duration?, saying reason: String? = nil) {
        nextAttempt = pause.map { now.advanced(by: $0) }
        showSlate(.nothing(reason ?? lastFailure))
        // An attempt removes the slate image from the screen.
        if !isSlatePicture, case .nothing? = slate {
            showSlatePicture()
            refreshSlate()
        }
        guard pause == nil, isSlatePicture else { return }
        // The image has replaced the player's own attempts.
        let delay = RetryDelay.later(passDelay, from: now)
        (passDelay, nextAttempt) = (delay, delay.notBefore)
    }

    private func tellBroken(_ address: String, _ failure: TalkieError) {
        lastFailure = failure.message
        if items.shouldLogFailure(of: address) {
            say(.error, failure.message, KioskNote(.broken, item: address))
        }
        if configuration.onBrokenItem == .stop { end(.broken(failure)) }
    }

    /// Shows the current item: title, log line, window and display mode.
    private func showFilm() {
        guard let current else { return }
        let state = stage.player.state
        stage.registry.setTitle(current.title ?? state.title)
        say(
            .info, "playing '\(current.title ?? state.title)' (\(state.itemNumber) of \(state.itemCount))",
            KioskNote(.item, item: current.address))
        reporter.setItem(KioskHealth.Item(ItemProgress.name(of: current), index: state.itemNumber, began: stage.now()))
        guard stage.screen != nil else { return }
        attachScreen()
        if configuration.mode == .film { applyMode() }
        if state.hasVideo { hideSlate() } else { showSlate(.sound(title: current.title ?? state.title)) }
    }

    func attachScreen() {
        screen?.attach(stage.player)
    }
}
