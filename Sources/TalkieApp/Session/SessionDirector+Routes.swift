internal import AirPlay
internal import CardOutput
internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput
internal import Storage
internal import SyncRendering
internal import Telemetry

// Outputs: the list, remembered outputs, and lost outputs.
extension SessionDirector {
    /// How long the current outputs are displayed in the corner.
    private static let signDuration = Duration.seconds(3)

    func toggleRoutePicker() {
        guard let desk else { return show("This film plays without sound") }
        if desk.isOpen { return closePanel() }
        (choice, page) = (nil, nil)
        desk.openPicker()
        showPanel()
    }

    func refreshRoutePicker() { if desk?.refresh() == true { showPanel() } }

    func take(_ news: RouteController.News) {
        let told = desk?.hear(news)
        offerLikely()
        refreshRoutePicker()
        guard let told else { return }
        noteRoutes()
        showSilence()
        let title = current.title ?? stage.player.state.title
        stage.screen?.setTitle(windowTitle(title))
        let lines = told.split(separator: "\n")
        if lines.count == 1 {
            sign()
            say(.info, told)
        } else {
            tell(told)
        }
    }

    // MARK: Remembered outputs

    /// How long the offer of the likely output is displayed.
    private static let offerDuration = Duration.seconds(6)

    /// Determines the likely outputs from the history, if no output was given.
    func recallRoutes() {
        let minutes = stage.player.state.duration.map { Int($0.seconds / 60) }
        let folder = RouteHistory.folder(of: PrintableText.withoutCredentials(current.address))
        lastHeard = (folder, minutes)
        guard let desk, arguments.speakers.isEmpty, arguments.options.audioDevice == nil,
            arguments.routeMemory != .never, !hasRecalled
        else { return }
        hasRecalled = true
        let (likely, note) = RouteHistory(stage.stateFolder)
            .likely(folder: folder, hour: RouteHistory.hour, minutes: minutes)
        if let note { say(.warning, note) }
        if let likely { desk.expect(likely) }
    }

    /// Offers or selects the likely outputs once they are available.
    private func offerLikely() {
        guard let desk, let routes = desk.likely else { return }
        let name = routes.map(\.name).joined(separator: ", ")
        if arguments.routeMemory == .always {
            desk.forgetLikely()
            desk.choose(routes.map(\.id))
        } else if !hasOffered {
            hasOffered = true
            stage.screen?.show(
                ScreenMessage("Play play sound on \(name), as before?  s, Enter", for: Self.offerDuration, at: .corner))
            say(.info, "play sound on \(name), as before? Press s, then Enter")
        }
    }

    /// Stores the outputs of this session if a film with audio was played. Uses `lastHeard`, since the player's state
    /// is reset at the end.
    func keepHabit() {
        guard let desk, arguments.routeMemory != .never, let lastHeard, !desk.ids.isEmpty else { return }
        let entry = RouteHistory.Entry(
            folder: lastHeard.folder, hour: RouteHistory.hour, minutes: lastHeard.minutes, routes: desk.ids)
        do throws(StateError) {
            if let note = try RouteHistory(stage.stateFolder).append(entry) { say(.warning, note) }
        } catch {
            // Losing an entry costs one key press, so a write error is not reported; a file of a newer version is,
            // once.
            if error.code == .newer, !hasRecalled { say(.warning, error.message) }
        }
    }

    // MARK: Display

    /// Displays the current outputs in the corner.
    func sign() {
        guard let desk, stage.player.state.hasAudio else { return }
        stage.screen?.show(ScreenMessage("♪ \(desk.name)", for: Self.signDuration, at: .corner))
    }

    /// Returns `film – Talkie`, with the outputs' names unless it is this computer.
    func windowTitle(_ film: String) -> String {
        guard let desk, stage.player.state.hasAudio, !desk.ids.isEmpty, desk.ids != [stage.home.id] else {
            return "\(film) – Talkie"
        }
        return "\(film) – \(desk.name) – Talkie"
    }

    /// An additional line for the progress display: the video decoder.
    var pictureLine: String {
        guard stage.player.state.hasVideo, let decoder = stage.player.videoDecoder else { return "" }
        return "\nPictures: \(decoder)"
    }

    /// An additional line for the progress display: the outputs.
    var soundLine: String {
        guard let desk, stage.player.state.hasAudio, !desk.name.isEmpty else { return "" }
        return "\nSound: \(desk.name)"
    }

    /// Records the current outputs, each once.
    func noteRoutes() {
        guard let group = stage.player.outputs else { return }
        for member in group.members {
            guard let number = group.number(of: member), !notedRoutes.contains(number) else { continue }
            notedRoutes.insert(number)
            stage.distributor.note(.route(index: number, name: member.name, kind: member.kind.rawValue))
        }
    }

    /// Reports that a sound card plays on another device or sink.
    func takeMove(of output: OutputID) {
        lostOutputs.removeAll { $0 == output }
        showSilence()
        recalibrate()
        guard let (name, _) = stage.player.outputs?.part(output) else { return }
        guard let card = stage.player.outputs?.output(number: output.index) as? SoundCard,
            let device = card.playingDevice, !card.isPlayingOwnDevice
        else {
            let sink = (stage.player.outputs?.output(number: output.index) as? SoundCard)?.sink.sink
            return tell("The sound continues on '\(sink.map { PrintableText.of($0.title) } ?? name)'.")
        }
        tell("'\(name)' was disconnected. The sound continues on '\(SoundCardProbe.title(of: device))'.")
    }

    /// Handles an output that fell silent or returned: reports it and applies the lost-route policy.
    func take(_ output: OutputID, isLost: Bool) {
        guard let (name, reason) = stage.player.outputs?.part(output) else { return }
        if !isLost {
            tell("'\(name)' is available again.")
        } else if stage.player.outputs?.isUnopened != true {
            // The player reports outputs that never played, with the reason.
            tell(Sentences.joined("'\(name)' is silent", reason))
        } else if hasLostScreen, stage.player.state.hasVideo {
            let failure = TalkieError(
                .unavailable, "the film has neither picture nor sound output; 'talkie doctor' shows what is missing")
            say(.error, failure.message)
            return end(failure.exitStatus)
        }
        defer { showSilence() }
        guard let group = stage.player.outputs, let lost = group.output(number: output.index) else { return }
        guard isLost, group.members.contains(where: { $0 === lost }) else {
            return lostOutputs.removeAll { $0 == output }
        }
        lostOutputs.append(output)
        // Other outputs may still play.
        let playing = group.members.filter { member in
            !lostOutputs.contains { group.output(number: $0.index) === member }
        }
        guard playing.isEmpty else { return }
        switch arguments.lostRoute ?? .wait {
        case .wait: break
        case .local: if desk?.ids != [stage.home.id] { desk?.fallBack() }
        case .pause: stage.player.pause()
        }
    }

    /// Displays the silent and unresponsive outputs in the corner as long as they remain so.
    func showSilence() {
        guard let group = stage.player.outputs else { return }
        let members = group.members
        let names = lostOutputs.compactMap { lost -> String? in
            guard let output = group.output(number: lost.index), members.contains(where: { $0 === output }) else {
                return nil
            }
            return output.name
        }
        let silent = names.isEmpty ? [] : ["No sound: " + names.joined(separator: ", ")]
        let unresponsive = stage.player.state.outputProblems.filter { $0.kind == .unresponsive }
        let marks = silent + unresponsive.map { "\($0.name) does not answer" }
        outputMark = marks.isEmpty ? nil : marks.joined(separator: "; ")
        refreshMark()
    }
}
