import MediaCore

/// The queue of commands for the player's thread. Any thread.
final class PlayerMailbox: Sendable {
    typealias Command = @Sendable (PlaybackEngine) -> Void

    /// The maximum cost of the requests that wait: a thousand commands, or some large playlists. The player's thread
    /// executes them within milliseconds, unless a device or a disk blocks it.
    static let maxCost = 1 << 15
    /// The cost of a request without items.
    private static let baseCost = 32

    private struct Waiting {
        /// The pending commands; nil once the player is shut down.
        var commands: [Command]? = []
        /// The cost of the requests among them.
        var cost = 0
    }

    /// Guarded by its own lock.
    private let waiting = Lock(Waiting())
    /// Cancels the opening of the awaited item, on which the player's thread waits. Guarded by its own lock.
    let opening = Lock<OpenCancellation?>(nil)
    /// Raised when a command arrives or the player has to check for changes.
    let signal = Signal()

    /// Enqueues a result of the player's own work, of which a bounded number is in progress; returns false without
    /// effect if the player is shut down.
    @discardableResult
    func post(_ command: @escaping Command) -> Bool {
        let isTaken = waiting.withLock { waiting in
            waiting.commands?.append(command)
            return waiting.commands != nil
        }
        signal.raise()
        return isTaken
    }

    /// Enqueues a command of a user or another program; returns false without effect if the player is shut down, or if
    /// too many wait because its thread is blocked.
    ///
    /// - Parameter items: The number of items that the command retains.
    @discardableResult
    func request(items: Int = 0, _ command: @escaping Command) -> Bool {
        let isTaken = waiting.withLock { waiting in
            let cost = Self.baseCost + items
            // A single command is accepted whatever its size.
            guard waiting.commands != nil, waiting.cost == 0 || waiting.cost + cost <= Self.maxCost else {
                return false
            }
            waiting.cost += cost
            waiting.commands?.append(command)
            return true
        }
        signal.raise()
        return isTaken
    }

    /// Enqueues a command as `request` does. If it is accepted, the opening of the awaited item, which it replaces, is
    /// cancelled.
    @discardableResult
    func requestOpening(items: Int = 0, _ command: @escaping Command) -> Bool {
        let replaced = opening.withLock { $0 }
        // Also before the command, which keeps an opening of the same item that is not cancelled.
        let isTaken = request(items: items) { engine in
            replaced?.cancel()
            command(engine)
        }
        if isTaken { replaced?.cancel() }
        return isTaken
    }

    /// Whether the player is shut down.
    var isClosed: Bool { waiting.withLock { $0.commands == nil } }

    /// Removes and returns all pending commands.
    func drain() -> [Command] {
        waiting.withLock { waiting in
            guard let all = waiting.commands, !all.isEmpty else { return [] }
            waiting = Waiting()
            return all
        }
    }

    /// Returns the pending commands; later ones are rejected.
    func close() -> [Command] {
        waiting.withLock { waiting in
            defer { waiting = Waiting(commands: nil) }
            return waiting.commands ?? []
        }
    }

    /// Cancels the opening of the awaited item, because a command replaces it. Any thread.
    func cancelOpening() { opening.withLock { $0 }?.cancel() }
}
