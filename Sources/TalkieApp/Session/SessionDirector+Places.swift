internal import MediaCore
internal import Playback
internal import Storage

// Where films were stopped on other evenings, and where this one is.
extension SessionDirector {
    /// The shortest stretch behind the start, and before the end, of which it is worth being remembered.
    private static let shortest = MediaTime(value: 1, timescale: 1)

    /// Whether films go on where they were stopped. Who says where to begin does not want that.
    private var resumes: Bool { arguments.resumesPlayback && arguments.options.start == nil }

    private var store: FilmPlaces { FilmPlaces(stage.stateFolder) }

    /// Reads what is kept, and begins a list with the film of it that was stopped last, as mpv does.
    func recallPlaces() {
        guard resumes else { return }
        let (entries, note) = store.read()
        if let note { say(.warning, note) }
        guard !entries.isEmpty else { return }
        places = Dictionary(entries.map { ($0.film, $0.place) }) { _, later in later }
        let order = Dictionary(entries.enumerated().map { ($1.film, $0) }) { _, later in later }
        let newest = (0..<queue.count).compactMap { index -> (index: Int, age: Int)? in
            FilmKey(queue.item(index).address).flatMap { order[$0] }.map { (index, $0) }
        }.max { $0.age < $1.age }
        if let newest { _ = queue.step(by: newest.index) }
    }

    /// Where a film goes on; nil is its start.
    func place(of item: PlaylistLoader.Item) -> MediaTime? {
        guard !places.isEmpty else { return nil }
        return FilmKey(item.address).flatMap { places[$0] }
    }

    /// A film that goes on in its middle has been opened: people are told, and how to begin at its start.
    func tellOfPlace() {
        guard let place = place(of: queue.current) else { return }
        show("Continued at \(place.shortClock)\n" + StatusText.film(stage.player.state), for: .seconds(3))
        say(
            .info,
            "'\(queue.current.title ?? stage.player.state.title)' continues at \(place.shortClock); --no-resume-playback begins at the start"
        )
    }

    /// The session ends because a person wants that: the film's place is kept, or, as in mpv, forgotten.
    func quit(keepingPlace keeps: Bool) {
        if keeps { keepPlace() } else { forgetPlace() }
        end(ExitStatus.done)
    }

    /// Keeps where the film is.
    func keepPlace() {
        let state = stage.player.state
        guard [.playing, .paused, .buffering].contains(state.phase), let film = FilmKey(queue.current.address) else {
            return
        }
        // A live stream has no place to come back to.
        guard let duration = state.duration, state.position >= Self.shortest, state.position <= duration - Self.shortest
        else { return forgetPlace() }
        attempt { () throws(StateError) in try store.keep(state.position, of: film) }
    }

    /// The current film has been seen: it begins at its start the next time.
    func forgetPlace() {
        guard resumes, let film = FilmKey(queue.current.address), places.removeValue(forKey: film) != nil else {
            return
        }
        attempt { () throws(StateError) in try store.forget(film) }
    }

    private func attempt(_ work: () throws(StateError) -> Void) {
        do throws(StateError) { try work() } catch { say(.warning, error.message) }
    }
}
