internal import MediaCore

/// The right of a feed to call the data members of its output. A later feed of the same output, in the same group or
/// another one, waits until the earlier one has closed the output, or passes it on. Any thread.
final class OutputUse: Sendable {
    /// The uses of each output, oldest first: the first one has the turn. Guarded by its own lock.
    private static let all = Lock<[ObjectIdentifier: [OutputUse]]>([:])

    private let output: ObjectIdentifier
    /// Raised when the turn comes, and by `cancel`.
    private let turn = Signal()

    /// Joins the queue of an output, which the caller retains until it has left.
    init(of output: any AudioOutput) {
        let key = ObjectIdentifier(output)
        self.output = key
        Self.all.withLock { $0[key, default: []].append(self) }
    }

    /// Whether the feed may call the output.
    var isCurrent: Bool { Self.all.withLock { $0[output]?.first === self } }

    /// Whether the feed may call the output, and another use waits.
    var isAwaited: Bool {
        Self.all.withLock { all in all[output].map { $0.first === self && $0.count > 1 } ?? false }
    }

    /// Waits until the feed may call the output, or until `cancel`.
    func waitForTurn() { if !isCurrent { turn.wait() } }

    /// Ends the wait.
    func cancel() { turn.raise() }

    /// Leaves the queue. With the turn, the output is closed before, unless it stays open for the next use.
    ///
    /// - Parameter passesOn: Whether the output may stay open.
    func end(passesOn: Bool = false, close: () -> Void) {
        // At once: a use that leaves while it receives the turn has to close the output.
        if leave(keepsTurn: { !(passesOn && $0 > 1) }) { return }
        close()
        _ = leave(keepsTurn: { _ in false })
    }

    /// Leaves the queue, unless this use has the turn and keeps it; returns whether it has left.
    private func leave(keepsTurn: (_ count: Int) -> Bool) -> Bool {
        let (hasLeft, next) = Self.all.withLock { all -> (Bool, OutputUse?) in
            guard var uses = all[output] else { return (true, nil) }
            let isCurrent = uses.first === self
            if isCurrent, keepsTurn(uses.count) { return (false, nil) }
            uses.removeAll { $0 === self }
            all[output] = uses.isEmpty ? nil : uses
            return (true, isCurrent ? uses.first : nil)
        }
        next?.turn.raise()
        return hasLeft
    }
}
