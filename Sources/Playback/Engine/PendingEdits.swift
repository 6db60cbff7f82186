/// Owns the completion handlers of edits that playback does not agree with yet, and the outcome so far. Confined to the
/// player's thread.
final class PendingEdits {
    private var handlers: [@Sendable (QueueEditOutcome) -> Void] = []
    private var outcome = QueueEditOutcome.seamless

    func add(_ handler: @escaping @Sendable (QueueEditOutcome) -> Void) { handlers.append(handler) }

    /// Records how playback was affected.
    func note(_ outcome: QueueEditOutcome) { self.outcome = outcome }

    /// Reports the recorded outcome.
    func settle() { settle(as: outcome) }

    /// Reports an outcome.
    func settle(as result: QueueEditOutcome) {
        outcome = .seamless
        guard !handlers.isEmpty else { return }
        let all = handlers
        handlers.removeAll()
        for handler in all { handler(result) }
    }
}
