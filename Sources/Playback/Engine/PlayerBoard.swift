internal import MediaCore
internal import SyncRendering

/// Where the player stands, for whoever asks and for those who follow. Any thread.
final class PlayerBoard: Sendable {
    /// As the engine posted it last, without what passes by itself: the film moment, what the outputs say.
    private let posted = Lock(PlayerState())
    private let board = BroadcastBoard(PlayerState())
    private let timebase: Timebase
    private let outputs: OutputGroup?

    init(timebase: Timebase, outputs: OutputGroup? = nil) {
        self.timebase = timebase
        self.outputs = outputs
    }

    /// The state with the film moment of now, and what the outputs say.
    var state: PlayerState { present(posted.withLock { $0 }) }

    /// How far the tracks have been read, sound alone too, and how far the output holds it.
    func note(
        loadedUntil: MediaTime?, handedUntil: MediaTime?, soundReadUntil: MediaTime? = nil, soundIsRead: Bool = true,
        picturesAreRead: Bool = true
    ) {
        posted.withLock { posted in
            (posted.loadedUntil, posted.handedUntil, posted.soundReadUntil) = (loadedUntil, handedUntil, soundReadUntil)
            (posted.soundIsRead, posted.picturesAreRead) = (soundIsRead, picturesAreRead)
            posted.turns &+= 1
        }
    }

    private func present(_ state: PlayerState) -> PlayerState {
        var state = state
        if state.phase == .playing || state.phase == .paused {
            let moment = max(.zero, timebase.currentTime - state.lineOffset)
            // Between a joint and the thread that notices it the film that ended is shown at its end.
            state.position = state.lineOffset == .zero ? moment : min(moment, state.duration ?? moment)
        }
        if let place = state.heldPosition { state.position = place }
        if let outputs, state.hasAudio { state.describe(outputs, isRunning: timebase.rate != 0) }
        return state
    }

    func post(_ state: PlayerState) {
        posted.withLock { posted in
            let reach = (posted.loadedUntil, posted.handedUntil, posted.soundReadUntil)
            let (turns, soundIsRead, picturesAreRead) = (posted.turns, posted.soundIsRead, posted.picturesAreRead)
            posted = state
            (posted.loadedUntil, posted.handedUntil, posted.soundReadUntil) = reach
            (posted.turns, posted.soundIsRead, posted.picturesAreRead) = (turns, soundIsRead, picturesAreRead)
        }
        tick()
    }

    /// The film has moved on.
    func tick() { if board.hasReaders { refresh() } }

    /// Inside the board's own turn, so that of two who refresh at once the later one has the later state.
    private func refresh() { board.update { $0 = state } }

    func finish() {
        refresh()
        board.finish()
    }

    /// The present state and every later one; whoever reads slowly misses states, never the last one.
    func states() -> AsyncStream<PlayerState> {
        // In this order: a post in between is seen, and what is read first is the newest.
        let states = board.values
        refresh()
        return states
    }
}
