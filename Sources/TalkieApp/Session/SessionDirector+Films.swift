internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput
internal import SyncRendering
internal import Telemetry

// The sequence of films: the next one, gapless boundaries, and failures.
extension SessionDirector {
    /// How long a recording's title is displayed: enough for three lines.
    private static let titleTime = Duration.seconds(4)

    func goOn() {
        // Items that failed in advance are skipped.
        guard let next = toCome.rest(of: queue).next else {
            // An output was lost and has not returned.
            let isSilent = stage.player.state.outputProblems.contains { $0.kind == .silent }
            return end(firstFailure ?? (isSilent ? ExitStatus.unavailable : ExitStatus.done))
        }
        queue = next
        guard queue.pause > .zero else { return openCurrent() }
        if !isWaitingForFilms {
            isWaitingForFilms = true
            tell("No film in the list can be played at present; playback continues as soon as one is available again.")
        }
        toCome.removeAll()
        nextAttempt = .now.advanced(by: queue.pause)
    }

    /// Retries the playlist when its pause is over.
    func openIfDue() {
        if let due = nextAttempt, due <= .now { openCurrent() }
    }

    /// Called when a film is audible or visible: later failures are reported again.
    func noteFilmPlays() {
        queue.noteBegun()
        isWaitingForFilms = false
        tellOfMoreFailures()
    }

    /// Reports the number of failures beyond `mostFailuresTold`.
    func tellOfMoreFailures() {
        let more = failuresInRow - Self.mostFailuresTold
        failuresInRow = 0
        if more > 0 { say(.error, more == 1 ? "one more cannot be played" : "\(more) more cannot be played") }
    }

    /// Passes the upcoming films to the player.
    func announceFilms() {
        toCome.fill(behind: queue) { place(of: $0) != nil }
        stage.player.setNext(toCome.items)
    }

    /// Handles the start of a prepared film, gapless or not.
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

    /// Handles a film that is open and about to fill its buffers.
    func prepareFilm() {
        queue.noteOpened()
        tellOfFilm()
        tellOfPlace()
        lookForNext()
        if settings.sectionStart != nil { applySection() }
        announceFilms()
    }

    /// Prints the title on a terminal if there is no window: audio only, or no display. Returns false if it was not
    /// printed.
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

    /// Shows the title of the film in window, terminal and speakers.
    private func tellOfFilm() {
        let state = stage.player.state
        let title = queue.current.title ?? state.title
        stage.registry.setTitle(title)
        if let screen = stage.screen {
            screen.setTitle(windowTitle(title))
            // A film opens a window, as does a recording with a cover.
            if state.pictureFormat != nil, !isScreenAttached {
                isScreenAttached = true
                // Opened here, while the first frames are read.
                if let format = state.pictureFormat { screen.open(for: format) }
                screen.attach(
                    stage.player.layer, timebase: stage.player.synchronizer.timebase, events: stage.player.events)
            }
        }
        if !tellTitle(), queue.count > 1 { say(.info, playing) } else { stage.log?.write(.info, playing) }
        // A film shows its own title.
        if !state.hasVideo { show(StatusText.recording(state, title: title), for: Self.titleTime) }
        if state.hasAudio {
            noteRoutes()
            recallRoutes()
        }
    }
}
