internal import AirPlay
internal import CardOutput
internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput
internal import Storage
internal import SyncRendering
internal import Telemetry

/// Owns the choice of outputs: the list, remembered outputs, and lost outputs. Confined to the session's thread.
final class SessionOutputs {
    /// How long the current outputs are displayed in the corner.
    private static let signDuration = Duration.seconds(3)
    /// How long the offer of the likely output is displayed.
    private static let offerDuration = Duration.seconds(6)

    /// The outputs and their list; nil without audio.
    let routes: RouteController?
    /// The destinations, for other threads.
    let rooms: SessionRooms
    /// Outputs that fell silent.
    private(set) var lost: [OutputID] = []
    /// The numbers of recorded outputs.
    private var recorded: Set<Int> = []
    /// Whether the history was read; `hasOffered`: whether the likely output was offered.
    private var hasRecalled = false
    private var hasOffered = false
    /// The folder hash and duration of the last film with audio.
    private var lastHeard: (folder: UInt64, minutes: Int?)?
    private let stage: SessionDirector.Stage
    private let arguments: PlayArguments
    private let console: SessionConsole

    init(
        stage: SessionDirector.Stage, arguments: PlayArguments, console: SessionConsole, rooms: SessionRooms,
        mailbox: SessionMailbox
    ) {
        (self.stage, self.arguments, self.console, self.rooms) = (stage, arguments, console, rooms)
        routes = stage.player.outputs.map { _ in
            RouteController(
                player: stage.player, registry: stage.registry, routes: stage.routes,
                tracks: stage.tracks, home: stage.home
            ) { event in
                guard case .changed(let change, let ids) = event else { return mailbox.post(.route(event)) }
                mailbox.post(.route(.changed(change.saying(\.phrase), ids)))
            }
        }
    }

    // MARK: Changes

    /// Publishes the destinations. Returns whether they have changed.
    func publishRooms() -> Bool { rooms.set(routes?.rows ?? [], ids: routes?.ids ?? []) }

    /// Handles a change of the available or current outputs. Returns a message if the current ones changed.
    func handle(_ event: RouteController.Event) -> String? {
        let message = routes?.handle(event)
        offerLikely()
        return message
    }

    /// Reports a change of the current outputs.
    func report(_ message: String) {
        guard message.split(separator: "\n").count == 1 else { return console.warn(message) }
        if let routes, stage.player.state.hasAudio {
            stage.screen?.show(
                ScreenMessage(
                    "♪ \(routes.name)", for: Self.signDuration, at: .corner,
                    isAccented: routes.isElsewhere && !routes.hasProblem))
        }
        console.say(.info, message)
    }

    /// Records the current outputs, each once.
    func record() {
        for (id, output) in stage.player.allOutputs where recorded.insert(id.index).inserted {
            stage.distributor.record(.route(index: id.index, name: output.name, kind: output.kind.rawValue))
        }
    }

    // MARK: Remembered outputs

    /// Determines the likely outputs of a film with audio from the history, if no output was given.
    func recall(for address: String) {
        let minutes = stage.player.state.duration.map { Int($0.seconds / 60) }
        let folder = RouteHistory.folder(of: PrintableText.withoutCredentials(address))
        lastHeard = (folder, minutes)
        guard let routes, arguments.speakers.isEmpty, arguments.options.audioDevice == nil,
            arguments.routeMemory != .never, !hasRecalled
        else { return }
        hasRecalled = true
        let (likely, note) = RouteHistory(stage.stateFolder)
            .likely(folder: folder, hour: RouteHistory.hour, minutes: minutes)
        if let note { console.say(.warning, note) }
        if let likely { routes.expect(likely) }
    }

    /// Offers or selects the likely outputs once they are available.
    private func offerLikely() {
        guard let routes, let likely = routes.likely else { return }
        let name = likely.map(\.name).joined(separator: ", ")
        if arguments.routeMemory == .always {
            routes.forgetLikely()
            routes.choose(likely.map(\.id), because: .newOutput)
        } else if !hasOffered {
            hasOffered = true
            stage.screen?.show(
                ScreenMessage("Play sound on \(name), as before?  s, Enter", for: Self.offerDuration, at: .corner))
            console.say(.info, "play sound on \(name), as before? Press s, then Enter")
        }
    }

    /// Stores the outputs of this session if a film with audio was played, and closes the controller. Uses `lastHeard`,
    /// since the player's state is reset at the end.
    func close() {
        remember()
        routes?.close()
    }

    private func remember() {
        guard let routes, arguments.routeMemory != .never, let lastHeard, !routes.ids.isEmpty else { return }
        let entry = RouteHistory.Entry(
            folder: lastHeard.folder, hour: RouteHistory.hour, minutes: lastHeard.minutes, routes: routes.ids)
        do throws(StateError) {
            if let note = try RouteHistory(stage.stateFolder).append(entry) { console.say(.warning, note) }
        } catch {
            // Losing an entry costs one key press, so a write error is not reported; a file of a newer version is,
            // once.
            if error.code == .newer, !hasRecalled { console.say(.warning, error.message) }
        }
    }

    // MARK: Display

    /// The names of the outputs while audio plays elsewhere than on this computer; nil otherwise.
    private var elsewhere: String? {
        guard let routes, stage.player.state.hasAudio, routes.isElsewhere else { return nil }
        return routes.name
    }

    /// Returns `film – Talkie`, with the outputs' names unless it is this computer.
    func windowTitle(_ film: String) -> String {
        elsewhere.map { "\(film) – \($0) – Talkie" } ?? "\(film) – Talkie"
    }

    /// The sign in the corner of a paused film whose audio plays elsewhere: `♪ Kitchen`. During playback only the bar
    /// and changes show it, since a permanent text would distract and burn into displays.
    var pauseSign: String? { stage.player.state.isPaused ? elsewhere.map { "♪ \($0)" } : nil }

    /// An additional line for the progress display: the outputs.
    var progressText: String {
        guard let routes, stage.player.state.hasAudio, !routes.name.isEmpty else { return "" }
        return "\nSound: \(routes.name)"
    }

    // MARK: Losses

    /// Reports that a sound card plays on another device or sink.
    func reportMove(of output: OutputID) {
        guard let (name, _) = stage.player.nameAndReason(output) else { return }
        let card = stage.player.output(output)?.output as? SoundCard
        guard let card, let device = card.playingDevice, !card.isPlayingOwnDevice else {
            let sink = card?.sink.sink.map { PrintableText.of($0.title) }
            return console.warn("The sound continues on '\(sink ?? name)'.")
        }
        console.warn("'\(name)' was disconnected. The sound continues on '\(SoundCardProbe.title(of: device))'.")
    }

    /// Handles a change of the outputs that are heard: reports what was not chosen, and lets the list of outputs
    /// respond.
    ///
    /// - Parameter isUnseen: Whether the film has video that cannot be shown.
    func handle(_ change: PlaybackRouteChange, isUnseen: Bool) {
        defer { showSilence() }
        switch change.reason {
        case .outputGone, .takenOver, .failed:
            for output in change.removed { reportLoss(of: output, by: change, isUnseen: isUnseen) }
            // Silent outputs have another reason, or have refused again.
            if change.removed.isEmpty, let error = change.error { console.warn(Sentences.joined(error.message)) }
        case .newOutput: for output in change.added where lost.contains(output.id) { reportReturn(of: output) }
        case .moved, .chosen: break
        }
        let heard = Set(change.current.map(\.id))
        lost.removeAll { heard.contains($0) }
        for output in change.current
        where change.previous.contains(where: { $0.id == output.id && $0.device != output.device }) {
            reportMove(of: output.id)
        }
        routes?.handle(change)
    }

    private func reportLoss(of output: PlaybackRouteChange.Output, by change: PlaybackRouteChange, isUnseen: Bool) {
        lost.append(output.id)
        // The player reports outputs that never opened, with the reason.
        if change.hasOpened {
            // A group that could not be opened is closed, and states the first output's reason only.
            let ofAll = output.id == change.removed.first?.id ? change.error?.message : nil
            let reason = stage.player.nameAndReason(output.id)?.reason ?? ofAll
            console.warn(Sentences.joined("'\(output.name)' is silent", reason))
        } else if isUnseen {
            let failure = TalkieError(
                .unavailable, "the film has neither picture nor sound output; 'talkie doctor' shows what is missing")
            console.say(.error, failure.message)
            console.end(failure.exitStatus)
        }
    }

    private func reportReturn(of output: PlaybackRouteChange.Output) {
        let card = stage.player.output(output.id)?.output as? SoundCard
        if let card, !card.isPlayingOwnDevice { return reportMove(of: output.id) }
        console.warn("'\(output.name)' is available again.")
    }

    /// Reports an interruption of which the user is to know what ends it.
    func report(_ interruption: PlaybackInterruption) {
        guard interruption == .began(.takenOver), stage.player.state.isPaused else { return }
        console.warn("Paused. Play to take the output back, or choose another one.")
    }

    /// Displays the silent and unresponsive outputs in the corner as long as they remain so.
    func showSilence() {
        let all = stage.player.allOutputs
        let names = lost.compactMap { lost in all.first { $0.id == lost }?.output.name }
        let silent = names.isEmpty ? [] : ["No sound: " + names.joined(separator: ", ")]
        let unresponsive = stage.player.state.outputProblems.filter { $0.kind == .unresponsive }
        let marks = silent + unresponsive.map { "\($0.name) does not answer" }
        console.setOutputMark(marks.isEmpty ? nil : marks.joined(separator: "; "))
    }
}
