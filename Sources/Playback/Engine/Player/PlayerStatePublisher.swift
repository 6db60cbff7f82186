internal import MediaCore
internal import SyncRendering

/// The state of a player for queries and for subscribers. Any thread.
final class PlayerStatePublisher: Sendable {
    /// The last state posted by the engine, without the values that change continuously: position and state of the
    /// outputs. Guarded by its own lock.
    private let posted = Lock(PlayerState())
    private let broadcaster = StateBroadcaster(PlayerState())
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
        loadedUntil: MediaTime?, handedUntil: MediaTime?, audioReadUntil: MediaTime? = nil, audioIsRead: Bool = true,
        videoIsRead: Bool = true, audioEnd: MediaTime? = nil, audioLosses: [MediaTimeRange] = [],
        readAhead: ReadAheadProgress? = nil
    ) {
        posted.withLock { posted in
            (posted.audioEnd, posted.audioLosses) = (audioEnd, audioLosses)
            (posted.loadedUntil, posted.handedUntil, posted.audioReadUntil) = (loadedUntil, handedUntil, audioReadUntil)
            (posted.audioIsRead, posted.videoIsRead) = (audioIsRead, videoIsRead)
            posted.readAhead = readAhead
            posted.turns &+= 1
        }
    }

    private func present(_ state: PlayerState) -> PlayerState {
        var state = state
        if state.phase == .playing || state.phase == .paused {
            let position = max(.zero, timebase.currentTime - state.timelineOffset)
            // After a boundary, until the engine detects it, the ended item is shown at its end.
            state.position = state.timelineOffset == .zero ? position : min(position, state.duration ?? position)
        }
        if let held = state.heldPosition { state.position = held }
        if let outputs, state.hasAudio { state.describe(outputs, isRunning: timebase.rate != 0) }
        return state
    }

    /// Stores a state, preserving the positions of `update`, and notifies subscribers.
    func post(_ state: PlayerState) {
        posted.withLock { posted in
            let reach = (posted.loadedUntil, posted.handedUntil, posted.audioReadUntil)
            let (turns, audioIsRead, videoIsRead) = (posted.turns, posted.audioIsRead, posted.videoIsRead)
            let (readAhead, audioEnd, audioLosses) = (posted.readAhead, posted.audioEnd, posted.audioLosses)
            posted = state
            (posted.readAhead, posted.audioEnd, posted.audioLosses) = (readAhead, audioEnd, audioLosses)
            (posted.loadedUntil, posted.handedUntil, posted.audioReadUntil) = reach
            (posted.turns, posted.audioIsRead, posted.videoIsRead) = (turns, audioIsRead, videoIsRead)
        }
        tick()
        changes.raise()
    }

    /// Notifies subscribers of the advanced position.
    func tick() { if broadcaster.hasReaders { refresh() } }

    /// Read inside the board's update, so that of two concurrent refreshes the later one has the later state.
    private func refresh() { broadcaster.update { $0 = state } }

    func finish() {
        refresh()
        broadcaster.finish()
    }

    /// Returns the current state and all later ones; a slow reader misses states, but never the last one.
    func states() -> AsyncStream<PlayerState> {
        // Subscribed first: a concurrent post is then not missed, and the first state read is the newest.
        let states = broadcaster.values
        refresh()
        return states
    }
}
