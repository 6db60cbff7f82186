package import MediaCore

/// Commands on their way to the player's thread.
package final class PlayerMailbox: Sendable {
    package typealias Command = @Sendable (PlaybackEngine) -> Void
    /// Nil once nobody carries out commands any more.
    private let waiting = Lock<[Command]?>([])
    /// Ends what the player's thread may be blocked on: the item that began by itself.
    package let opening = Lock<OpenCancellation?>(nil)
    /// Raised when a command came in or something the player waits for moved.
    package let signal = Signal()

    /// False when the player has been shut down: the command is not carried out.
    @discardableResult
    package func post(_ command: @escaping Command) -> Bool {
        let isTaken = waiting.withLock { waiting in
            waiting?.append(command)
            return waiting != nil
        }
        signal.raise()
        return isTaken
    }

    package func takeAll() -> [Command] {
        waiting.withLock { waiting in
            guard let all = waiting, !all.isEmpty else { return [] }
            waiting = []
            return all
        }
    }

    /// Commands that wait; whoever comes later is refused.
    package func close() -> [Command] {
        waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting ?? []
        }
    }

    /// Whatever comes next, the film that plays is given up. Any thread.
    func cancelOpening() { opening.withLock { $0 }?.cancel() }
}
