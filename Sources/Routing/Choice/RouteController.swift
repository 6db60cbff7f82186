package import MediaCore
package import Playback
package import SyncRendering

/// Where the sound of a session goes: carries out what a person chooses, knows what there is to choose from, and keeps
/// the picker true. The session's thread only.
package final class RouteController {
    /// What the desk tells the session, from any thread.
    package enum News: Sendable {
        case offered(OutputOffer)
        /// What became of a choice: these routes, by id.
        case changed(RouteChange, [String])
        case failed(TalkieError, [String])
    }

    private let player: Player
    private let group: OutputGroup
    private let registry: OutputRegistry
    private let home: OutputPlace
    private let post: @Sendable (News) -> Void
    private var detector: RouteDetector?
    private var reading: Task<Void, Never>?
    private var offered: [OutputPlace]
    /// Those that play, or are to: what was chosen last and not refused.
    package private(set) var chosen: [OutputPlace]
    /// Before the choice that is under way.
    private var before: [OutputPlace]?
    /// Where the sound likely goes by its history, until somebody chooses or it was offered.
    private var remembered: [String]?
    /// The outputs of places that were made, by the place's id. The thread that makes them adds them.
    private let outputs = Lock<[String: [any AudioOutput]]>([:])
    package private(set) var picker: RoutePicker?
    /// What was told of files that could not be read; the session has told those of the start.
    private var toldNotes: [String]

    /// - Parameters:
    ///   - routes: the ones that play at the start.
    ///   - home: what plays when everything else is lost.
    ///   - post: called on any thread; must return at once.
    package init(
        player: Player, group: OutputGroup, registry: OutputRegistry, routes: [OutputPlace], home: OutputPlace,
        post: @escaping @Sendable (News) -> Void
    ) {
        self.player = player
        self.group = group
        self.registry = registry
        self.home = home
        self.post = post
        chosen = routes
        offered = routes
        toldNotes = registry.notes
        if !offered.contains(where: { $0.id == home.id }) { offered.insert(home, at: 0) }
        // The registry has made them.
        for route in routes {
            // ignored: `setVolume` tries again, and says why.
            if let made = try? registry.outputs(at: route) { outputs.withLock { $0[route.id] = made } }
        }
    }

    /// Looks no longer.
    package func close() {
        reading?.cancel()
        detector?.stop()
    }

    package var isOpen: Bool { picker != nil }
    /// For people: `Kitchen`, `This computer, Kitchen`.
    package var name: String { chosen.map(\.name).joined(separator: ", ") }
    package var ids: [String] { chosen.map(\.id) }

    // MARK: The picker

    package func openPicker() {
        look()
        var picker = RoutePicker()
        picker.update(rows)
        // The likely place is one key away.
        if let likely = remembered?.first(where: { id in !chosen.contains { $0.id == id } }) { picker.go(to: likely) }
        self.picker = picker
    }

    package func closePicker() { picker = nil }

    /// Begins to look for speakers; it goes on, so that the next look is quick.
    package func look() {
        guard detector == nil else { return }
        let detector = RouteDetector(registry, known: offered)
        self.detector = detector
        let offers = detector.offers
        do throws(ExhaustionError) { try WorkerThread.checkForTask() } catch {
            // The task would keep this thread waiting; the next look tries again.
            self.detector = nil
            return post(
                .offered(OutputOffer(places: offered, note: "Speakers cannot be looked for: \(error.message).")))
        }
        reading = Task.detached { [post] in for await offer in offers { post(.offered(offer)) } }
    }

    /// Keeps the picker true; true when it looks different now.
    package func refresh() -> Bool {
        guard var picker else { return false }
        let old = picker
        picker.update(rows)
        self.picker = picker
        return picker != old
    }

    private var rows: [RoutePicker.Row] {
        let change = player.state.routeChange
        return offered.map { route in
            let isTicked = chosen.contains { $0.id == route.id }
            let isNew = isTicked && before.map { !$0.contains { $0.id == route.id } } == true
            return RoutePicker.Row(
                id: route.id, name: route.name, isTicked: isTicked, pending: isNew ? change ?? "connecting" : nil,
                obstacle: isTicked ? nil : route.obstacle, volume: volume(of: route))
        }
    }

    /// False for a key that means nothing to the picker.
    package func press(_ key: String) -> Bool {
        guard let wish = picker?.press(key) else { return false }
        if let wish { carryOut(wish) }
        return true
    }

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

    // MARK: What is remembered

    /// Where the sound likely goes by its history: looked for, and known when it is there.
    package func expect(_ ids: [String]) {
        guard ids != self.ids else { return }
        remembered = ids
        look()
    }

    /// The remembered places, once all of them are there and none is in the way; nil before that, and after a choice.
    package var likely: [OutputPlace]? {
        guard let remembered, before == nil else { return nil }
        let routes = remembered.compactMap { id in offered.first { $0.id == id && $0.obstacle == nil } }
        return routes.count == remembered.count ? routes : nil
    }

    /// It was offered or taken.
    package func forgetLikely() { remembered = nil }

    // MARK: What is chosen

    /// Sends the sound to these routes, by id.
    package func choose(_ ids: [String]) {
        let routes = ids.compactMap { id in offered.first { $0.id == id } }
        guard !routes.isEmpty, routes.map(\.id) != chosen.map(\.id) else { return }
        if before == nil { before = chosen }
        chosen = routes
        picker?.notice = nil
        let (registry, player, post, outputs) = (registry, player, post, outputs)
        let wanted = routes.map(\.id)
        // Making a speaker's output reads files and asks for ports.
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

    /// Goes on with this computer, when what played is lost.
    package func fallBack() { choose([home.id]) }

    // MARK: Volumes

    /// That of the loudest of its outputs; nil before they are made.
    private func volume(of route: OutputPlace) -> Double? {
        outputs.withLock { $0[route.id] }?.map { group.volume(of: $0) }.max()
    }

    private func setVolume(_ volume: Double, of id: String) {
        var made = outputs.withLock { $0[id] }
        if made == nil, let route = offered.first(where: { $0.id == id }) {
            do throws(TalkieError) {
                let fresh = try registry.outputs(at: route)
                outputs.withLock { $0[id] = fresh }
                made = fresh
            } catch {
                picker?.notice = error.message
            }
        }
        for output in made ?? [] { player.setVolume(volume, of: output) }
    }

    // MARK: News

    /// What the news mean to a person; nil for nothing.
    package func hear(_ news: News) -> String? {
        switch news {
        case .offered(let offer):
            // What plays stays listed, though nobody announces it: a speaker that was named by its address.
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
                return told("Sound: \(name)\n" + without.map(\.description).joined(separator: "\n"))
            }
            return told("Sound: \(name)")
        case .changed(.refused(let refusals), let ids):
            return takeBack(ids, because: refusals.map(\.description).joined(separator: "\n"))
        case .failed(let failure, let ids): return takeBack(ids, because: failure.message)
        }
    }

    private func takeBack(_ ids: [String], because reason: String) -> String? {
        guard ids == chosen.map(\.id), let old = before else { return nil }
        chosen = old
        before = nil
        if isOpen { picker?.notice = reason }
        return told("The sound stays on \(name).\n\(reason)")
    }

    // MARK: Files that could not be read

    /// What was found out about files since the last time; nil for nothing.
    private func takeNotes() -> String? {
        let notes = registry.notes
        let fresh = notes.filter { !toldNotes.contains($0) }
        toldNotes = notes
        return fresh.isEmpty ? nil : fresh.joined(separator: "\n")
    }

    private func told(_ text: String) -> String { takeNotes().map { "\(text)\n\($0)" } ?? text }
}
