internal import LocalOutput
internal import MediaCore
internal import Playback
internal import Routing
internal import SyncRendering
internal import Telemetry

// One film after another: what follows, what has begun, what cannot be played.
extension SessionDirector {
    /// How long a recording's title stays on its cover: long enough for three lines.
    private static let titleTime = Duration.seconds(4)

    func goOn() {
        // What was tried ahead and failed is not tried again.
        guard let next = toCome.rest(of: queue).next else {
            // An output that was lost and has not come back.
            let isSilent = stage.player.state.outputProblems.contains { $0.kind == .silent }
            return end(firstFailure ?? (isSilent ? ExitStatus.unavailable : ExitStatus.done))
        }
        queue = next
        guard queue.pause > .zero else { return openCurrent() }
        if !isWaitingForFilms {
            isWaitingForFilms = true
            tell("Nothing in the list can be played any more; it goes on as soon as one of the films is back.")
        }
        toCome.removeAll()
        nextAttempt = .now.advanced(by: queue.pause)
    }

    /// Tries the list once more, when its pause is over.
    func openIfDue() {
        if let due = nextAttempt, due <= .now { openCurrent() }
    }

    /// A film is perceived: failures from here on are news.
    func noteFilmPlays() {
        queue.noteBegun()
        isWaitingForFilms = false
        tellOfMoreFailures()
    }

    /// How many failed without a sentence of their own.
    func tellOfMoreFailures() {
        let more = failuresInRow - Self.mostFailuresTold
        failuresInRow = 0
        if more > 0 { say(.error, more == 1 ? "one more cannot be played" : "\(more) more cannot be played") }
    }

    /// Tells the player what follows the film that plays.
    func announceFilms() {
        toCome.fill(behind: queue) { place(of: $0) != nil }
        stage.player.setNext(toCome.items)
    }

    /// A film has taken the place of the one before, without a seam or with one.
    func film(_ item: QueueItem, beganAt moment: MediaTime, isJoined: Bool) {
        guard let queue = toCome.began(item) else { return }
        forgetPlace()
        self.queue = queue
        noteFilmPlays()
        let name = queue.current.title ?? PrintableText.withoutCredentials(queue.current.address)
        stage.distributor.note(
            isJoined ? .joint(name: name, at: moment, origin: stage.player.state.lineOffset) : .film(name))
        tellOfFilm()
        if settings.sectionStart != nil { applySection() }
        announceFilms()
    }

    /// The film is open and about to collect what it needs.
    func prepareFilm() {
        queue.noteOpened()
        tellOfFilm()
        tellOfPlace()
        lookForNext()
        if settings.sectionStart != nil { applySection() }
        announceFilms()
    }

    /// Tells a person at the terminal what plays where no window does: sound alone, or no display.
    @discardableResult
    func tellTitle() -> Bool {
        guard stage.terminal.showsStatus, !arguments.isReallyQuiet, queue.hasBegun,
            stage.screen == nil || !stage.player.state.hasVideo || hasLostScreen
        else { return false }
        stage.terminal.say("talkie: " + PrintableText.sentence(playing))
        return true
    }

    private var playing: String {
        let state = stage.player.state
        let by = state.hasVideo ? "" : state.artist.map { " by \($0)" } ?? ""
        let title = "playing '\(queue.current.title ?? state.title)'\(by)"
        return queue.count > 1 ? "\(title) (\(queue.number) of \(queue.count))" : title
    }

    /// Lets people know which film it is, on window and terminal.
    private func tellOfFilm() {
        let state = stage.player.state
        let title = queue.current.title ?? state.title
        stage.registry.setTitle(title)
        if let screen = stage.screen {
            screen.setTitle(windowTitle(title))
            // A film opens a window, and so does a recording with a cover; without a picture there is none.
            if state.pictureFormat != nil, !isScreenAttached {
                isScreenAttached = true
                // The window opens while the first pictures are read.
                if let format = state.pictureFormat { screen.open(for: format) }
                screen.attach(
                    stage.player.layer, timebase: stage.player.synchronizer.timebase, events: stage.player.events)
            }
        }
        if !tellTitle(), queue.count > 1 { say(.info, playing) } else { stage.log?.write(.info, playing) }
        // A film says what it is by itself.
        if !state.hasVideo { show(StatusText.recording(state, title: title), for: Self.titleTime) }
        if state.hasAudio {
            noteRoutes()
            recallRoutes()
        }
    }
}
