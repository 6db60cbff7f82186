internal import MediaCore
internal import Playback
internal import Storage

// Stored playback positions, for resuming.
extension SessionDirector {
    /// Positions closer than this to the start or end are not stored.
    private static let shortest = MediaTime(value: 1, timescale: 1)

    /// Whether films resume; a given start position disables it.
    private var resumes: Bool { arguments.resumesPlayback && arguments.options.start == nil }

    private var store: FilmPlaces { FilmPlaces(stage.stateFolder) }

    /// Reads the stored positions. Returns the index of the film that was stopped last, as mpv does.
    func recallPlaces(of films: [PlaylistLoader.Item]) -> Int {
        guard resumes else { return 0 }
        let (entries, note) = store.read()
        if let note { say(.warning, note) }
        guard !entries.isEmpty else { return 0 }
        places = Dictionary(entries.map { ($0.film, $0.place) }) { _, later in later }
        let order = Dictionary(entries.enumerated().map { ($1.film, $0) }) { _, later in later }
        let newest = films.indices.compactMap { index -> (index: Int, age: Int)? in
            FilmKey(films[index].address).flatMap { order[$0] }.map { (index, $0) }
        }.max { $0.age < $1.age }
        return newest?.index ?? 0
    }

    /// Returns an item that starts at the stored position of its film.
    func item(_ film: PlaylistLoader.Item) -> QueueItem { QueueItem(film, start: place(of: film.address)) }

    private func place(of address: String) -> MediaTime? {
        guard !places.isEmpty else { return nil }
        return FilmKey(address).flatMap { places[$0] }
    }

    /// Reports that a film resumes, and how to start it from the beginning.
    func tellOfPlace() {
        guard let place = place(of: current.address) else { return }
        show("Resumed at \(place.shortClock)\n" + StatusText.film(stage.player.state), for: .seconds(3))
        say(
            .info,
            "'\(current.title ?? stage.player.state.title)' resumes at \(place.shortClock); use --no-resume-playback to start at the beginning"
        )
    }

    /// Quits at the user's request: the position is stored or, as in mpv, removed.
    func quit(keepingPlace keeps: Bool) {
        if keeps { keepPlace() } else { forgetPlace() }
        end(ExitStatus.done)
    }

    /// Stores the position of the current film.
    func keepPlace() {
        let state = stage.player.state
        guard [.playing, .paused, .buffering].contains(state.phase), let film = FilmKey(current.address) else {
            return
        }
        // A live stream has no position to resume.
        guard let duration = state.duration, state.position >= Self.shortest, state.position <= duration - Self.shortest
        else { return forgetPlace() }
        attempt { () throws(StateError) in try store.keep(state.position, of: film) }
    }

    /// Removes the position of the current film after its end.
    func forgetPlace() {
        guard resumes, let film = FilmKey(current.address), places.removeValue(forKey: film) != nil else {
            return
        }
        attempt { () throws(StateError) in try store.forget(film) }
    }

    private func attempt(_ work: () throws(StateError) -> Void) {
        do throws(StateError) { try work() } catch { say(.warning, error.message) }
    }
}
