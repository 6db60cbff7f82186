internal import LocalOutput
internal import MediaCore
internal import Playback
internal import Routing
internal import SyncRendering
internal import Telemetry

// One film after another: what follows, what has begun, what cannot be played.
extension KioskDirector {
    /// Looks for the films of this hour.
    func look() {
        programme += 1
        files.find(shown.programme.playlist, programme: programme)
    }

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

    /// Plays what was found, without what is excluded at present.
    func applyExclusions() {
        let (items, new) = exclusions.admit(found, at: now)
        for (item, reason) in new {
            let sentence = ItemExclusions.sentence(item, reason)
            if items.isEmpty { lastFailure = "\(sentence); nothing else is left, so it is played after a minute" }
            stage.log.say(.error, sentence, KioskNote(.broken, item: item.address))
        }
        take(items)
    }

    private func take(_ items: [PlayQueue.Item]) {
        stopBefore = nil
        hasFilms = !items.isEmpty
        guard hasFilms else {
            // The film that plays goes on to its end.
            toCome.removeAll()
            return isPlaying ? stage.player.setNext([]) : showSlate(.nothing(lastFailure))
        }
        if wall != nil { return measure(items) }
        guard queue != nil else { return begin(with: items) }
        say(.info, "the list has \(Self.films(items.count)) now", KioskNote(.schedule))
        queue?.replace(with: items, order: order)
        guard isPlaying else {
            // What is new may stand before what could not be played.
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

    /// Returns the first of `items` after one that is excluded; nil where that was not found at all.
    private func following(_ address: String, among items: [PlayQueue.Item]) -> String? {
        guard let place = found.firstIndex(where: { $0.address == address }) else { return nil }
        let admitted = Set(items)
        return found[place...].first(where: admitted.contains)?.address
    }

    // MARK: Opening

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
        // The picture of a slate is shown during a pause, too.
        if isHeld { stage.player.pause() }
    }

    /// Something has changed: what could not be played is tried at once.
    private func openSoon() { if !isWaiting { nextAttempt = now } }

    func openIfDue() {
        guard let due = nextAttempt, due <= now else { return }
        open()
    }

    // MARK: What the player tells

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
                // The film that plays, and those before the broken one, are shown to their end.
                stopBefore = stopBefore ?? (item, failure)
                return announce()
            }
            let isToCome = toCome.failed(item, behind: queue)
            tellBroken(item.address, failure)
            if isToCome { announce() }
        case .incomplete(let item, let failure):
            // Once for each item: a list is played for months.
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

    /// Tells the player what follows the film that plays.
    func announce() {
        guard wall == nil, let queue else { return }
        toCome.fill(behind: queue)
        // With a suspect no other item is open.
        guard !exclusions.isSuspect(queue.current.address) else { return stage.player.setNext([]) }
        let next = toCome.items.prefix { $0 != stopBefore?.item && !exclusions.isSuspect($0.address) }
        stage.player.setNext(Array(next))
    }

    /// A film has taken the place of the one before.
    private func film(_ item: QueueItem, beganAt moment: MediaTime, isJoined: Bool) {
        if wall != nil {
            _ = queue?.go(to: item.address)
            queue?.noteBegun()
        } else {
            guard let queue = toCome.began(item) else { return }
            self.queue = queue
            // Short films after the broken one were on the timeline when it failed.
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

    /// The film is over, or cannot be played, and nothing has followed it.
    private func goOn() {
        isPlaying = false
        if let stopBefore {
            tellBroken(stopBefore.item.address, stopBefore.failure)
            return end(.broken(stopBefore.failure))
        }
        guard hasFilms, let queue else { return showSlate(.nothing(lastFailure)) }
        guard let next = toCome.rest(of: queue).next else {
            if !configuration.loops, queue.hasBegun { return end(.done) }
            // A list of which nothing was ever played: it is tried from its start, after a while or when something changes.
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

    /// Plays the next item in place of one that makes no progress.
    func passOver(for cause: Liveness.Cause) {
        guard let queue else { return }
        switch cause {
        case .waiting: exclusions.exclude(queue.current, for: .slow, at: now)
        case .frozen, .hole, .decoder: exclusions.exclude(queue.current, for: .stuck, at: now)
        // The item need not be at fault.
        case .engine, .picture, .sound: break
        }
        liveness.startOver()
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
        // An attempt takes the owner's picture from the screen.
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

    /// The film that begins is to be seen.
    private func showFilm() {
        guard let queue else { return }
        let state = stage.player.state
        stage.registry.setTitle(queue.current.title ?? state.title)
        say(
            .info, "playing '\(queue.current.title ?? state.title)' (\(queue.number) of \(queue.count))",
            KioskNote(.item, item: queue.current.address))
        item = KioskHealth.Item(Self.name(of: queue.current), index: queue.number, began: stage.now())
        guard stage.screen != nil else { return }
        attachScreen()
        if configuration.mode == .film { applyMode() }
        if state.hasVideo { hideSlate() } else { showSlate(.sound(title: queue.current.title ?? state.title)) }
    }

    func attachScreen() {
        guard let screen = stage.screen, !isScreenAttached else { return }
        isScreenAttached = true
        screen.open(for: Slate.size)
        screen.attach(stage.player.layer, timebase: stage.player.synchronizer.timebase, events: stage.player.events)
    }

    static func name(of item: PlayQueue.Item) -> String {
        item.title ?? PrintableText.withoutCredentials(item.address)
    }
}
