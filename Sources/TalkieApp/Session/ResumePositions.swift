internal import MediaCore
internal import Playback
internal import Routing
internal import Storage

/// Owns the stored playback positions and settings of films, for resuming. Confined to the session's thread.
final class ResumePositions {
    /// Positions closer than this to the start or end are not stored.
    private static let shortest = MediaTime(value: 1, timescale: 1)

    /// The properties that are stored with a position.
    private static let properties = [
        "aid", "vid", "sid", "secondary-sid", "volume", "mute", "speed", "audio-delay", "sub-delay", "sub-visibility",
    ]
    /// The stored properties that belong to the player, not to one film: following films would keep their values.
    private static let ofPlayer: Set = ["volume", "mute", "speed", "audio-delay", "sub-delay", "sub-visibility"]
    /// Before the identifier of an output in the name of a setting: its sound track.
    private static let language = "language:"

    private var positions: [FilmKey: MediaTime] = [:]
    private var settings: [FilmKey: [String: String]] = [:]
    /// The values of the session's start, with which films are played unless the user changes them.
    private var usual: [String: String]?
    /// The settings of the player that were restored for the current film.
    private var restored: [String: String] = [:]
    private let player: Player
    private let control: PlayerControl
    private let routes: RouteController?
    private let tracks: [String: AudioTrackChoice]
    private let options: PlayerOptions
    private let chosen: Set<String>
    private let store: ResumePositionStore
    private let console: SessionConsole
    /// Whether films resume; a given start position disables it.
    private let resumes: Bool
    private let end: FilmPosition?

    init(
        _ stage: SessionDirector.Stage, _ arguments: PlayArguments, _ console: SessionConsole, control: PlayerControl,
        routes: RouteController?
    ) {
        (self.control, self.routes) = (control, routes)
        (tracks, options) = (stage.tracks, arguments.options)
        chosen = arguments.chosen
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
        positions = Dictionary(entries.map { ($0.film, $0.position) }) { _, later in later }
        settings = Dictionary(entries.map { ($0.film, $0.settings) }) { _, later in later }
        let order = Dictionary(entries.enumerated().map { ($1.film, $0) }) { _, later in later }
        let newest = films.indices.compactMap { index -> (index: Int, age: Int)? in
            FilmKey(films[index].address).flatMap { order[$0] }.map { (index, $0) }
        }.max { $0.age < $1.age }
        return newest?.index ?? 0
    }

    /// Returns an item that starts at the stored position of its film.
    func item(_ film: PlaylistLoader.Item) -> QueueItem {
        QueueItem(film, start: positions.isEmpty ? nil : FilmKey(film.address).flatMap { positions[$0] })
    }

    /// The key of the current film; nil if its drive does not answer within two seconds, as the user may be quitting.
    private func key(of item: QueueItem) -> FilmKey? {
        let (key, hasAnswered) = (Lock<FilmKey?>(nil), Signal())
        do throws(ExhaustionError) {
            _ = try WorkerThread.start(name: "film key") {
                let answer = FilmKey(item.address)
                key.withLock { $0 = answer }
                hasAnswered.raise()
            }
        } catch { return nil }
        return hasAnswered.wait(until: .now.advanced(by: .seconds(2))) ? key.withLock { $0 } : nil
    }

    private func position(of item: QueueItem) -> MediaTime? {
        guard !positions.isEmpty else { return nil }
        return key(of: item).flatMap { positions[$0] }
    }

    /// Reports that a film resumes, and how to start it from the beginning.
    func report(_ item: QueueItem) {
        guard let position = position(of: item), !isBehindEnd(item) else { return }
        let state = player.state
        console.showFirmly("Resumed at \(position.shortClock)\n" + StatusText.film(state), for: .seconds(3))
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
        guard [.playing, .paused, .buffering].contains(state.phase), let film = key(of: item) else { return }
        // A live stream has no position to resume.
        guard let duration = state.duration, state.position >= Self.shortest, state.position <= duration - Self.shortest
        else { return forget(item) }
        let settings = currentSettings
        attempt { () throws(StateError) in try store.store(state.position, of: film, settings: settings) }
    }

    // MARK: Settings

    /// The value of a property; nil if it is unavailable.
    private func present(_ property: String) -> JSONValue? {
        do throws(ControlError) { return try control.value(of: property) } catch { return nil }
    }

    /// How the current film is played, as far as it differs from the session's start: the selected tracks, in any case
    /// where there are several.
    private var currentSettings: [String: String] {
        let state = player.state
        let isChoice = [
            "aid": state.audioTracks.count > 1 && routes?.tracks.isEmpty ?? true, "vid": state.videoTracks.count > 1,
            "sid": !state.subtitleTracks.isEmpty, "secondary-sid": state.secondarySubtitleTrack != nil,
        ]
        var all: [String: String] = [:]
        for name in Self.properties {
            guard let value = present(name)?.mpvText else { continue }
            if isChoice[name] ?? (usual.map { $0[name] != nil && $0[name] != value } ?? false) { all[name] = value }
        }
        // The volume of a speaker is not that of another one.
        if all["volume"] != nil { all["outputs"] = routes?.ids.joined(separator: ",") ?? "" }
        for (id, wanted) in routes?.tracks ?? [:] where tracks[id] != wanted {
            all[Self.language + id] = wanted.text
        }
        return all
    }

    /// Plays a film that is prepared, or has begun after another one, as it was played when its position was stored.
    /// Values restored for the previous film return to the usual ones, unless the user has changed them. Options of the
    /// command line win.
    func restoreSettings(of item: QueueItem) {
        if usual == nil {
            usual = Dictionary(
                uniqueKeysWithValues: Self.properties.compactMap { name in
                    present(name).map { (name, $0.mpvText) }
                })
        }
        let isResumed = position(of: item) != nil && !isBehindEnd(item)
        let stored = isResumed ? key(of: item).flatMap { settings[$0] } ?? [:] : [:]
        for (name, value) in restored where stored[name] != value {
            restored[name] = nil
            guard stored[name] == nil, present(name)?.mpvText == value, let before = usual?[name] else { continue }
            set(name, before)
        }
        for name in Self.properties where !isRequested(name) {
            guard let value = stored[name], present(name)?.mpvText != value else { continue }
            if name == "volume", stored["outputs"] != routes?.ids.joined(separator: ",") ?? "" { continue }
            set(name, value)
            if Self.ofPlayer.contains(name) { restored[name] = value }
        }
        for (name, value) in stored where name.hasPrefix(Self.language) {
            let id = String(name.dropFirst(Self.language.count))
            // ignored: see above.
            guard tracks[id] == nil, let wanted = try? AudioTrackChoice(parsing: value) else { continue }
            routes?.setTrack(wanted, of: id)
        }
    }

    private func set(_ property: String, _ value: String) {
        // ignored: the film or this version may lack what was stored; the film plays as usual then.
        guard let request = try? control.table.request(["set", property, value]) else { return }
        control.perform(request) { _ in }
    }

    /// Whether an option of the command line sets a property.
    private func isRequested(_ property: String) -> Bool {
        if chosen.contains(property) { return true }
        return switch property {
        // The track of an output that was named with one is the session's.
        case "aid":
            !tracks.isEmpty || options.audioTrack != nil || !options.audioLanguages.isEmpty
                || options.audioPurpose != .main
        case "vid": options.videoTrack != nil
        case "sid": !options.subtitleLanguages.isEmpty
        case "volume": options.volume != nil
        case "mute": options.isMuted
        case "sub-visibility": !options.showsSubtitles
        default: false
        }
    }

    /// Whether the stored position of the current film was not used, because it is not before the requested end.
    private func isBehindEnd(_ item: QueueItem) -> Bool {
        guard let position = position(of: item), let end = end?.mediaTime(in: player.state.duration) else {
            return false
        }
        return end <= position
    }

    /// Removes the position of a film after its end.
    func forget(_ item: QueueItem) {
        guard resumes, !isBehindEnd(item), let film = key(of: item), positions.removeValue(forKey: film) != nil
        else { return }
        attempt { () throws(StateError) in try store.forget(film) }
    }

    private func attempt(_ work: () throws(StateError) -> Void) {
        do throws(StateError) { try work() } catch { console.say(.warning, error.message) }
    }
}
