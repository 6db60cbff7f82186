/// Owns the completion handlers of edits that playback has not applied yet, and their outcome so far. Confined to the
/// player's thread.
final class PendingEdits {
    private var handlers: [@Sendable (QueueEditOutcome) -> Void] = []
    private var outcome = QueueEditOutcome.seamless

    func add(_ handler: @escaping @Sendable (QueueEditOutcome) -> Void) { handlers.append(handler) }

    /// Records the effect of the edits on playback.
    func setOutcome(_ outcome: QueueEditOutcome) { self.outcome = outcome }

    /// Reports the recorded outcome.
    func finish() { finish(as: outcome) }

    /// Reports an outcome.
    func finish(as result: QueueEditOutcome) {
        outcome = .seamless
        guard !handlers.isEmpty else { return }
        let all = handlers
        handlers.removeAll()
        for handler in all { handler(result) }
    }
}
