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

    /// Plays films instead of the playlist.
    func open(_ films: [PlaylistLoader.Item], startingWith first: Int = 0) {
        let items = films.map(item)
        opensUnderWay += 1
        current = items[first]
        stage.player.open(items, startingWith: current.id)
    }

    /// Opens another film at the user's request.
    func step(by distance: Int) {
        opensUnderWay += 1
        let mailbox = mailbox
        stage.player.step(by: distance) { mailbox.post(.stepRefused(distance)) }
    }

    /// Handles a request that leads beyond the playlist.
    func refuse(step distance: Int) {
        opensUnderWay = max(0, opensUnderWay - 1)
        if distance == 1, takeOffer() { return step(by: distance) }
        show(distance > 0 ? "This is the last film" : "This is the first film")
    }

    /// Ends the session after the playlist has ended.
    func endList() {
        // An output was lost and has not returned.
        let isSilent = stage.player.state.outputProblems.contains { $0.kind == .silent }
        end(firstFailure ?? (isSilent ? ExitStatus.unavailable : ExitStatus.done))
    }

    /// Handles the opening of a film.
    ///
    /// - Parameter isCommanded: Whether the user chose it; otherwise it follows the previous one.
    func noteOpening(isCommanded: Bool) {
        guard let item = stage.player.state.current else { return }
        if item != current || isCommanded {
            if hasBegun, !isCommanded { forgetPlace() }
            current = item
            (isTold, hasBegun, isReturning) = (false, false, false)
        }
        guard !hasBegun, noted != item.id else { return }
        noted = item.id
        stage.distributor.note(.film(Self.name(of: item)))
    }

    private static func name(of item: QueueItem) -> String {
        item.title ?? PrintableText.withoutCredentials(item.address)
    }

    /// Reports the number of failures beyond `mostFailuresTold`. Later ones are reported again.
    func tellOfMoreFailures() {
        let more = failuresInRow - Self.mostFailuresTold
        failuresInRow = 0
        if more > 0 { say(.error, more == 1 ? "one more cannot be played" : "\(more) more cannot be played") }
    }

    /// Handles the start of a film, gapless or not.
    func film(_ item: QueueItem, beganAt moment: MediaTime, isJoined: Bool) {
        defer { (hasBegun, isReturning) = (true, false) }
        if isReturning, item == current { return }
        // It was opened separately.
        if !isJoined, isTold, !hasBegun, item == current { return noted = nil }
        if hasBegun { forgetPlace() }
        (current, isTold) = (item, true)
        tellOfMoreFailures()
        let name = Self.name(of: item)
        if isJoined {
            stage.distributor.note(.joint(name: name, at: moment, origin: stage.player.state.lineOffset))
        } else if noted != item.id {
            stage.distributor.note(.film(name))
        }
        noted = nil
        tellOfFilm()
        if settings.sectionStart != nil { applySection() }
    }

    /// Handles a film that is open and about to fill its buffers.
    func prepareFilm() {
        isTold = true
        tellOfFilm()
        tellOfPlace()
        lookForNext()
        if settings.sectionStart != nil { applySection() }
    }

    /// Prints the title on a terminal if there is no window: audio only, or no display. Returns false if it was not
    /// printed.
    @discardableResult
    func tellTitle() -> Bool {
        guard stage.terminal.showsStatus, !arguments.isReallyQuiet, isTold,
            stage.screen == nil || !stage.player.state.hasVideo || hasLostScreen
        else { return false }
        stage.terminal.say("talkie: " + PrintableText.sentence(playing))
        return true
    }

    private var playing: String {
        let state = stage.player.state
        let by = state.hasVideo ? "" : state.artist.map { " by \($0)" } ?? ""
        let title = "playing '\(current.title ?? state.title)'\(by)"
        return state.itemCount > 1 ? "\(title) (\(state.itemNumber) of \(state.itemCount))" : title
    }

    /// Shows the title of the film in window, terminal and speakers.
    private func tellOfFilm() {
        let state = stage.player.state
        let title = current.title ?? state.title
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
        if !tellTitle(), state.itemCount > 1 { say(.info, playing) } else { stage.log?.write(.info, playing) }
        // A film shows its own title.
        if !state.hasVideo { show(StatusText.recording(state, title: title), for: Self.titleTime) }
        if state.hasAudio {
            noteRoutes()
            recallRoutes()
        }
    }
}
