internal import LocalOutput
internal import MediaCore
internal import SyncRendering

// One film after another: what follows, what has begun, what cannot be played.
extension SessionDirector {
    func goOn() {
        // What was tried ahead and failed is not tried again.
        if let next = toCome.base(queue).next {
            queue = next
            openCurrent()
        } else {
            end(firstFailure ?? ExitStatus.done)
        }
    }

    /// Tells the player what follows the film that plays.
    func announceFilms() {
        toCome.fill(behind: queue)
        stage.player.setNext(toCome.items)
    }

    /// A film has taken the place of the one before, without a seam.
    func film(_ item: QueueItem, beganAt moment: MediaTime) {
        guard let queue = toCome.began(item) else { return }
        self.queue = queue
        stage.distributor.note(
            .joint(
                name: queue.current.title ?? queue.current.address, at: moment, origin: stage.player.state.lineOffset))
        tellOfFilm()
        announceFilms()
    }

    /// The film is open and about to collect what it needs.
    func prepareFilm() {
        queue.noteBegun()
        tellOfFilm()
        announceFilms()
    }

    /// Lets people know which film it is, on window and terminal.
    private func tellOfFilm() {
        let state = stage.player.state
        let title = queue.current.title ?? state.title
        if let screen = stage.screen {
            screen.setTitle(windowTitle(title))
            // Only a film with a picture needs a screen, and only then is it missed.
            if state.hasVideo, !isScreenAttached {
                isScreenAttached = true
                // The window opens while the first pictures are read.
                if let format = state.pictureFormat { screen.open(for: format) }
                screen.attach(
                    stage.player.layer, timebase: stage.player.synchronizer.timebase, events: stage.player.events)
            }
        }
        if queue.count > 1 { say(.info, "playing '\(title)' (\(queue.number) of \(queue.count))") }
        if state.hasAudio {
            noteRoutes()
            recallRoutes()
        }
    }
}
