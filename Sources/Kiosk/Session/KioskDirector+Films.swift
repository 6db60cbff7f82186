internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput
internal import SyncRendering
internal import Telemetry

// The sequence of films: what follows, what has started, what cannot be played.
extension KioskDirector {
    /// Searches for the items of the current programme.
    func look() {
        programme += 1
        files.find(shown.programme.playlist, programme: programme)
    }

    /// Takes over the result of a search; results of earlier searches are dropped.
    func take(_ found: ItemsWatch.Found) {
        guard found.programme == programme else { return }
        for remark in found.remarks { say(.warning, remark) }
        if let failure = found.failure {
            lastFailure = failure
            say(.error, failure)
        }
        self.found = found.items
        toldBroken.formIntersection(found.items)
        applyExclusions()
    }

    /// Plays the found items, except those that are excluded at present.
    func applyExclusions() {
        let (items, new) = exclusions.admit(found, at: now)
        for (item, reason) in new {
            let sentence = ItemExclusions.sentence(item, reason)
            if items.isEmpty { lastFailure = "\(sentence); no other item is left, so it is retried after a minute" }
            stage.log.say(.error, sentence, KioskNote(.broken, item: item.address))
        }
        take(items)
    }

    private func take(_ items: [PlayQueue.Item]) {
        stopBefore = nil
        hasFilms = !items.isEmpty
        guard hasFilms else {
            // The current film is played to its end.
            toCome.removeAll()
            return isPlaying ? stage.player.setNext([]) : showSlate(.nothing(lastFailure))
        }
        if wall != nil { return measure(items) }
        guard queue != nil else { return begin(with: items) }
        say(.info, "the list now has \(Self.films(items.count))", KioskNote(.schedule))
        queue?.replace(with: items, order: order)
        guard isPlaying else {
            // New items may precede those that could not be played.
            if case .nothing? = slate { queue?.startOver() }
            return openSoon()
        }
        if let queue { toCome.renew(behind: queue) }
        announce()
    }

    static func films(_ count: Int) -> String { count == 1 ? "one film" : "\(count) films" }

    private var order: PlayQueue.Order {
        shown.programme.order == .shuffled ? .shuffled(seed: stage.seed) : .listed
    }

    private func begin(with items: [PlayQueue.Item]) {
        var queue = PlayQueue(items, loop: configuration.loops ? .forever : .times(0), order: order)
        var position: MediaTime?
        if let place = kept.place {
            if let film = place.film(among: items.map(\.address)), queue.go(to: film) {
                position = place.position
            } else if let film = place.film(among: found.map(\.address)), let next = following(film, among: items) {
                _ = queue.go(to: next)
            }
        }
        kept.place = nil
        self.queue = queue
        open(at: position)
    }

    /// Returns the first of `items` that follows the excluded `address` in the list; nil if `address` was not found.
    private func following(_ address: String, among items: [PlayQueue.Item]) -> String? {
        guard let place = found.firstIndex(where: { $0.address == address }) else { return nil }
        let admitted = Set(items)
        return found[place...].first(where: admitted.contains)?.address
    }

    // MARK: Opening

    /// Opens the current item of the playlist.
    func open(at position: MediaTime? = nil) {
        guard hasFilms, let queue else { return showSlate(.nothing(lastFailure)) }
        if isWaiting { return }
        if wall != nil { return meetWall() }
        opensUnderWay += 1
        isSlatePicture = false
        isPlaying = true
        nextAttempt = nil
        toCome.removeAll()
        stage.distributor.note(.film(Self.name(of: queue.current)))
        stage.player.open(queue.current.address, at: position)
        // The image of a slate is shown even while paused.
        if isHeld { stage.player.pause() }
    }

    /// Retries at once after a change.
    private func openSoon() { if !isWaiting { nextAttempt = now } }

    func openIfDue() {
        guard let due = nextAttempt, due <= now else { return }
        open()
    }

    // MARK: Player events

    func take(_ news: PlayerNews) {
        switch news {
        case .phase(.opening):
            opensUnderWay = max(0, opensUnderWay - 1)
        case .phase(let phase):
            guard opensUnderWay == 0 else { return }
            if isSlatePicture { return takeOfSlate(phase) }
            stage.distributor.note(.phase(phase.rawValue))
            take(phase)
        case .message(let text): say(.warning, text)
        case .began(let item, let moment, let isJoined):
            if opensUnderWay == 0 { film(item, beganAt: moment, isJoined: isJoined) }
        case .failed(let item, let failure):
            exclusions.noteFailed(item.address)
            guard opensUnderWay == 0, let queue, !toCome.hasForgotten(item) else { return }
            if configuration.onBrokenItem == .stop, toCome.items.contains(item) {
                // The current film, and those before the broken one, are played to their end.
                stopBefore = stopBefore ?? (item, failure)
                return announce()
            }
            let isToCome = toCome.failed(item, behind: queue)
            tellBroken(item.address, failure)
            if isToCome { announce() }
        case .incomplete(let item, let failure):
            // Once per item: a playlist may loop for months.
            guard opensUnderWay == 0, queue?.item(at: item.address).map({ toldBroken.insert($0).inserted }) ?? true
            else { return }
            say(.warning, failure.error.message, KioskNote(.broken, item: item.address))
        case .lost(let failure): if opensUnderWay == 0 { say(.error, failure.message) }
        case .outputProblem(let problem):
            if problem.kind == .gainRefused { say(.warning, problem.error.message, KioskNote(.output)) }
            if problem.kind == .unresponsive { note(problem.output, isUnresponsive: true) }
        case .outputRecovered(let problem):
            if problem.kind == .unresponsive { note(problem.output, isUnresponsive: false) }
        case .looped, .seeking, .sought: break
        }
    }

    private func note(_ output: OutputID, isUnresponsive: Bool) {
        tell(sound?.note(output, isUnresponsive: isUnresponsive, at: now))
        beatNow()
    }

    private func take(_ phase: PlayerState.Phase) {
        switch phase {
        case .buffering:
            guard queue?.hasBegun == false else { return }
            queue?.noteOpened()
            showFilm()
            announce()
        case .playing:
            queue?.noteBegun()
            if let queue { exclusions.notePlaying(queue.current, at: now) }
            lastFailure = nil
            hideSlate()
        case .ended:
            exclusions.noteEnded()
            goOn()
        case .failed:
            let state = stage.player.state
            if let queue { exclusions.noteFailed(queue.current.address) }
            if let item = state.current, toCome.hasForgotten(item) { return goOn() }
            tellBroken(queue?.current.address ?? "", state.failure ?? TalkieError(.failed, "the film cannot be played"))
            goOn()
        case .idle, .opening, .paused: break
        }
    }

    /// Announces the following items to the player.
    func announce() {
        guard wall == nil, let queue else { return }
        toCome.fill(behind: queue)
        // A suspect item is played with no other item open.
        guard !exclusions.isSuspect(queue.current.address) else { return stage.player.setNext([]) }
        let next = toCome.items.prefix { $0 != stopBefore?.item && !exclusions.isSuspect($0.address) }
        stage.player.setNext(Array(next))
    }

    /// Handles the start of an item after the previous one.
    private func film(_ item: QueueItem, beganAt moment: MediaTime, isJoined: Bool) {
        if wall != nil {
            _ = queue?.go(to: item.address)
            queue?.noteBegun()
        } else {
            guard let queue = toCome.began(item) else { return }
            self.queue = queue
            // Short films after the broken one were already on the timeline when it failed.
            if let stopBefore, !toCome.items.contains(stopBefore.item) { return goOn() }
        }
        guard let queue else { return }
        exclusions.noteBegan(queue.current, at: now)
        let name = Self.name(of: queue.current)
        stage.distributor.note(
            isJoined ? .joint(name: name, at: moment, origin: stage.player.state.lineOffset) : .film(name))
        showFilm()
        announce()
    }

    /// Continues after an item that has ended or failed without a successor.
    private func goOn() {
        isPlaying = false
        if let stopBefore {
            tellBroken(stopBefore.item.address, stopBefore.failure)
            return end(.broken(stopBefore.failure))
        }
        guard hasFilms, let queue else { return showSlate(.nothing(lastFailure)) }
        guard let next = toCome.rest(of: queue).next else {
            if !configuration.loops, queue.hasBegun { return end(.done) }
            // No item of the playlist was ever played: retried from the start after a delay or a change.
            var again = queue
            again.startOver()
            self.queue = again
            return waitForFilms(Self.again)
        }
        self.queue = next
        if next.pause > .zero { return waitForFilms(next.pause) }
        if slate == nil, configuration.onBrokenItem == .slate, let lastFailure, !queue.hasBegun {
            return waitForFilms(Self.again, saying: lastFailure)
        }
        open()
    }

    /// Skips an item that makes no progress.
    func passOver(for cause: Liveness.Cause) {
        guard let queue else { return }
        switch cause {
        case .waiting: exclusions.exclude(queue.current, for: .slow, at: now)
        case .frozen, .hole, .decoder: exclusions.exclude(queue.current, for: .stuck, at: now)
        // The cause may be outside the item.
        case .engine, .picture, .sound: break
        }
        watch.startOver()
        isPlaying = false
        guard let next = toCome.rest(of: queue).next else { return goOn() }
        self.queue = next
        applyExclusions()
        if !isPlaying { open() }
    }

    private func waitForFilms(_ pause: Duration, saying reason: String? = nil) {
        toCome.removeAll()
        nextAttempt = now.advanced(by: pause)
        showSlate(.nothing(reason ?? lastFailure))
        // An attempt removes the slate image from the screen.
        if !isSlatePicture, case .nothing? = slate {
            showSlatePicture()
            refreshSlate()
        }
    }

    private func tellBroken(_ address: String, _ failure: TalkieError) {
        lastFailure = failure.message
        let item = queue.flatMap { $0.item(at: address) }
        if item.map({ toldBroken.insert($0).inserted }) ?? true {
            say(.error, failure.message, KioskNote(.broken, item: address))
        }
        if configuration.onBrokenItem == .stop { end(.broken(failure)) }
    }

    /// Shows the current item: title, log line, window and display mode.
    private func showFilm() {
        guard let queue else { return }
        let state = stage.player.state
        stage.registry.setTitle(queue.current.title ?? state.title)
        say(
            .info, "playing '\(queue.current.title ?? state.title)' (\(queue.number) of \(queue.count))",
            KioskNote(.item, item: queue.current.address))
        reporter.note(KioskHealth.Item(Self.name(of: queue.current), index: queue.number, began: stage.now()))
        guard stage.screen != nil else { return }
        attachScreen()
        if configuration.mode == .film { applyMode() }
        if state.hasVideo { hideSlate() } else { showSlate(.sound(title: queue.current.title ?? state.title)) }
    }

    func attachScreen() {
        screen?.attach(stage.player)
    }

    static func name(of item: PlayQueue.Item) -> String {
        item.title ?? PrintableText.withoutCredentials(item.address)
    }
}
