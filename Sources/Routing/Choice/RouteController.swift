package import MediaCore
package import Playback
package import SyncRendering

/// Selects the outputs of a session: executes the user's choice, maintains the list of places and updates the picker.
/// Used only on the session's thread.
package final class RouteController {
    /// An event for the session, posted from any thread.
    package enum Event: Sendable {
        /// The available places have changed.
        case offered(OutputOffer)
        /// The result of a choice, with the identifiers of its places.
        case changed(RouteChange, [String])
        /// The outputs of a choice could not be created.
        case failed(TalkieError, [String])
        /// A volume was set on outputs that were created for it; the error if that failed.
        case volumeSet(TalkieError?)
    }

    private let player: Player
    private let group: OutputGroup
    private let registry: OutputRegistry
    private let home: OutputPlace
    private let post: @Sendable (Event) -> Void
    private var detector: RouteDetector?
    private var reading: Task<Void, Never>?
    private var offered: [OutputPlace]
    /// The current places: the last choice that was not refused.
    private(set) var chosen: [OutputPlace]
    /// The places before the pending choice; nil if none is pending.
    private var before: [OutputPlace]?
    /// The likely places by the history, until the user chooses or they have been offered.
    private var remembered: [String]?
    /// The created outputs by place identifier. The `route choice` threads add to it.
    private let outputs = Lock<[String: [any AudioOutput]]>([:])
    /// The volumes to set on outputs that a `route choice` thread is creating, by place identifier.
    private let awaitedVolumes = Lock<[String: Double]>([:])
    /// The open picker; nil if it is closed.
    package private(set) var picker: RoutePicker?
    /// The notes that were already reported; the session has reported those of the start.
    private var reportedNotes: [String]

    /// Creates a controller.
    ///
    /// - Parameters:
    ///   - routes: The places that play at the start.
    ///   - home: The place to use when everything else is lost.
    ///   - post: Called on any thread; must not block.
    package init(
        player: Player, group: OutputGroup, registry: OutputRegistry, routes: [OutputPlace], home: OutputPlace,
        post: @escaping @Sendable (Event) -> Void
    ) {
        self.player = player
        self.group = group
        self.registry = registry
        self.home = home
        self.post = post
        chosen = routes
        offered = routes
        reportedNotes = registry.notes
        if !offered.contains(where: { $0.id == home.id }) { offered.insert(home, at: 0) }
        // These outputs exist already: the registry returns the same ones.
        for route in routes {
            // ignored: `createOutputs` tries again, and says why.
            if let made = try? registry.outputs(at: route) { outputs.withLock { $0[route.id] = made } }
        }
    }

    /// Stops looking for places. Blocks until the providers have ended.
    package func close() {
        reading?.cancel()
        detector?.stop()
    }

    package var isOpen: Bool { picker != nil }
    /// The names of the current places: `Kitchen`, `This computer, Kitchen`.
    package var name: String { chosen.map(\.name).joined(separator: ", ") }
    package var ids: [String] { chosen.map(\.id) }

    // MARK: Picker

    /// Opens the picker and starts looking for places.
    package func openPicker() {
        startSearch()
        var picker = RoutePicker()
        picker.update(rows)
        // The likely place is selected in advance.
        if let likely = remembered?.first(where: { id in !chosen.contains { $0.id == id } }) { picker.go(to: likely) }
        self.picker = picker
    }

    package func closePicker() { picker = nil }

    /// Starts looking for places; continues until `close`, so that later openings are fast.
    package func startSearch() {
        guard detector == nil else { return }
        let detector = RouteDetector(registry, known: offered)
        self.detector = detector
        let offers = detector.offers
        do throws(ExhaustionError) { try WorkerThread.checkForTask() } catch {
            // Without a thread for the task, this thread would block. The next call tries again.
            self.detector = nil
            return post(
                .offered(OutputOffer(places: offered, note: "Cannot search for speakers: \(error.message).")))
        }
        reading = Task.detached { [post] in for await offer in offers { post(.offered(offer)) } }
    }

    /// Updates the picker. Returns true if its contents changed.
    package func refresh() -> Bool {
        guard var picker else { return false }
        let old = picker
        picker.update(rows)
        self.picker = picker
        return picker != old
    }

    /// The places, as rows of the picker.
    package var rows: [RoutePicker.Row] {
        let change = player.state.routeChange
        return offered.map { route in
            let isTicked = chosen.contains { $0.id == route.id }
            let isNew = isTicked && before.map { !$0.contains { $0.id == route.id } } == true
            return RoutePicker.Row(
                id: route.id, name: route.name, isTicked: isTicked, pending: isNew ? change ?? "connecting" : nil,
                obstacle: isTicked ? nil : route.obstacle, volume: volume(of: route))
        }
    }

    /// Handles a key. Returns false if the picker does not use it.
    package func press(_ key: String) -> Bool {
        guard let wish = picker?.press(key) else { return false }
        if let wish { carryOut(wish) }
        return true
    }

    /// Handles the pointer on a part of a row; `turned` is the number of wheel steps.
    package func point(at row: Int, _ part: RoutePicker.Part, turned: Int) {
        if let wish = picker?.point(at: row, part, turned: turned) { carryOut(wish) }
    }

    private func carryOut(_ wish: RoutePicker.Wish) {
        switch wish {
        case .close: closePicker()
        case .play(let ids): choose(ids)
        case .playAndClose(let id):
            closePicker()
            choose([id])
        case .explain(let text): picker?.notice = text
        case .setVolume(let id, let volume): setVolume(volume, of: id)
        }
    }

    // MARK: History

    /// Sets the likely places by the history and starts looking for them.
    package func expect(_ ids: [String]) {
        guard ids != self.ids else { return }
        remembered = ids
        startSearch()
    }

    /// The likely places, once all are available without obstacle; nil before that and during a choice.
    package var likely: [OutputPlace]? {
        guard let remembered, before == nil else { return nil }
        let routes = remembered.compactMap { id in offered.first { $0.id == id && $0.obstacle == nil } }
        return routes.count == remembered.count ? routes : nil
    }

    /// Clears the likely places, once they were offered or used.
    package func forgetLikely() { remembered = nil }

    // MARK: Choice

    /// Switches the audio to these places, by identifier. Returns at once; the result is posted.
    package func choose(_ ids: [String]) {
        let routes = ids.compactMap { id in offered.first { $0.id == id } }
        guard !routes.isEmpty, routes.map(\.id) != chosen.map(\.id) else { return }
        if before == nil { before = chosen }
        chosen = routes
        picker?.notice = nil
        let (registry, player, post, outputs) = (registry, player, post, outputs)
        let wanted = routes.map(\.id)
        // Creating a speaker's output reads files and checks ports.
        do throws(ExhaustionError) {
            _ = try WorkerThread.start(name: "route choice") {
                do throws(TalkieError) {
                    var members: [any AudioOutput] = []
                    for route in routes {
                        let made = try registry.outputs(at: route)
                        outputs.withLock { $0[route.id] = made }
                        members += made.filter { output in !members.contains { $0 === output } }
                    }
                    player.setAudioOutputs(members) { post(.changed($0, wanted)) }
                } catch {
                    post(.failed(error, wanted))
                }
            }
        } catch {
            post(.failed(TalkieError(error), wanted))
        }
    }

    /// Switches to this computer after the current outputs were lost.
    package func fallBack() { choose([home.id]) }

    // MARK: Volumes

    /// That of the loudest of its outputs; nil before they are made, and while none is known.
    private func volume(of route: OutputPlace) -> Double? {
        outputs.withLock { $0[route.id] }?.compactMap { group.knownVolume(of: $0) }.max()
    }

    /// Sets the volume of a place, 0…130; creates its outputs if necessary.
    package func setVolume(_ volume: Double, of id: String) {
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

    /// Creates the outputs of a place on a thread of its own, since that reads files and checks ports. Sets their
    /// volume to the newest one that is awaited, and posts the result.
    private func createOutputs(at route: OutputPlace) {
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

    /// Handles an event. Returns a message for the user, or nil.
    package func handle(_ event: Event) -> String? {
        switch event {
        case .offered(let offer):
            // Current places stay listed without announcement, such as a speaker selected by its address.
            offered = offer.places + chosen.filter { route in !offer.places.contains { $0.id == route.id } }
            if let note = offer.note, isOpen { picker?.notice = note }
            return takeNotes()
        case .changed(.superseded, _): return nil
        case .changed(.changed(_, let without), let ids):
            guard ids == chosen.map(\.id) else { return nil }
            before = nil
            if !without.isEmpty {
                let members = group.members
                chosen = chosen.filter { route in
                    // ignored: one whose outputs cannot be made has not joined; `without` says why.
                    (try? registry.outputs(at: route))?.contains { output in members.contains { $0 === output } }
                        ?? false
                }
                return withNotes("Sound: \(name)\n" + without.map(\.description).joined(separator: "\n"))
            }
            return withNotes("Sound: \(name)")
        case .changed(.refused(let refusals), let ids):
            return takeBack(ids, because: refusals.map(\.description).joined(separator: "\n"))
        case .failed(let failure, let ids): return takeBack(ids, because: failure.message)
        case .volumeSet(let failure):
            if let failure { picker?.notice = failure.message }
            return nil
        }
    }

    private func takeBack(_ ids: [String], because reason: String) -> String? {
        guard ids == chosen.map(\.id), let old = before else { return nil }
        chosen = old
        before = nil
        if isOpen { picker?.notice = reason }
        return withNotes("The sound stays on \(name).\n\(reason)")
    }

    // MARK: Notes about files

    /// Returns the notes about files added since the last call; nil if there are none.
    private func takeNotes() -> String? {
        let notes = registry.notes
        let fresh = notes.filter { !reportedNotes.contains($0) }
        reportedNotes = notes
        return fresh.isEmpty ? nil : fresh.joined(separator: "\n")
    }

    private func withNotes(_ text: String) -> String { takeNotes().map { "\(text)\n\($0)" } ?? text }
}
