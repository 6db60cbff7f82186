internal import MediaCore
internal import Playback
internal import Routing
internal import SyncRendering
internal import Telemetry

/// Opens the films of a session, and records and reports the one that plays. Owns which one that is. Confined to the
/// session's thread.
final class SessionFilms {
    /// What the caller does after an event of the player.
    enum Consequence: Equatable {
        case none
        /// A film is about to play: the A-B loop is set for it.
        case prepared
        /// The film is visible or audible.
        case plays
    }

    /// How long a recording's title is displayed: enough for three lines.
    private static let titleTime = Duration.seconds(4)

    /// The item that plays or is being opened.
    private(set) var current: QueueItem
    /// Whether its title was shown, and whether it has begun.
    private var isTitleShown = false
    private var hasBegun = false
    /// Which films the flight recorder has.
    private var remarks = FilmRemarks<QueueItem.ID>()
    /// The item of an `open` command; nil once it is being opened. The player may have skipped it already.
    private var requested: QueueItem?
    /// Whether the player waits for a lost item that repeats.
    private var isReturning = false
    /// The number of `open` commands whose phase `opening` has not been reported; events until then concern the
    /// previous film.
    private var opensUnderWay = 0
    /// The end of the previous film that was reported meanwhile; it counts if the command is refused.
    private var endUnderWay: PlayerState.Phase?
    private let stage: SessionDirector.Stage
    private let console: SessionConsole
    private let window: SessionWindow
    private let outputs: SessionOutputs
    private let positions: ResumePositions
    private let offer: EpisodeOffer
    private let mailbox: SessionMailbox

    init(
        stage: SessionDirector.Stage, first: PlaylistLoader.Item, console: SessionConsole, window: SessionWindow,
        outputs: SessionOutputs, positions: ResumePositions, offer: EpisodeOffer, mailbox: SessionMailbox
    ) {
        (self.stage, current, self.console, self.window) = (stage, QueueItem(first), console, window)
        (self.outputs, self.positions, self.offer, self.mailbox) = (outputs, positions, offer, mailbox)
    }

    private var player: Player { stage.player }
    private var distributor: EventDistributor { stage.distributor }
    /// The title of the current film.
    var title: String { current.title ?? player.state.title }

    // MARK: Playlist

    /// Plays films instead of the playlist.
    func open(_ films: [PlaylistLoader.Item], startingWith first: Int = 0) {
        let items = films.map(positions.item)
        opensUnderWay += 1
        current = items[first]
        requested = current
        player.open(items, startingWith: current.id)
    }

    /// Opens another film at the user's request.
    func step(by distance: Int) {
        opensUnderWay += 1
        requested = nil
        player.step(by: distance) { [mailbox] in mailbox.post(.stepRefused(distance)) }
    }

    /// Handles a request that leads beyond the playlist.
    func refuseStep(by distance: Int) {
        opensUnderWay = max(0, opensUnderWay - 1)
        if distance == 1, let next = offer.acceptItem() {
            player.append([positions.item(next)])
            return step(by: distance)
        }
        console.show(distance > 0 ? "This is the last film" : "This is the first film")
        guard opensUnderWay == 0, let end = endUnderWay.take() else { return }
        _ = handleCurrent(.phase(end), repeats: false)
    }

    /// Where loaded films are played.
    enum LoadMode {
        /// Instead of the playlist.
        case replace
        /// After its last film.
        case append
        /// After the current film.
        case insertNext
    }

    /// Plays the items dropped on the window instead of the playlist, or appends them.
    func play(dropped words: [String], appends: Bool) {
        do throws(TalkieError) { _ = try load(words, appends ? .append : .replace) } catch {
            console.warn(error.message)
        }
    }

    /// Loads files, folders, playlists and addresses. Returns the first item.
    ///
    /// - Parameter isListed: Whether another program chose them.
    func load(_ words: [String], isListed: Bool = false, _ mode: LoadMode) throws(TalkieError) -> QueueItem {
        let list = try PlaylistLoader(words, isListed: isListed)
        // These failures do not affect the exit status.
        for failure in list.failures { console.say(.error, failure.message) }
        for warning in list.warnings { console.say(.warning, warning) }
        if case .replace = mode {
            open(list.items)
            return current
        }
        let items = list.items.map(positions.item)
        if case .append = mode { player.append(items) } else { player.insert(items, after: current.id) }
        _ = offer.acceptItem()
        let more = items.count > 1 ? " and \(items.count - 1) more" : ""
        console.show("Added: \(PrintableText.of(items[0].title ?? items[0].name))\(more)")
        return items[0]
    }

    /// Inserts the items of a page after the page itself, which plays the first one.
    func insert(listed items: [PlaylistLoader.Item], behind page: String) {
        let items = items.filter { ListedAddress.objection(toAddress: $0.address) == nil }
        guard !items.isEmpty else { return }
        player.insert(items.map(positions.item), after: page) { [mailbox, count = items.count] in
            mailbox.post(.inserted(count))
        }
    }

    // MARK: Events

    /// Handles an event of the player, except seeks.
    ///
    /// - Parameter repeats: Whether the film repeats forever.
    func handle(_ event: PlayerEvent, repeats: Bool) -> Consequence {
        switch event {
        case .message(let text): console.warn(text)
        case .outputProblem(let problem):
            // Silent outputs are handled with their own event.
            if problem.kind != .silent { console.say(.warning, problem.error.message) }
            outputs.showSilence()
        case .outputRecovered(let problem):
            let isSilent = player.state.outputProblems.contains { $0.kind == .silent && $0.output == problem.output }
            if problem.kind == .unresponsive, !isSilent { console.say(.info, "\(problem.name) answers again.") }
            outputs.showSilence()
        case .phase(.opening):
            let isCommanded = opensUnderWay > 0
            opensUnderWay = max(0, opensUnderWay - 1)
            endUnderWay = nil
            guard opensUnderWay == 0 else { break }
            handleOpening(isCommanded: isCommanded)
            distributor.record(.phase(PlayerState.Phase.opening.rawValue))
        default:
            if opensUnderWay == 0 { return handleCurrent(event, repeats: repeats) }
            if case .phase(let phase) = event, phase == .ended || phase == .failed { endUnderWay = phase }
        }
        return .none
    }

    /// Handles an event that concerns the current film.
    private func handleCurrent(_ event: PlayerEvent, repeats: Bool) -> Consequence {
        switch event {
        case .phase(let phase):
            record(remarks.enter(phase.rawValue, of: current.id, Self.name(of: current)))
            stage.log?.write(.debug, phase.rawValue)
            return handle(phase)
        case .began(let item, let time, let isJoined):
            return begin(item, at: time, isJoined: isJoined) ? .prepared : .none
        case .looped(let time): distributor.record(.loop(at: time, origin: player.state.timelineOffset))
        case .failed(let item, let failure):
            record(remarks.skip(item.id, Self.name(of: item)))
            console.fail(failure)
        case .incomplete(_, let failure): console.fail(failure.error)
        case .lost(let failure):
            isReturning = repeats
            if !repeats { record(remarks.interrupt()) }
            if isReturning { console.fail(failure) } else { console.warn(failure.message) }
        case .ended, .message, .outputProblem, .outputRecovered, .routeChanged, .interruption, .seeking, .sought:
            break
        }
        return .none
    }

    private func handle(_ phase: PlayerState.Phase) -> Consequence {
        switch phase {
        case .buffering:
            // A film that follows another one is shown when it starts.
            guard !isTitleShown, !remarks.isAwaitingStart else { break }
            // The film is open and about to fill its buffers.
            isTitleShown = true
            showTitle()
            positions.restoreSettings(of: current)
            positions.report(current)
            offer.find(after: current)
            return .prepared
        case .playing:
            console.reportMoreFailures()
            return .plays
        case .ended:
            if hasBegun { positions.forget(current) }
            // An output was lost and has not returned.
            let isSilent = player.state.outputProblems.contains { $0.kind == .silent }
            console.end(console.firstFailure ?? (isSilent ? ExitStatus.unavailable : ExitStatus.done))
        case .failed:
            hasBegun = false
            console.fail(player.state.failure ?? TalkieError(.failed, "the film cannot be played"))
            player.skipFailed()
        case .idle, .opening, .paused: break
        }
        return .none
    }

    /// Handles the opening of a film.
    ///
    /// - Parameter isCommanded: Whether the user chose it; otherwise it follows the previous one.
    private func handleOpening(isCommanded: Bool) {
        guard let item = requested ?? player.state.current else { return }
        requested = nil
        let isNew = item != current || isCommanded
        guard isNew || !hasBegun else { return }
        record(
            remarks.open(item.id, Self.name(of: item), isCommanded: isCommanded, isSeparate: item.start != nil))
        guard isNew else { return }
        if hasBegun, !isCommanded { positions.forget(current) }
        current = item
        (isTitleShown, hasBegun, isReturning) = (false, false, false)
    }

    private func record(_ remarks: [TimelineRemark]) { for remark in remarks { distributor.record(remark) } }

    private static func name(of item: QueueItem) -> String {
        item.title ?? PrintableText.withoutCredentials(item.address)
    }

    /// Handles the start of a film, gapless or not; returns false if it was prepared already.
    private func begin(_ item: QueueItem, at time: MediaTime, isJoined: Bool) -> Bool {
        defer { (hasBegun, isReturning) = (true, false) }
        if isReturning, item == current { return false }
        let name = Self.name(of: item)
        let separate = remarks.begin(item.id, name)
        record(isJoined ? [.gaplessBoundary(name: name, at: time, origin: player.state.timelineOffset)] : separate)
        // It was opened separately.
        if !isJoined, isTitleShown, !hasBegun, item == current { return false }
        if hasBegun { positions.forget(current) }
        if item.address != current.address { positions.restoreSettings(of: item) }
        (current, isTitleShown) = (item, true)
        console.reportMoreFailures()
        showTitle()
        return true
    }

    // MARK: Display

    /// Prints the title on a terminal if there is no window: audio only, or no display. Returns false if it was not
    /// printed.
    @discardableResult
    func printTitle() -> Bool { isTitleShown && !window.showsFilm && console.print(playing) }

    private var playing: String {
        let state = player.state
        let by = state.hasVideo ? "" : state.artist.map { " by \($0)" } ?? ""
        let title = "playing '\(title)'\(by)"
        return state.itemCount > 1 ? "\(title) (\(state.itemNumber) of \(state.itemCount))" : title
    }

    /// Shows the title of the film in window and terminal.
    private func showTitle() {
        let (state, title) = (player.state, title)
        window.prepare(title: outputs.windowTitle(title))
        if !printTitle(), state.itemCount > 1 { console.say(.info, playing) } else { stage.log?.write(.info, playing) }
        // A film shows its own title.
        if !state.hasVideo { console.show(StatusText.recording(state, title: title), for: Self.titleTime) }
        guard state.hasAudio else { return }
        outputs.record()
        outputs.recall(for: current.address)
    }
}
