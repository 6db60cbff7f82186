internal import MediaCore
internal import SyncRendering

/// The state of a player for queries and for subscribers. Any thread.
final class PlayerStatePublisher: Sendable {
    /// The last state posted by the engine, without the values that change continuously: position and state of the
    /// outputs. Guarded by its own lock.
    private let posted = Lock(PlayerState())
    private let board = StateBroadcaster(PlayerState())
    /// Signals the changes to observers of properties.
    let changes = ControlChanges()
    private let timebase: Timebase
    private let outputs: OutputGroup?

    init(timebase: Timebase, outputs: OutputGroup? = nil) {
        self.timebase = timebase
        self.outputs = outputs
    }

    /// The state with the current position and the state of the outputs.
    var state: PlayerState { present(posted.withLock { $0 }) }

    /// How far the tracks have been read, sound alone too, how far the output holds it, and what of it is lost.
    func update(
        loadedUntil: MediaTime?, handedUntil: MediaTime?, soundReadUntil: MediaTime? = nil, soundIsRead: Bool = true,
        picturesAreRead: Bool = true, soundEnd: MediaTime? = nil, soundLosses: [MediaTimeRange] = [],
        readAhead: ReadAheadProgress? = nil
    ) {
        posted.withLock { posted in
            (posted.soundEnd, posted.soundLosses) = (soundEnd, soundLosses)
            (posted.loadedUntil, posted.handedUntil, posted.soundReadUntil) = (loadedUntil, handedUntil, soundReadUntil)
            (posted.soundIsRead, posted.picturesAreRead) = (soundIsRead, picturesAreRead)
            posted.readAhead = readAhead
            posted.turns &+= 1
        }
    }

    private func present(_ state: PlayerState) -> PlayerState {
        var state = state
        if state.phase == .playing || state.phase == .paused {
            let moment = max(.zero, timebase.currentTime - state.lineOffset)
            // After a boundary, until the engine detects it, the ended item is shown at its end.
            state.position = state.lineOffset == .zero ? moment : min(moment, state.duration ?? moment)
        }
        if let place = state.heldPosition { state.position = place }
        if let outputs, state.hasAudio { state.describe(outputs, isRunning: timebase.rate != 0) }
        return state
    }

    /// Stores a state, preserving the positions of `update`, and notifies subscribers.
    func post(_ state: PlayerState) {
        posted.withLock { posted in
            let reach = (posted.loadedUntil, posted.handedUntil, posted.soundReadUntil)
            let (turns, soundIsRead, picturesAreRead) = (posted.turns, posted.soundIsRead, posted.picturesAreRead)
            let (readAhead, soundEnd, soundLosses) = (posted.readAhead, posted.soundEnd, posted.soundLosses)
            posted = state
            (posted.readAhead, posted.soundEnd, posted.soundLosses) = (readAhead, soundEnd, soundLosses)
            (posted.loadedUntil, posted.handedUntil, posted.soundReadUntil) = reach
            (posted.turns, posted.soundIsRead, posted.picturesAreRead) = (turns, soundIsRead, picturesAreRead)
        }
        tick()
        changes.raise()
    }

    /// Notifies subscribers of the advanced position.
    func tick() { if board.hasReaders { refresh() } }

    /// Read inside the board's update, so that of two concurrent refreshes the later one has the later state.
    private func refresh() { board.update { $0 = state } }

    func finish() {
        refresh()
        board.finish()
    }

    /// Returns the current state and all later ones; a slow reader misses states, but never the last one.
    func states() -> AsyncStream<PlayerState> {
        // Subscribed first: a concurrent post is then not missed, and the first state read is the newest.
        let states = board.values
        refresh()
        return states
    }
}
