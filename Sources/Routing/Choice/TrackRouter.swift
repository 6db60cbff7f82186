internal import MediaCore
package import Playback
package import SyncRendering

/// Distributes the audio tracks of a player to outputs: the main track to its outputs, and an added sound to each
/// route with another selection. A route whose selection changes is the only one that is interrupted. A selection of
/// the main track's outputs replaces the user's as long as they have it.
///
/// Any thread; does not block.
package final class TrackRouter: Sendable {
    /// Guarded by the lock `state`.
    private struct State {
        /// The added sounds by route.
        var tracks: [String: AddedAudioID] = [:]
        var mainChoice: AudioTrackChoice?
        /// The number of the last request, which is reserved before its outputs are created.
        var request = 0
        /// The number of changes of the main track's outputs that have no result yet.
        var changes = 0
    }

    private let player: Player
    private let state = Lock(State())

    /// Creates a router for a player without additional sounds.
    package init(_ player: Player) { self.player = player }

    /// Whether a route has an added sound.
    package func isSeparate(_ id: String) -> Bool { state.withLock { $0.tracks[id] != nil } }

    /// Returns a number for `apply`, for a caller that creates the outputs first. The older one of two such requests
    /// has no effect, even if it is ready later.
    func reserve() -> Int {
        state.withLock { state in
            state.request += 1
            return state.request
        }
    }

    /// Plays these routes only. Outputs that change between the main track and one of their own are closed in between.
    ///
    /// - Parameters:
    ///   - number: From `reserve`; nil: a new one.
    ///   - reason: The reason in `PlayerEvent.routeChanged`.
    ///   - done: Called once with the change of the main track's outputs, on any thread; must not block. After a
    ///     refusal the caller applies the old routes again, since sounds may have ended.
    package func apply(
        _ routes: [TrackRoute], as number: Int? = nil, because reason: PlaybackRouteChange.Reason = .chosen,
        done: @escaping @Sendable (RouteChange) -> Void
    ) {
        let number = number ?? reserve()
        let plan = state.withLock { state -> ([any AudioOutput], [TrackRoute], [AddedAudioID])? in
            guard number == state.request else { return nil }
            let (main, choice, added) = Self.divide(routes, state)
            if choice != state.mainChoice { player.overrideAudioTrack(with: choice) }
            state.mainChoice = choice
            var ended: [AddedAudioID] = []
            for (id, sound) in state.tracks {
                if let choice = added.first(where: { $0.id == id })?.choice {
                    player.setTrack(choice, of: sound)
                } else {
                    state.tracks[id] = nil
                    ended.append(sound)
                }
            }
            return (main, added, ended)
        }
        guard let (main, added, ended) = plan else { return done(.superseded) }
        // An output joins the main track once its own one has released it.
        let awaited = Lock(ended.count + 1)
        let proceed: @Sendable () -> Void = { [self] in
            let isLast = awaited.withLock { count in
                count -= 1
                return count == 0
            }
            if isLast { changeMain(to: main, because: reason, adding: added, number, done) }
        }
        for sound in ended { player.removeAudio(sound, done: proceed) }
        proceed()
    }

    /// Divides routes between the main track and tracks of their own. A route that has one keeps it, unless no other
    /// remains for the main track, so that a change of the main track does not interrupt it.
    private static func divide(
        _ routes: [TrackRoute], _ state: State
    ) -> (main: [any AudioOutput], choice: AudioTrackChoice?, added: [TrackRoute]) {
        let others = routes.filter { $0.choice == nil || state.tracks[$0.id] == nil }
        guard !others.isEmpty else {
            return (routes.first?.outputs ?? [], routes.first?.choice, Array(routes.dropFirst()))
        }
        var choice = TrackRoute.mainChoice(of: others)
        // Those that play the main track continue with it beside destinations without a selection, unless these would
        // get an audio description or a commentary by that.
        if let present = state.mainChoice, others.contains(where: { $0.choice == present }),
            choice != nil || present.purpose == .main
        {
            choice = present
        }
        let main = others.filter { $0.choice == nil || $0.choice == choice }
        let added = routes.filter { route in !main.contains { $0.id == route.id } }
        return (main.flatMap(\.outputs), choice, added)
    }

    private func changeMain(
        to main: [any AudioOutput], because reason: PlaybackRouteChange.Reason, adding added: [TrackRoute],
        _ request: Int, _ done: @escaping @Sendable (RouteChange) -> Void
    ) {
        let present = player.audioOutputs
        let isSame = present.count == main.count && present.allSatisfy { old in main.contains { $0 === old } }
        let (isCurrent, changes) = state.withLock { state in
            // A pending change is superseded, also by one to the present outputs.
            let changes = state.request == request && (!isSame || state.changes > 0)
            if changes { state.changes += 1 }
            return (state.request == request, changes)
        }
        guard isCurrent else { return done(.superseded) }
        guard changes else {
            add(added, request)
            return done(.changed(at: nil, without: []))
        }
        player.setAudioOutputs(main, because: reason) { [self] change in
            state.withLock { $0.changes -= 1 }
            // The outputs that have left the main track are closed by now.
            if case .changed = change { add(added, request) }
            done(change)
        }
    }

    /// Adds the missing sounds.
    private func add(_ routes: [TrackRoute], _ request: Int) {
        state.withLock { state in
            guard state.request == request else { return }
            for route in routes where state.tracks[route.id] == nil {
                guard let choice = route.choice else { continue }
                let volumes = route.outputs.map { player.knownVolume(of: $0) }
                state.tracks[route.id] = player.addAudio(track: choice, to: route.outputs)
                for (output, volume) in zip(route.outputs, volumes) {
                    if let volume { player.setVolume(volume, of: output) }
                }
            }
        }
    }
}
