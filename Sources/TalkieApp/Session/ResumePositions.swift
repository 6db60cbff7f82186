internal import MediaCore
internal import Playback
internal import Storage

/// Owns the stored playback positions, for resuming. Confined to the session's thread.
final class ResumePositions {
    /// Positions closer than this to the start or end are not stored.
    private static let shortest = MediaTime(value: 1, timescale: 1)

    private var positions: [FilmKey: MediaTime] = [:]
    private let player: Player
    private let store: ResumePositionStore
    private let console: SessionConsole
    /// Whether films resume; a given start position disables it.
    private let resumes: Bool
    private let end: FilmPosition?

    init(_ stage: SessionDirector.Stage, _ arguments: PlayArguments, _ console: SessionConsole) {
        (player, store, self.console) = (stage.player, ResumePositionStore(stage.stateFolder), console)
        resumes = arguments.resumesPlayback && arguments.options.start == nil
        end = arguments.options.end
    }

    /// Reads the stored positions. Returns the index of the film that was stopped last, as mpv does.
    func recall(of films: [PlaylistLoader.Item]) -> Int {
        guard resumes else { return 0 }
        let (entries, note) = store.read()
        if let note { console.say(.warning, note) }
        guard !entries.isEmpty else { return 0 }
        positions = Dictionary(entries.map { ($0.film, $0.place) }) { _, later in later }
        let order = Dictionary(entries.enumerated().map { ($1.film, $0) }) { _, later in later }
        let newest = films.indices.compactMap { index -> (index: Int, age: Int)? in
            FilmKey(films[index].address).flatMap { order[$0] }.map { (index, $0) }
        }.max { $0.age < $1.age }
        return newest?.index ?? 0
    }

    /// Returns an item that starts at the stored position of its film.
    func item(_ film: PlaylistLoader.Item) -> QueueItem { QueueItem(film, start: position(of: film.address)) }

    private func position(of address: String) -> MediaTime? {
        guard !positions.isEmpty else { return nil }
        return FilmKey(address).flatMap { positions[$0] }
    }

    /// Reports that a film resumes, and how to start it from the beginning.
    func report(_ item: QueueItem) {
        guard let position = position(of: item.address), !isBehindEnd(item) else { return }
        let state = player.state
        console.show("Resumed at \(position.shortClock)\n" + StatusText.film(state), for: .seconds(3))
        console.say(
            .info,
            "'\(item.title ?? state.title)' resumes at \(position.shortClock); use --no-resume-playback to start at"
                + " the beginning")
    }

    /// Stores the position of the playing film. Nothing is stored if the player has already left that film, because
    /// the reported position is then another film's.
    func store(_ item: QueueItem) {
        let state = player.state
        guard state.current?.id == item.id else { return }
        guard [.playing, .paused, .buffering].contains(state.phase), let film = FilmKey(item.address) else { return }
        // A live stream has no position to resume.
        guard let duration = state.duration, state.position >= Self.shortest, state.position <= duration - Self.shortest
        else { return forget(item) }
        attempt { () throws(StateError) in try store.store(state.position, of: film) }
    }

    /// Whether the stored position of the current film was not used, because it is not before the requested end.
    private func isBehindEnd(_ item: QueueItem) -> Bool {
        guard let position = position(of: item.address), let end = end?.moment(in: player.state.duration) else {
            return false
        }
        return end <= position
    }

    /// Removes the position of a film after its end.
    func forget(_ item: QueueItem) {
        guard resumes, !isBehindEnd(item), let film = FilmKey(item.address), positions.removeValue(forKey: film) != nil
        else { return }
        attempt { () throws(StateError) in try store.forget(film) }
    }

    private func attempt(_ work: () throws(StateError) -> Void) {
        do throws(StateError) { try work() } catch { console.say(.warning, error.message) }
    }
}
