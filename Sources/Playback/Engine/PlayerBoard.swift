internal import MediaCore
internal import SyncRendering

/// Where the player stands, for whoever asks and for those who follow. Any thread.
final class PlayerBoard: Sendable {
    private struct Shared {
        package var state = PlayerState()
        var handedUntil: MediaTime?
        package var readers: [Int: AsyncStream<PlayerState>.Continuation] = [:]
        package var nextReader = 0
        package var isOver = false
    }

    private let shared = Lock(Shared())
    private let timebase: Timebase
    private let outputs: OutputGroup?

    init(timebase: Timebase, outputs: OutputGroup? = nil) {
        self.timebase = timebase
        self.outputs = outputs
    }

    /// The state with the film moment of now, and what the outputs say.
    var state: PlayerState {
        present(
            shared.withLock { shared in
                var state = shared.state
                state.handedUntil = shared.handedUntil
                return state
            })
    }

    /// How far sound has been handed to the output.
    func note(handedUntil: MediaTime?) { shared.withLock { $0.handedUntil = handedUntil } }

    private func present(_ state: PlayerState) -> PlayerState {
        var state = state
        if state.phase == .playing || state.phase == .paused {
            let moment = max(.zero, timebase.currentTime - state.lineOffset)
            // Between a joint and the thread that notices it the film that ended is shown at its end.
            state.position = state.lineOffset == .zero ? moment : min(moment, state.duration ?? moment)
        }
        if let outputs, state.hasAudio { state.describe(outputs, isRunning: timebase.rate != 0) }
        return state
    }

    func post(_ state: PlayerState) {
        let readers = shared.withLock { shared -> [AsyncStream<PlayerState>.Continuation] in
            shared.state = state
            // An empty dictionary's values cost nothing.
            return shared.readers.isEmpty ? [] : Array(shared.readers.values)
        }
        guard !readers.isEmpty else { return }
        let now = self.state
        for reader in readers { reader.yield(now) }
    }

    /// The film has moved on.
    func tick() {
        let readers = shared.withLock { $0.readers.isEmpty ? [] : Array($0.readers.values) }
        guard !readers.isEmpty else { return }
        let now = state
        for reader in readers { reader.yield(now) }
    }

    func finish() {
        let readers = shared.withLock { shared -> [AsyncStream<PlayerState>.Continuation] in
            defer { shared.readers = [:] }
            shared.isOver = true
            return Array(shared.readers.values)
        }
        for reader in readers { reader.finish() }
    }

    /// The present state and every later one; whoever reads slowly misses states, never the last one.
    func states() -> AsyncStream<PlayerState> {
        let (stream, reader) = AsyncStream<PlayerState>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = shared.withLock { shared -> Int? in
            guard !shared.isOver else { return nil }
            defer { shared.nextReader += 1 }
            shared.readers[shared.nextReader] = reader
            return shared.nextReader
        }
        reader.yield(state)
        guard let number else {
            reader.finish()
            return stream
        }
        reader.onTermination = { [weak self] _ in
            // Not kept until the lock is free again: this may be called under no lock of ours only.
            _ = self?.shared.withLock { $0.readers.removeValue(forKey: number) }
        }
        return stream
    }
}
