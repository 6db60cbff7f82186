import MediaCore

/// The queue of commands for the player's thread. Any thread.
final class PlayerMailbox: Sendable {
    typealias Command = @Sendable (PlaybackEngine) -> Void
    /// The pending commands; nil once the player is shut down. Guarded by its own lock.
    private let waiting = Lock<[Command]?>([])
    /// Cancels the opening of the awaited item, on which the player's thread waits. Guarded by its own lock.
    let opening = Lock<OpenCancellation?>(nil)
    /// Raised when a command arrives or the player has to check for changes.
    let signal = Signal()

    /// Enqueues a command; returns false without effect if the player is shut down.
    @discardableResult
    func post(_ command: @escaping Command) -> Bool {
        let isTaken = waiting.withLock { waiting in
            waiting?.append(command)
            return waiting != nil
        }
        signal.raise()
        return isTaken
    }

    /// Removes and returns all pending commands.
    func takeAll() -> [Command] {
        waiting.withLock { waiting in
            guard let all = waiting, !all.isEmpty else { return [] }
            waiting = []
            return all
        }
    }

    /// Returns the pending commands; later ones are rejected.
    func close() -> [Command] {
        waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting ?? []
        }
    }

    /// Cancels the opening of the awaited item, because a command replaces it. Any thread.
    func cancelOpening() { opening.withLock { $0 }?.cancel() }
}
