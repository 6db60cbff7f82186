internal import MediaCore

/// The right of a feed to call the data members of its output. A later feed of the same output, in the same group or
/// another one, waits until the earlier one has closed the output. Any thread.
final class OutputUse: Sendable {
    /// The uses of each output, oldest first: the first one has the turn. Guarded by its own lock.
    private static let all = Lock<[ObjectIdentifier: [OutputUse]]>([:])

    private let output: ObjectIdentifier
    /// Raised when the turn comes, and by `cancel`.
    private let turn = Signal()

    /// Joins the queue of an output, which the caller retains until `end`.
    init(of output: any AudioOutput) {
        let key = ObjectIdentifier(output)
        self.output = key
        Self.all.withLock { $0[key, default: []].append(self) }
    }

    /// Whether the feed may call the output.
    var isCurrent: Bool { Self.all.withLock { $0[output]?.first === self } }

    /// Waits until the feed may call the output, or until `cancel`.
    func waitForTurn() { if !isCurrent { turn.wait() } }

    /// Ends the wait.
    func cancel() { turn.raise() }

    /// Leaves the queue, once the output is closed.
    func end() {
        let next = Self.all.withLock { all -> OutputUse? in
            guard var uses = all[output] else { return nil }
            let wasCurrent = uses.first === self
            uses.removeAll { $0 === self }
            all[output] = uses.isEmpty ? nil : uses
            return wasCurrent ? uses.first : nil
        }
        next?.turn.raise()
    }
}
