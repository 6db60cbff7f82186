internal import MediaCodecs
internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput
internal import SyncRendering
internal import Telemetry

/// Performs the actions of keys, bar and panel, and owns what they set. Confined to the session's thread.
final class SessionControls {
    private(set) var settings: SessionSettings
    private var bar = BarVisibility()
    /// Whether the position is displayed at the target of the requested seek.
    private var showsNextSeek = false
    private let stage: SessionDirector.Stage
    private let arguments: PlayArguments
    private let console: SessionConsole
    private let films: SessionFilms
    private let outputs: SessionOutputs
    private let panel: SessionPanel
    private let positions: ResumePositions
    private let offer: EpisodeOffer
    private let mailbox: SessionMailbox

    init(
        stage: SessionDirector.Stage, arguments: PlayArguments, console: SessionConsole, films: SessionFilms,
        outputs: SessionOutputs, panel: SessionPanel, positions: ResumePositions, offer: EpisodeOffer,
        mailbox: SessionMailbox
    ) {
        (self.stage, self.arguments, self.console, self.films) = (stage, arguments, console, films)
        (self.outputs, self.panel, self.positions, self.offer) = (outputs, panel, positions, offer)
        self.mailbox = mailbox
        settings = SessionSettings(arguments.options)
        settings.view = arguments.view
        (settings.sectionStart, settings.sectionEnd) = (arguments.sectionStart, arguments.sectionEnd)
    }

    private var player: Player { stage.player }
    private func show(_ text: String) { console.show(text) }

    /// Whether the bar is shown.
    var showsBar: Bool { bar.isShown(at: .now) }

    // MARK: Input

    /// Passes a key to the open panel, otherwise performs the actions bound to it.
    func handle(_ key: String, isRepeat: Bool = false) { if !pressInPanel(key) { press(key, isRepeat: isRepeat) } }

    /// Performs the actions bound to a key, in order.
    func press(_ key: String, isRepeat: Bool = false) {
        for action in arguments.keys.actions(for: key) where !isRepeat || action.repeats { perform(action) }
    }

    /// Passes a key to the open panel. Returns false if it is not used.
    func pressInPanel(_ key: String) -> Bool {
        let (isUsed, selection) = panel.press(key)
        if let selection { select(selection) }
        return isUsed
    }

    func handle(_ input: PointerInput.Event) {
        switch input {
        case .panel(let row, let part, let turned):
            if let selection = panel.point(at: row, part, turned: turned) { select(selection) }
        case .besidePanel: panel.close()
        case .bar(let part, let isDragged): point(at: part, isDragged: isDragged)
        case .wheel(let part, let turned): turnWheel(over: part, turned)
        case .moved(let part): bar.pointerMoved(at: .now, over: part)
        case .left: bar.pointerLeft(at: .now)
        }
    }

    /// Handles the wheel outside the list rows: it moves in an open list; over the bar's volume it changes the volume.
    private func turnWheel(over part: ScreenBar.Part?, _ turned: Int) {
        switch part {
        case .volume, .volumeNumber, .mute: perform(.addVolume(Double(2 * turned)))
        default: if !pressInPanel(turned > 0 ? "UP" : "DOWN") { press(turned > 0 ? "WHEEL_UP" : "WHEEL_DOWN") }
        }
    }

    private func point(at part: ScreenBar.Part, isDragged: Bool) {
        bar.pointerMoved(at: .now, over: part)
        switch part {
        case .play: perform(.togglePause)
        case .previous: perform(.previous)
        case .next: perform(.next)
        case .place(let share):
            guard let duration = player.state.duration else { return }
            // While dragging, sync frames are shown for speed; the release seeks exactly.
            player.seek(to: duration.share(share), exact: !isDragged)
        case .mute: perform(.toggleMute)
        case .volume(let share): perform(.setVolume((share * 100).rounded()))
        case .button(.chapters): panel.toggle(.chapters)
        case .button(.sound): panel.toggle(.sound)
        case .button(.subtitles): panel.toggle(.subtitles)
        case .button(.speed): panel.toggle(.speed)
        case .button(.rooms): perform(.chooseRoute)
        case .button(.fullScreen): perform(.toggleFullScreen)
        case .volumeNumber, .nothing: break
        }
    }

    /// Executes a choice from a list.
    private func select(_ selection: SessionPanel.Selection) {
        switch selection {
        case .audioTrack(let number): player.selectAudioTrack(number)
        case .subtitles(let number):
            player.selectSubtitles(number)
            if number != nil, !settings.showsSubtitles { perform(.toggleSubtitles) }
        case .chapter(let start): seek { $0.seek(to: start) }
        case .speed(let speed): perform(.setSpeed(speed))
        }
    }

    // MARK: Actions

    /// Performs an action and displays the change.
    func perform(_ action: PlayerAction) {
        switch action {
        case .quit: quit(keepingPosition: arguments.keepsPlaces)
        case .quitKeepingPlace: quit(keepingPosition: true)
        case .togglePause: setPaused(player.state.phase == .playing || player.state.phase == .buffering)
        case .setPaused(let isPaused): setPaused(isPaused)
        case .seek(let distance, let exact): seek { $0.seek(by: distance, exact: exact) }
        case .seekChapters(let count): seek { $0.seek(byChapters: count) }
        case .stepForward: player.stepForward()
        case .stepBackward: player.stepBackward()
        case .multiplySpeed(let factor):
            settings.multiplySpeed(by: factor)
            applySpeed()
        case .resetSpeed:
            settings.speed = 1
            applySpeed()
        case .addVolume(let steps):
            player.changeVolume(by: steps)
            show("\(volumeText)\(settings.isMuted ? " (muted)" : "")")
        case .toggleMute:
            settings.isMuted.toggle()
            player.setMuted(settings.isMuted)
            show(settings.isMuted ? "Muted" : volumeText)
        case .toggleNightMode:
            settings.isNight.toggle()
            player.setNightMode(settings.isNight)
            show(settings.isNight ? "Night mode" : "Night mode: off")
        case .cycleDialogueLift:
            settings.cycleDialogueLift()
            player.setDialogueLift(settings.dialogueLift)
            show(
                settings.dialogueLift == 0
                    ? "Voices: unchanged" : "Voices: +\(Decimals.text(settings.dialogueLift, 0)) dB")
        case .addAudioDelay(let step):
            settings.addAudioDelay(step)
            player.setAudioDelay(settings.audioDelay)
            stage.distributor.record(.audioDelay(settings.audioDelay))
            show(StatusText.audioDelay(settings.audioDelay))
        case .cycleAudioTrack: player.cycleAudioTrack()
        case .cycleSubtitles(let step): player.cycleSubtitles(by: step)
        case .toggleSubtitles:
            settings.showsSubtitles.toggle()
            player.setSubtitlesShown(settings.showsSubtitles)
            show(settings.showsSubtitles ? "Subtitles: shown" : "Subtitles: hidden")
        case .cycleSecondarySubtitles(let step): player.cycleSecondarySubtitles(by: step)
        case .toggleSecondarySubtitles:
            settings.showsSecondarySubtitles.toggle()
            player.setSecondarySubtitlesShown(settings.showsSecondarySubtitles)
            show(settings.showsSecondarySubtitles ? "Secondary subtitles: shown" : "Secondary subtitles: hidden")
        case .addSubtitleDelay(let step):
            settings.addSubtitleDelay(step)
            player.setSubtitleDelay(settings.subtitleDelay)
            show(StatusText.subtitleDelay(settings.subtitleDelay))
        case .cycleDeinterlacing:
            settings.cycleDeinterlacing()
            player.setDeinterlacing(settings.deinterlacing)
            show("Deinterlace: \(settings.deinterlacing.rawValue)")
        case .changeView(let change):
            let words = settings.view.apply(change)
            stage.screen?.view = settings.view
            show(words)
        case .toggleFullScreen: stage.screen?.setFullScreen(nil)
        case .leaveFullScreen: stage.screen?.setFullScreen(false)
        case .chooseRoute: panel.toggleRoutes()
        case .screenshot(let kind): takeScreenshot(kind)
        case .next: films.step(by: 1)
        case .previous: films.step(by: -1)
        case .toggleLoop:
            settings.toggleLoop()
            player.setLoop(settings.loop)
            show(settings.loop == .forever ? "Loop: this film" : "Loop: off")
        case .markSection: markSection()
        case .showProgress: show(StatusText.film(player.state) + pictureLine + outputs.line)
        case .showStatistics: panel.toggle(.statistics, of: films.current.address)
        case .showKeys: panel.toggle(.keys, of: films.current.address)
        case .seekTo(let place, let exact):
            guard let moment = place.moment(in: player.state.duration) else {
                return show("The duration is unknown")
            }
            seek { $0.seek(to: moment, exact: exact) }
        case .setSpeed(let speed):
            settings.speed = speed
            applySpeed()
        case .setVolume(let volume):
            player.setMasterVolume(volume)
            show("\(volumeText)\(settings.isMuted ? " (muted)" : "")")
        case .setMuted(let isMuted): if settings.isMuted != isMuted { perform(.toggleMute) }
        case .enterFullScreen: stage.screen?.setFullScreen(true)
        case .showText(let text): show(PrintableText.of(text))
        }
    }

    /// Quits at the user's request: the position is stored or, as in mpv, removed.
    private func quit(keepingPosition keeps: Bool) {
        if keeps { positions.store(films.current) } else { positions.forget(films.current) }
        console.end(ExitStatus.done)
    }

    private var volumeText: String {
        "Volume: " + (player.knownVolume.map { "\(Decimals.text($0, 0))%" } ?? "unknown")
    }

    /// An additional line for the progress display: the video decoder.
    private var pictureLine: String {
        guard player.state.hasVideo, let decoder = player.videoDecoder else { return "" }
        return "\nPictures: \(decoder)"
    }

    private func setPaused(_ isPaused: Bool) {
        if isPaused {
            player.pause()
            show("Paused\n" + StatusText.place(player.state) + outputs.line)
        } else {
            player.play()
            stage.screen?.show(nil)
        }
    }

    private func applySpeed() {
        player.setSpeed(settings.speed)
        show("Speed: x\(Decimals.text(settings.speed, 2))")
    }

    private func takeScreenshot(_ kind: ScreenshotKind) {
        guard let screen = stage.screen else { return }
        let mailbox = mailbox
        let layer = player.layer
        screen.takeSnapshot(kind == .window ? .window : .picture) { picture in
            guard let picture else { return mailbox.post(.done("There is no picture to save")) }
            do {
                // A separate thread: encoding must not delay the loop's thread.
                _ = try WorkerThread.start(name: "screenshot") {
                    do {
                        var picture = picture
                        if kind == .subtitles { picture.lay(words: layer) }
                        let file = try ScreenshotFile.write(PNGEncoder.encode(bgra: picture.pixels, size: picture.size))
                        mailbox.post(.done("Screenshot: '\(file)'"))
                    } catch {
                        mailbox.post(.remark(.warning, "the screenshot cannot be saved: \(error)"))
                    }
                }
            } catch {
                mailbox.post(.remark(.warning, "the screenshot cannot be saved: \(error)"))
            }
        }
    }

    // MARK: Seeks

    /// Seeks and displays the position at the target.
    private func seek(_ body: (Player) -> Void) {
        showsNextSeek = true
        body(player)
    }

    /// Displays a seek that has begun.
    func seekHasBegun() {
        guard showsNextSeek else { return }
        bar.wasUsed(at: .now)
        show(StatusText.place(player.state))
    }

    /// Displays the position that a seek has reached.
    func seekHasEnded() {
        guard showsNextSeek else { return }
        showsNextSeek = false
        show(StatusText.position(player.state))
    }

    // MARK: A-B loop

    /// Sets the start of the A-B loop (as in mpv), then the end, then clears both.
    private func markSection() {
        let moment = FilmPosition.fromStart(player.state.position)
        switch (settings.sectionStart, settings.sectionEnd) {
        case (nil, _): settings.sectionStart = moment
        case (_, nil): settings.sectionEnd = moment
        default: (settings.sectionStart, settings.sectionEnd) = (nil, nil)
        }
        player.setRepeatedSection(section)
        guard let start = settings.sectionStart else { return show("A-B loop: off") }
        let first = start.moment(in: player.state.duration)?.clock ?? "?"
        guard let section else { return show("A-B loop: from \(first)") }
        show("A-B loop: \(section.start.clock) to \(section.end.clock)")
        // The current position, or the target of a seek in progress, is the end: the next iteration begins.
        if [.playing, .buffering].contains(player.state.phase) { player.seek(to: section.start, exact: true) }
    }

    /// Passes the section to the player, for each film: positions can be percentages.
    func applySection() { if settings.sectionStart != nil { player.setRepeatedSection(section) } }

    /// The section in the right order; nil unless both ends are set.
    private var section: MediaTimeRange? {
        let duration = player.state.duration
        guard let one = settings.sectionStart?.moment(in: duration),
            let other = settings.sectionEnd?.moment(in: duration), one != other
        else { return nil }
        return MediaTimeRange(start: min(one, other), end: max(one, other))
    }

    // MARK: Bar

    /// Updates the bar at the lower edge, or hides it.
    func refreshBar() {
        guard let screen = stage.screen else { return }
        // An open list is anchored to the bar.
        guard panel.isListOpen || showsBar else { return screen.show(bar: nil) }
        let state = player.state
        var shown = ScreenBar(
            state, hasPrevious: state.itemNumber > 1,
            hasNext: state.itemNumber < state.itemCount || offer.isAvailable)
        if state.hasAudio {
            shown.volume = ScreenBar.Volume(
                percent: player.knownVolume.map { Int($0.rounded()) }, isMuted: settings.isMuted)
            if let routes = outputs.routes { shown.buttons[.rooms] = ["♪ \(PrintableText.of(routes.name))"] }
        }
        if case .place(let place) = bar.part { shown.aim = ScreenBar.Aim(place, in: state) }
        screen.show(bar: shown)
    }
}
