internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput
internal import SyncRendering
internal import Telemetry

/// Performs the commands of keys, bar and panel, and those of the session for every controller. Confined to the
/// session's thread.
final class SessionControls {
    /// The start and the end of the A-B loop.
    private(set) var sectionStart: FilmPosition?
    private(set) var sectionEnd: FilmPosition?
    private var bar = BarVisibility()
    /// Whether the position is displayed at the target of the requested seek.
    private var showsNextSeek = false
    /// Whether the chapter at that position is displayed.
    private var namesChapter = false
    private let stage: SessionDirector.Stage
    private let control: PlayerControl
    private let arguments: PlayArguments
    private let console: SessionConsole
    private let films: SessionFilms
    private let outputs: SessionOutputs
    private let panel: SessionPanel
    private let positions: ResumePositions
    private let offer: EpisodeOffer
    private let mailbox: SessionMailbox
    private let screenshots: SessionScreenshots
    private let display: SessionDisplay

    init(
        stage: SessionDirector.Stage, control: PlayerControl, arguments: PlayArguments, console: SessionConsole,
        films: SessionFilms, outputs: SessionOutputs, panel: SessionPanel, positions: ResumePositions,
        offer: EpisodeOffer, display: SessionDisplay, mailbox: SessionMailbox
    ) {
        (self.stage, self.control) = (stage, control)
        (self.arguments, self.console, self.films) = (arguments, console, films)
        (self.outputs, self.panel, self.positions, self.offer) = (outputs, panel, positions, offer)
        (self.display, self.mailbox) = (display, mailbox)
        screenshots = SessionScreenshots(stage.screen, stage.player.layer, mailbox)
        (sectionStart, sectionEnd) = (arguments.sectionStart, arguments.sectionEnd)
    }

    /// Waits until a captured screenshot is written, for at most five seconds. The window must be closed.
    func finishScreenshots() { screenshots.finish(until: .now.advanced(by: .seconds(5))) }

    private var player: Player { stage.player }
    private func show(_ text: String) { console.show(text) }

    /// Whether the bar is shown.
    var showsBar: Bool {
        switch display.value.bar {
        case .auto: bar.isShown(at: .now)
        case .always: true
        case .never: false
        }
    }

    // MARK: Input

    /// Passes a key to the open panel, otherwise performs the commands bound to it.
    func handle(_ key: String, isRepeat: Bool = false) { if !pressInPanel(key) { press(key, isRepeat: isRepeat) } }

    /// Performs the commands bound to a key, in order.
    func press(_ key: String, isRepeat: Bool = false) {
        for words in arguments.keys.commands(for: key) { perform(words.map { .text($0) }, isRepeat: isRepeat) }
    }

    /// Passes a key to the open panel. Returns false if it is not used.
    func pressInPanel(_ key: String) -> Bool {
        let (isUsed, commands) = panel.press(key)
        for command in commands { perform(command) }
        return isUsed
    }

    func handle(_ input: PointerInput.Event) {
        switch input {
        case .panel(let row, let element, let turned):
            for command in panel.point(at: row, element, turned: turned) { perform(command) }
        case .besidePanel: panel.close()
        case .bar(let element, let isDragged): point(at: element, isDragged: isDragged)
        case .wheel(let element, let turned): turnWheel(over: element, turned)
        case .moved(let element): bar.pointerMoved(at: .now, over: element)
        case .left: bar.pointerLeft(at: .now)
        }
    }

    /// Handles the wheel outside the list rows: it moves in an open list; over the bar's volume it changes the volume.
    private func turnWheel(over element: ScreenBar.Control?, _ turned: Int) {
        switch element {
        case .volume, .volumeNumber, .mute: perform([.text("add"), .text("volume"), .integer(2 * turned)])
        default: if !pressInPanel(turned > 0 ? "UP" : "DOWN") { press(turned > 0 ? "WHEEL_UP" : "WHEEL_DOWN") }
        }
    }

    private func point(at element: ScreenBar.Control, isDragged: Bool) {
        bar.pointerMoved(at: .now, over: element)
        switch element {
        case .play: perform("cycle", "pause")
        case .previous: perform("playlist-prev")
        case .next: perform("playlist-next")
        case .position(let share):
            // While dragging, sync frames are shown for speed; the release seeks exactly.
            let mode = isDragged ? "absolute-percent+keyframes" : "absolute-percent+exact"
            control.perform([.text("seek"), .real(share * 100, decimals: 6), .text(mode)])
        case .mute: perform("cycle", "mute")
        case .volume(let share): perform([.text("set"), .text("volume"), .integer(Int((share * 100).rounded()))])
        case .button(.chapters): panel.toggle(.chapters)
        case .button(.audio): panel.toggle(.audio)
        case .button(.subtitles): panel.toggle(.subtitles)
        case .button(.speed): panel.toggle(.speed)
        case .button(.rooms): perform("choose-route")
        case .button(.fullScreen): perform("cycle", "fullscreen")
        case .volumeNumber, .nothing: break
        }
    }

    // MARK: Commands

    private func perform(_ words: String...) { perform(words.map { .text($0) }) }

    /// Performs a command of the user, and displays its effect.
    func perform(_ words: [JSONValue], isRepeat: Bool = false) {
        do throws(ControlError) {
            let request = try control.table.request(words)
            guard !isRepeat || request.command.isRepeatable else { return }
            guard !request.command.isOfProgram else {
                _ = try carryOut(request)
                return
            }
            let subject = request.property?.name ?? request.command.name
            if Self.seeks.contains(subject) { (showsNextSeek, namesChapter) = (true, subject == "chapter") }
            control.perform(request) { [mailbox] result in
                switch result {
                case .success: mailbox.post(.changed(subject))
                case .failure(let error): mailbox.post(.refused(error.problem))
                }
            }
        } catch { show(PrintableText.sentence(error.problem)) }
    }

    /// The command and the properties whose effect is displayed when the seek begins and ends.
    private static let seeks: Set<String> = ["seek", "time-pos", "percent-pos", "chapter", "revert-seek", "sub-seek"]

    /// The commands that the player executes after they were carried out.
    private static let listCommands: Set<String> = ["loadfile", "playlist-next", "playlist-prev"]

    /// Performs a command of the session for another controller.
    func carryOut(_ request: ControlRequest, _ reply: @escaping ControlReply) {
        if request.command.name == "screenshot" { return screenshots.capture(request, reply) }
        if request.command.name == "pair-output" { return pair(request, reply) }
        do throws(ControlError) {
            let result = try carryOut(request)
            // A client that has its reply reads the new playlist.
            guard Self.listCommands.contains(request.command.name) else { return reply(.success(result)) }
            control.afterCommands { reply(.success(result)) }
        } catch { reply(.failure(error)) }
    }

    private func pair(_ request: ControlRequest, _ reply: @escaping ControlReply) {
        guard let routes = outputs.routes else {
            return reply(.failure(ControlError(.unavailable, "this film plays without sound")))
        }
        let code = request.arguments[1]?.mpvText
        routes.pair(with: request.arguments.text(0), code: code) { result in
            switch result {
            case .success(let text): reply(.success(.text(text)))
            case .failure(let error): reply(.failure(ControlError(.failed, error.message)))
            }
        }
    }

    /// Performs a command of the session. Returns its result.
    private func carryOut(_ request: ControlRequest) throws(ControlError) -> JSONValue {
        let address = films.current.address
        switch request.command.name {
        case "quit", "stop": quit(keepingPosition: arguments.keepsPositions)
        case "quit-watch-later": quit(keepingPosition: true)
        case "show-text":
            let duration = request.arguments[1]?.integer.flatMap { $0 < 0 ? nil : Duration.milliseconds($0) }
            let text = request.arguments.text(0)
            let usual = StatusText.lists.contains(text) ? SessionConsole.listDuration : SessionConsole.messageDuration
            console.show(StatusText.expanded(text, player.state), for: duration ?? usual)
        case "show-progress": show(StatusText.film(player.state) + decoderText + outputs.progressText)
        case "screenshot": screenshots.capture(request) { _ in }
        case "ab-loop": markSection()
        case "choose-route": panel.toggleRoutes()
        case "find-outputs": outputs.routes?.startSearch()
        case "output-volume":
            let id = request.arguments.text(0)
            _ = try outputs.rooms.ids(id)
            outputs.routes?.setVolume(request.arguments[1]?.number ?? 0, of: id)
        case "output-language":
            let id = request.arguments.text(0)
            _ = try outputs.rooms.ids(id)
            outputs.routes?.setTrack(try ControlCommand.track(request.arguments.text(1)), of: id)
        case "raise": stage.screen?.raise()
        case "show-statistics": panel.toggle(.statistics, of: address)
        case "show-keys": panel.toggle(.keys, of: address)
        case "playlist-next": films.step(by: 1)
        case "playlist-prev": films.step(by: -1)
        case "loadfile":
            return try load(request.arguments.text(0), request.arguments.text(1), isListed: request.isListed)
        default: break
        }
        return .null
    }

    private func load(_ address: String, _ mode: String, isListed: Bool) throws(ControlError) -> JSONValue {
        do throws(TalkieError) {
            let item = try films.load(
                [address], isListed: isListed,
                mode.hasPrefix("append") ? .append : mode.hasPrefix("insert") ? .insertNext : .replace)
            return .object([("playlist_entry_id", .integer(Int(truncatingIfNeeded: item.id.number)))])
        } catch { throw ControlError(.failed, error.message) }
    }

    /// Displays the effect of a user's command on a property.
    func showChange(of name: String) {
        let state = player.state
        switch name {
        case "pause":
            if state.isPaused {
                show("Paused\n" + StatusText.positionAndChapter(state) + outputs.progressText)
            } else {
                stage.screen?.show(nil)
            }
        case "speed": show("Speed: x\(Decimals.text(state.speed, 2))")
        case "volume": show("\(volumeText)\(state.isMuted ? " (muted)" : "")")
        case "mute": show(state.isMuted ? "Muted" : volumeText)
        case "night-mode": show(state.isNight ? "Night mode" : "Night mode: off")
        case "dialog-level":
            let lift = state.dialogueLift
            if let layout = state.audioTrack?.audioFormat?.layout, lift != 0, !layout.hasCentre {
                return show(
                    "This sound is \(layout.displayName): its voices cannot be louder than the rest.\n"
                        + "Louder voices need a sound track such as 5.1.")
            }
            show(lift == 0 ? "Voices: unchanged" : "Voices: +\(Decimals.short(lift)) dB")
        case "audio-delay": show(StatusText.audioDelay(state.audioDelay))
        case "sub-delay": show(StatusText.subtitleDelay(state.subtitleDelay))
        case "sub-pos": show("Subtitle position: \(Decimals.short(state.subtitleStyle.position))%")
        case "sub-scale": show("Subtitle size: \(Decimals.text(state.subtitleStyle.scale, 2))")
        case "sub-ass-override":
            show(state.subtitleStyle.override == .force ? "Subtitle styles: plain" : "Subtitle styles: the author's")
        case "ontop": show(stage.screen?.status.isOnTop == true ? "Stay on top: on" : "Stay on top: off")
        case "osc-visibility": show("Bar: \(display.value.bar.rawValue)")
        case "sub-visibility": show(state.showsSubtitles ? "Subtitles: shown" : "Subtitles: hidden")
        case "secondary-sub-visibility":
            show(state.showsSecondarySubtitles ? "Secondary subtitles: shown" : "Secondary subtitles: hidden")
        case "deinterlace": show("Deinterlace: \(state.deinterlacing.rawValue)")
        case "loop-file": show("Loop: " + Self.text(state.loopItem, "this film"))
        case "loop-playlist": show("Loop: " + Self.text(state.loopList, "the playlist"))
        case "shuffle": show(state.isShuffled ? "Shuffle: on" : "Shuffle: off")
        case "video-zoom", "video-pan-x", "video-pan-y", "panscan":
            guard let number = stage.screen?.view.number(name) else { return }
            show("\(number.words): \(Decimals.text(number.value, 2))")
        case "video-aspect-override":
            let notation = stage.screen?.view.aspect.notation
            show("Aspect: " + (["-1": "the film's own", "no": "square pixels"][notation ?? ""] ?? notation ?? "?"))
        default: break
        }
    }

    private static func text(_ loop: PlayerOptions.Loop, _ subject: String) -> String {
        switch loop {
        case .forever: subject
        case .times(0): "off"
        case .times(let count): "\(subject), \(count) times"
        }
    }

    /// Displays why a user's command was refused, if a film is open.
    func showRefusal(_ problem: String) {
        showsNextSeek = false
        if player.state.isUnderWay { console.warn(PrintableText.sentence(problem)) }
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
    private var decoderText: String {
        guard player.state.hasVideo, let decoder = player.videoDecoder else { return "" }
        return "\nPictures: \(decoder)"
    }

    // MARK: Seeks

    /// Displays a seek that has begun.
    func seekHasBegun() {
        guard showsNextSeek else { return }
        bar.wasUsed(at: .now)
        show(StatusText.positionAndChapter(player.state))
    }

    /// Displays the position that a seek has reached.
    func seekHasEnded() {
        guard showsNextSeek else { return }
        showsNextSeek = false
        show(namesChapter ? StatusText.positionAndChapter(player.state) : StatusText.position(player.state))
    }

    // MARK: A-B loop

    /// Sets the start of the A-B loop (as in mpv), then the end, then clears both.
    private func markSection() {
        let position = FilmPosition.fromStart(player.state.position)
        switch (sectionStart, sectionEnd) {
        case (nil, _): sectionStart = position
        case (_, nil): sectionEnd = position
        default: (sectionStart, sectionEnd) = (nil, nil)
        }
        player.setRepeatedSection(section)
        guard let start = sectionStart else { return show("A-B loop: off") }
        let first = start.mediaTime(in: player.state.duration)?.clock ?? "?"
        guard let section else { return show("A-B loop: from \(first)") }
        show("A-B loop: \(section.start.clock) to \(section.end.clock)")
        // The current position, or the target of a seek in progress, is the end: the next iteration begins.
        if [.playing, .buffering].contains(player.state.phase) { player.seek(to: section.start, exact: true) }
    }

    /// Passes the section to the player, for each film: positions can be percentages.
    func applySection() { if sectionStart != nil { player.setRepeatedSection(section) } }

    /// The section in the right order; nil unless both ends are set.
    private var section: MediaTimeRange? {
        let duration = player.state.duration
        guard let one = sectionStart?.mediaTime(in: duration),
            let other = sectionEnd?.mediaTime(in: duration), one != other
        else { return nil }
        return MediaTimeRange(start: min(one, other), end: max(one, other))
    }

    // MARK: Bar

    /// Updates the bar at the lower edge, or hides it.
    func refreshBar() {
        guard let screen = stage.screen else { return }
        // An open list is anchored to the bar.
        let isShown = panel.isListOpen || showsBar
        guard isShown else { return screen.show(bar: nil) }
        let state = player.state
        var shown = ScreenBar(
            state, hasPrevious: state.itemNumber > 1,
            hasNext: state.itemNumber < state.itemCount || offer.isAvailable)
        if state.hasAudio {
            shown.volume = ScreenBar.Volume(
                percent: player.knownVolume.map { Int($0.rounded()) }, isMuted: state.isMuted)
            if let routes = outputs.routes { shown.show(routes) }
        }
        let title = PrintableText.of(films.title)
        shown.title = state.itemCount > 1 ? "\(state.itemNumber)/\(state.itemCount)  \(title)" : title
        if case .position(let position) = bar.control { shown.aim = ScreenBar.Aim(position, in: state) }
        screen.show(bar: shown)
    }
}

extension VideoGeometry {
    /// Returns the name and the value of a property's number, for the user.
    fileprivate func number(_ property: String) -> (words: String, value: Double)? {
        switch property {
        case "video-zoom": ("Zoom", zoom)
        case "video-pan-x": ("Pan X", panX)
        case "video-pan-y": ("Pan Y", panY)
        case "panscan": ("Panscan", panscan)
        default: nil
        }
    }
}
