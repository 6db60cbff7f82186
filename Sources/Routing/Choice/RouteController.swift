public import MediaCore
public import Playback
public import SyncRendering

/// Selects the outputs of a player: executes the user's choice, maintains the list of destinations and updates the
/// picker.
///
/// Use it on one thread or actor. Calls do not block, except `close`: the results of searches and choices are posted as
/// events, which the owner passes to `handle`. All sound of the player is distributed by the controller; do not call
/// `Player.setAudioOutputs` or `addAudio` beside it.
public final class RouteController {
    /// An event for `handle`, posted from any thread.
    public enum Event: Sendable {
        /// The available destinations have changed.
        case offered(OutputOffer)
        /// The result of a choice, with the identifiers of its destinations.
        case changed(RouteChange, [String])
        /// The outputs of a choice could not be created.
        case failed(TalkieError, [String])
        /// A destination displays its PIN, which is to be entered; by identifier.
        case pinWanted(String)
        /// The result of a pairing with a destination, by identifier.
        case paired(Result<PairingOutcome, TalkieError>, String)
        /// A volume was set on outputs that were created for it; the error if that failed.
        case volumeSet(TalkieError?)
    }

    private let player: Player
    private let registry: OutputRegistry
    private let router: TrackRouter
    private let home: OutputDestination
    private let clock: any HostClock
    /// The destinations at the start.
    private let initial: [OutputDestination]
    private let post: @Sendable (Event) -> Void
    private var detector: RouteDetector?
    private var reading: Task<Void, Never>?
    private var offered: [OutputDestination]
    /// The identifiers of a choice of which no destination is offered yet.
    private var awaited: [String] = []
    /// Why the list of destinations may be incomplete; nil if there is no reason.
    private var note: String?
    /// When the search began; nil before that.
    private var searchStart: HostInstant?
    /// How long a search lasts before the list states that it has found nothing.
    private static let searchTime = Duration.seconds(3)
    /// The current destinations: the last choice that was not refused.
    public private(set) var chosen: [OutputDestination]
    /// The selections of destinations whose audio track is not the player's main one, by destination identifier.
    package private(set) var tracks: [String: AudioTrackChoice]
    /// The destinations and tracks before the pending choice; nil if none is pending.
    private var before: (chosen: [OutputDestination], tracks: [String: AudioTrackChoice])?
    /// The likely destinations by the history, until the user chooses or they have been offered.
    private var remembered: [String]?
    /// The created outputs by destination identifier. The `route choice` threads add to it.
    private let outputs = Lock<[String: [any AudioOutput]]>([:])
    /// The volumes to set on outputs that a `route choice` thread is creating, by destination identifier.
    private let awaitedVolumes = Lock<[String: Double]>([:])
    /// The open picker; nil if it is closed.
    public private(set) var picker: RoutePicker?
    /// The pairing in progress; nil: none.
    private var pairing: (task: PairingTask, adds: Bool, reply: (@Sendable (Result<String, TalkieError>) -> Void)?)?
    /// The notes that were already reported; the session has reported those of the start.
    private var reportedNotes: [String]

    /// Creates a controller. Searches for nothing until `startSearch` or `openPicker`.
    ///
    /// - Parameters:
    ///   - player: A player with audio outputs; one without refuses every choice.
    ///   - registry: The registry that made the player's outputs.
    ///   - routes: The destinations that play at the start.
    ///   - tracks: The selections of those that play another audio track than the main one, by destination identifier.
    ///   - home: This computer: the destination to use when everything else is lost.
    ///   - clock: The clock of the search.
    ///   - post: Called on any thread; must not block.
    public init(
        player: Player, registry: OutputRegistry, routes: [OutputDestination], tracks: [String: AudioTrackChoice] = [:],
        home: OutputDestination, clock: any HostClock = MonotonicClock(), post: @escaping @Sendable (Event) -> Void
    ) {
        router = TrackRouter(player)
        self.tracks = tracks
        self.player = player
        self.registry = registry
        self.home = home
        self.clock = clock
        self.post = post
        (initial, chosen, offered) = (routes, routes, routes)
        reportedNotes = registry.notes
        if !offered.contains(where: { $0.id == home.id }) { offered.insert(home, at: 0) }
        // These outputs exist already: the registry returns the same ones.
        for route in routes {
            // ignored: `createOutputs` tries again, and says why.
            if let made = try? registry.outputs(at: route) { outputs.withLock { $0[route.id] = made } }
        }
        if !tracks.isEmpty { restoreTracks() }
    }

    /// Plays the current destinations with their tracks, without a report.
    private func restoreTracks() {
        let routes = outputs.withLock { outputs in chosen.map { route($0, to: outputs[$0.id] ?? []) } }
        router.apply(routes.filter { !$0.outputs.isEmpty }) { _ in }
    }

    private func route(_ destination: OutputDestination, to outputs: [any AudioOutput]) -> TrackRoute {
        TrackRoute(id: destination.id, outputs: outputs, choice: tracks[destination.id])
    }

    /// Stops looking for destinations. Blocks until the providers have ended. Playback continues.
    public func close() {
        pairing?.task.answer(nil)
        reading?.cancel()
        detector?.stop()
    }

    /// Whether the picker is open.
    public var isOpen: Bool { picker != nil }
    /// Whether there is more than one destination, as far as is known. A program needs no button for the picker
    /// otherwise.
    public var hasChoice: Bool { offered.count > 1 }
    /// Whether audio plays, or is about to, on another destination than `home`.
    public var isElsewhere: Bool { chosen.contains { $0.id != home.id } }
    /// Whether a current destination has no sound or does not answer.
    public var hasProblem: Bool {
        let state = player.state
        return chosen.contains { problem(of: $0, in: state) != nil }
    }
    /// The names of the current destinations, with their languages and purposes if they can differ, and their problems:
    /// `Kitchen`, `This computer · English, Kitchen · German (no sound, trying again)`.
    public var name: String {
        let state = player.state
        return chosen.map { destination in
            let title = RoutePicker.title(destination.name, language: language(of: destination, in: state))
            return problem(of: destination, in: state).map { "\(title) (\($0))" } ?? title
        }.joined(separator: ", ")
    }
    /// The identifiers of the current destinations.
    package var ids: [String] { chosen.map(\.id) }

    // MARK: Picker

    /// Opens the picker and starts looking for destinations.
    public func openPicker() {
        startSearch()
        var picker = RoutePicker()
        picker.update(rows)
        picker.notice = searchNotice
        // The likely destination is selected in advance.
        if let likely = remembered?.first(where: { id in !chosen.contains { $0.id == id } }) {
            picker.select(to: likely)
        }
        self.picker = picker
    }

    /// Closes the picker; the search continues.
    public func closePicker() {
        if picker?.entry != nil { pairing?.task.answer(nil) }
        picker = nil
    }

    /// Starts looking for destinations; continues until `close`, so that later openings are fast. Later calls have no
    /// effect.
    public func startSearch() {
        guard detector == nil else { return }
        searchStart = clock.now
        let detector = RouteDetector(registry, known: offered)
        self.detector = detector
        let offers = detector.offers
        do throws(ExhaustionError) { try WorkerThread.checkForTask() } catch {
            // Without a thread for the task, this thread would block. The next call tries again.
            self.detector = nil
            return post(
                .offered(OutputOffer(destinations: offered, note: "Cannot search for speakers: \(error.message).")))
        }
        reading = Task.detached { [post] in for await offer in offers { post(.offered(offer)) } }
    }

    /// Updates the picker for the state of the player, such as volumes. Returns true if its contents changed.
    public func refresh() -> Bool {
        guard var picker else { return false }
        let old = picker
        picker.update(rows)
        if picker.notice == nil { picker.notice = searchNotice }
        self.picker = picker
        return picker != old
    }

    /// The result of a search that has found no speaker for some time, otherwise why it may be incomplete.
    private var searchNotice: String? {
        let isEmpty = !offered.contains { $0.provider != home.provider }
        guard isEmpty, let searchStart, clock.now - searchStart >= Self.searchTime else { return note }
        return Sentences.joined("No speakers found", note)
    }

    /// What is wrong with a current destination, for display after its name; nil if nothing is.
    private func problem(of route: OutputDestination, in state: PlayerState) -> String? {
        guard !state.outputProblems.isEmpty, let own = outputs.withLock({ $0[route.id] }) else { return nil }
        let ids = player.allOutputs.filter { one in own.contains { $0 === one.output } }.map(\.id)
        return state.outputProblems.lazy.filter { ids.contains($0.output) }.compactMap(\.phrase).first
    }

    /// The destinations, as rows of the picker.
    public var rows: [RoutePicker.Row] {
        let state = player.state
        let isChoice = Self.selectableTracks(of: state).count > 1
        return offered.map { route in
            let isTicked = chosen.contains { $0.id == route.id }
            let isNew = isTicked && before.map { !$0.chosen.contains { $0.id == route.id } } == true
            return RoutePicker.Row(
                id: route.id, name: route.name, kind: route.kind,
                language: isTicked ? language(of: route, in: state) : nil, isTicked: isTicked,
                pending: isNew ? state.routeChange ?? "connecting" : nil,
                problem: isTicked ? problem(of: route, in: state) : nil,
                obstacle: isTicked ? nil : route.obstacle, pairing: isTicked ? nil : route.pairing,
                volume: volume(of: route),
                choice: isTicked && isChoice ? track(of: route, in: state).map(AudioTrackChoice.init) : nil)
        }
    }

    // MARK: Languages and purposes

    /// The audio track that a current destination plays; nil if there is none.
    private func track(of route: OutputDestination, in state: PlayerState) -> Track? {
        guard let choice = tracks[route.id], router.isSeparate(route.id) else { return state.audioTrack }
        return choice.track(in: MediaSummary(container: "", tracks: state.audioTracks))
    }

    /// The language and purpose that a current destination plays, unless all play the main track or both are unknown,
    /// and its part of the channels, unless it plays the whole; nil without any of them.
    private func language(of route: OutputDestination, in state: PlayerState) -> String? {
        let isSeparate = chosen.contains { tracks[$0.id] != nil }
        let label = isSeparate ? track(of: route, in: state).flatMap { AudioTrackChoice($0).label } : nil
        let part = outputs.withLock { $0[route.id] }?.lazy.compactMap { self.player.channels(of: $0).label }.first
        let labels = [label, part].compactMap { $0 }
        return labels.isEmpty ? nil : labels.joined(separator: " · ")
    }

    /// Selects the audio track of a destination; nil: the main one. Only this destination is interrupted. The result is
    /// posted as that of a choice. A destination that is not chosen plays it later.
    public func setTrack(_ choice: AudioTrackChoice?, of id: String) {
        guard tracks[id] != choice else { return }
        guard chosen.contains(where: { $0.id == id }) else {
            tracks[id] = choice
            return
        }
        if before == nil { before = (chosen, tracks) }
        tracks[id] = choice
        applyChoice()
    }

    /// The sound tracks of a film that their language and purpose identify.
    private static func selectableTracks(of state: PlayerState) -> [Track] {
        let summary = MediaSummary(container: "", tracks: state.audioTracks)
        return state.audioTracks.filter { AudioTrackChoice($0).track(in: summary) == $0 }
    }

    /// Selects the next language or purpose of the film for a destination.
    private func cycleLanguage(of id: String) {
        guard let route = chosen.first(where: { $0.id == id }) else {
            picker?.notice = "Select the output first; then it has a language."
            return
        }
        let state = player.state
        let all = Self.selectableTracks(of: state)
        guard all.count > 1 else {
            picker?.notice = "This film states no second language and no audio description."
            return
        }
        let index = track(of: route, in: state).flatMap(all.firstIndex) ?? all.count - 1
        setTrack(AudioTrackChoice(all[(index + 1) % all.count]), of: id)
    }

    /// Handles a key, by mpv's name. Returns false if the picker is closed or does not use it.
    public func press(_ key: String) -> Bool {
        guard let action = picker?.press(key) else { return false }
        if let action { carryOut(action) }
        return true
    }

    /// Handles the pointer on a part of a row; `turned` is the number of wheel steps, 0 for a click.
    package func point(at row: Int, _ part: RoutePicker.Element, turned: Int) {
        if let action = picker?.point(at: row, part, turned: turned) { carryOut(action) }
    }

    private func carryOut(_ action: RoutePicker.Action) {
        switch action {
        case .close: closePicker()
        case .play(let ids): choose(ids)
        case .playAndClose(let id):
            closePicker()
            choose([id])
        case .explain(let text): picker?.notice = text
        case .setVolume(let id, let volume): setVolume(volume, of: id)
        case .cycleLanguage(let id): cycleLanguage(of: id)
        case .pair(let id, let adds): beginPairing(with: id, adds: adds)
        case .enter(let entry):
            if entry.kind == .pin, let pairing, pairing.task.id == entry.id { return pairing.task.answer(entry.text) }
            start(entry.kind == .pin ? .pin(entry.text) : .password(entry.text), with: entry.id, adds: entry.adds)
        case .cancelEntry: pairing?.task.answer(nil)
        }
    }

    // MARK: Pairing

    /// Begins the pairing with a destination from the list: asks for its password, or lets it display its PIN.
    private func beginPairing(with id: String, adds: Bool) {
        guard let destination = offered.first(where: { $0.id == id }), let kind = destination.pairing else { return }
        switch kind {
        case .password:
            picker?.entry = RoutePicker.Entry(id: id, name: PrintableText.of(destination.name), kind: kind, adds: adds)
        case .pin: start(.pin(nil), with: id, adds: adds)
        }
    }

    /// Pairs with a destination for a controller: with a password, or with a PIN. Without a code the destination
    /// displays its PIN.
    ///
    /// - Parameter reply: Called once, on any thread, with a sentence for the user.
    package func pair(
        with id: String, code: String?, _ reply: @escaping @Sendable (Result<String, TalkieError>) -> Void
    ) {
        guard let destination = offered.first(where: { $0.id == id }), let kind = destination.pairing else {
            return reply(.failure(TalkieError(.invalidArgument, "this output needs no pairing")))
        }
        if let code, kind == .pin, let pairing, pairing.task.id == id, pairing.task.isAsking {
            self.pairing?.reply = reply
            return pairing.task.answer(code)
        }
        guard code != nil || kind == .pin else {
            return reply(.failure(TalkieError(.invalidArgument, "the password is missing")))
        }
        // A PIN that arrives late belongs to a pairing that has ended.
        guard code == nil || kind == .password else {
            return reply(
                .failure(TalkieError(.unavailable, "the PIN is no longer awaited; begin the pairing again")))
        }
        start(kind == .password ? .password(code ?? "") : .pin(nil), with: id, adds: false, reply)
    }

    /// Starts a pairing on a thread of its own; the results are posted.
    private func start(
        _ action: PairingAction, with id: String, adds: Bool,
        _ reply: (@Sendable (Result<String, TalkieError>) -> Void)? = nil
    ) {
        guard let destination = offered.first(where: { $0.id == id }) else { return }
        pairing?.task.answer(nil)
        let task = PairingTask(destination)
        pairing = (task, adds, reply)
        picker?.notice = "Pairing with \(PrintableText.of(destination.name)) …"
        let (registry, post) = (registry, post)
        do throws(ExhaustionError) {
            _ = try WorkerThread.start(name: "route choice") {
                do throws(TalkieError) {
                    let outcome = try task.run(action, in: registry) { post(.pinWanted(id)) }
                    post(.paired(.success(outcome), id))
                } catch {
                    post(.paired(.failure(error), id))
                }
            }
        } catch {
            post(.paired(.failure(TalkieError(error)), id))
        }
    }

    /// Handles the display of a PIN: a controller asks for it itself.
    private func askForPIN(of id: String) {
        guard let pairing, pairing.task.id == id else { return }
        if let reply = pairing.reply {
            self.pairing?.reply = nil
            return reply(.success("enter the PIN that it shows"))
        }
        guard isOpen else { return pairing.task.answer(nil) }
        picker?.entry = RoutePicker.Entry(
            id: id, name: PrintableText.of(pairing.task.destination.name), kind: .pin, adds: pairing.adds)
    }

    /// Handles the result of a pairing: plays on the destination, or asks again for a password. Returns a message for
    /// the user.
    private func endPairing(with id: String, _ result: Result<PairingOutcome, TalkieError>) -> String? {
        guard let pairing, pairing.task.id == id else { return nil }
        self.pairing = nil
        picker?.entry = nil
        let name = PrintableText.of(pairing.task.destination.name)
        switch result {
        case .success(let outcome):
            picker?.notice = nil
            if pairing.reply == nil { choose(pairing.adds ? ids + [id] : [id]) }
            pairing.reply?(.success(outcome.message))
            return ([outcome.message] + outcome.remarks).joined(separator: "\n")
        case .failure(let error):
            // The remedy of these is the entry itself.
            let isEntry = [.correctPassword, .givePassword, .pairByPIN, .pair].contains(error.remedy?.action)
            let problem = isEntry ? PrintableText.sentence(error.problem) : error.message
            pairing.reply?(.failure(TalkieError(error.code, problem)))
            if pairing.reply == nil, !pairing.task.isCancelled {
                picker?.notice = "\(name): \(problem)"
                if error.remedy?.action == .correctPassword, isOpen {
                    picker?.entry = RoutePicker.Entry(
                        id: id, name: name, kind: .password, adds: pairing.adds, isRetry: true)
                }
            } else {
                picker?.notice = nil
            }
            return nil
        }
    }

    // MARK: History

    /// Sets the likely destinations by the history and starts looking for them.
    package func expect(_ ids: [String]) {
        guard ids != self.ids else { return }
        remembered = ids
        startSearch()
    }

    /// The likely destinations, once all are available without obstacle; nil before that and during a choice.
    package var likely: [OutputDestination]? {
        guard let remembered, before == nil else { return nil }
        let routes = remembered.compactMap { id in offered.first { $0.id == id && $0.obstacle == nil } }
        return routes.count == remembered.count ? routes : nil
    }

    /// Clears the likely destinations, once they were offered or used.
    package func forgetLikely() { remembered = nil }

    // MARK: Choice

    /// Switches the audio to these destinations, by identifier. Returns at once; the result is posted. The old
    /// destinations play until the new ones do, and continue if these cannot.
    ///
    /// While none of the destinations is offered, the choice waits for the first list that has one, until another
    /// choice. Destinations that are not offered when others are, and repeated ones, are ignored.
    public func choose(_ ids: [String]) { choose(ids, because: .chosen) }

    /// Same with the reason in `PlayerEvent.routeChanged`.
    package func choose(_ ids: [String], because reason: PlaybackRouteChange.Reason) {
        var routes: [OutputDestination] = []
        for id in ids where !routes.contains(where: { $0.id == id }) {
            if let route = offered.first(where: { $0.id == id }) { routes.append(route) }
        }
        awaited = routes.isEmpty ? ids : []
        guard !routes.isEmpty, routes.map(\.id) != chosen.map(\.id) else { return }
        if before == nil { before = (chosen, tracks) }
        chosen = routes
        applyChoice(because: reason)
    }

    /// Plays the current destinations with their tracks; the result is posted.
    private func applyChoice(because reason: PlaybackRouteChange.Reason = .chosen) {
        picker?.notice = nil
        let (registry, router, post, outputs) = (registry, router, post, outputs)
        let (routes, tracks) = (chosen, tracks)
        let wanted = routes.map(\.id)
        let number = router.reserve()
        // Creating a speaker's output reads files and checks ports.
        do throws(ExhaustionError) {
            _ = try WorkerThread.start(name: "route choice") {
                do throws(TalkieError) {
                    var (all, used) = ([TrackRoute](), [any AudioOutput]())
                    for route in routes {
                        let made = try registry.outputs(at: route)
                        outputs.withLock { $0[route.id] = made }
                        let own = made.filter { output in !used.contains { $0 === output } }
                        used += own
                        all.append(TrackRoute(id: route.id, outputs: own, choice: tracks[route.id]))
                    }
                    router.apply(all.filter { !$0.outputs.isEmpty }, as: number, because: reason) {
                        post(.changed($0, wanted))
                    }
                } catch {
                    post(.failed(error, wanted))
                }
            }
        } catch {
            post(.failed(TalkieError(error), wanted))
        }
    }

    /// Handles a change of the outputs that are heard, reported by the player: if all were lost, switches to `home` if
    /// the player's session says so (`PlaybackSession.LostRoutePolicy.local`). Outputs that never opened are not lost.
    public func handle(_ change: PlaybackRouteChange) {
        guard change.hasOpened, change.current.isEmpty, [.outputGone, .takenOver, .failed].contains(change.reason)
        else { return }
        if player.session.lostRoutePolicy == .local { choose([home.id], because: change.reason) }
    }

    // MARK: Volumes

    /// That of the loudest of its outputs; nil before they are made, and while none is known.
    private func volume(of route: OutputDestination) -> Double? {
        outputs.withLock { $0[route.id] }?.compactMap { player.knownVolume(of: $0) }.max()
    }

    /// Sets the volume of a destination, 0…130; creates its outputs if necessary.
    public func setVolume(_ volume: Double, of id: String) {
        let isBeingCreated = awaitedVolumes.withLock { volumes in
            guard volumes[id] != nil else { return false }
            volumes[id] = volume
            return true
        }
        if isBeingCreated { return }
        if let made = outputs.withLock({ $0[id] }) {
            for output in made { player.setVolume(volume, of: output) }
        } else if let route = offered.first(where: { $0.id == id }) {
            awaitedVolumes.withLock { $0[id] = volume }
            createOutputs(at: route)
        }
    }

    /// Creates the outputs of a destination on a thread of its own, since that reads files and checks ports. Sets their
    /// volume to the newest one that is awaited, and posts the result.
    private func createOutputs(at route: OutputDestination) {
        let (registry, player, post, outputs, awaited) = (registry, player, post, outputs, awaitedVolumes)
        let id = route.id
        do throws(ExhaustionError) {
            _ = try WorkerThread.start(name: "route choice") {
                do throws(TalkieError) {
                    let made = try registry.outputs(at: route)
                    outputs.withLock { $0[id] = made }
                    var applied: Double?
                    while let volume = awaited.withLock({ volumes -> Double? in
                        guard let volume = volumes[id], volume != applied else {
                            volumes[id] = nil
                            return nil
                        }
                        return volume
                    }) {
                        for output in made { player.setVolume(volume, of: output) }
                        applied = volume
                    }
                    post(.volumeSet(nil))
                } catch {
                    awaited.withLock { $0[id] = nil }
                    post(.volumeSet(error))
                }
            }
        } catch {
            awaitedVolumes.withLock { $0[id] = nil }
            picker?.notice = error.message
        }
    }

    // MARK: Events

    /// Handles an event. Returns a message for the user, or nil. Lines after the first one state problems.
    public func handle(_ event: Event) -> String? {
        switch event {
        case .offered(let offer):
            // These stay listed without announcement, such as a speaker selected by its address.
            offered = offer.destinations
            for route in initial + chosen where !offered.contains(where: { $0.id == route.id }) {
                offered.append(route)
            }
            note = offer.note
            if !awaited.isEmpty { choose(awaited) }
            if isOpen, let notice = searchNotice { picker?.notice = notice }
            return freshNotes()
        case .changed(.superseded, _): return nil
        case .changed(.changed(_, let without), let ids):
            guard ids == chosen.map(\.id) else { return nil }
            before = nil
            if !without.isEmpty {
                let members = player.audioOutputs
                chosen = chosen.filter { route in
                    if router.isSeparate(route.id) { return true }
                    // ignored: one whose outputs cannot be made has not joined; `without` says why.
                    let made = try? registry.outputs(at: route)
                    return made?.contains { output in members.contains { $0 === output } } ?? false
                }
                return withNotes("Sound: \(name)\n" + without.map(\.description).joined(separator: "\n"))
            }
            return withNotes("Sound: \(name)")
        case .changed(.refused(let refusals), let ids):
            return revert(ids, because: refusals.map(\.description).joined(separator: "\n"))
        case .failed(let failure, let ids): return revert(ids, because: failure.message)
        case .pinWanted(let id):
            askForPIN(of: id)
            return nil
        case .paired(let result, let id): return endPairing(with: id, result)
        case .volumeSet(let failure):
            if let failure { picker?.notice = failure.message }
            return nil
        }
    }

    private func revert(_ ids: [String], because reason: String) -> String? {
        guard ids == chosen.map(\.id), let old = before else { return nil }
        (chosen, tracks) = old
        before = nil
        if !tracks.isEmpty { restoreTracks() }
        if isOpen { picker?.notice = reason }
        return withNotes("The sound stays on \(name).\n\(reason)")
    }

    // MARK: Notes about files

    /// Returns the notes about files added since the last call; nil if there are none.
    private func freshNotes() -> String? {
        let notes = registry.notes
        let fresh = notes.filter { !reportedNotes.contains($0) }
        reportedNotes = notes
        return fresh.isEmpty ? nil : fresh.joined(separator: "\n")
    }

    private func withNotes(_ text: String) -> String { freshNotes().map { "\(text)\n\($0)" } ?? text }
}
