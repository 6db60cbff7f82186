internal import MediaCore

/// Cancels the opening of media and reads from it. Any thread.
public final class OpenCancellation: Sendable {
    private let state = Lock<(cancelled: Bool, handlers: [@Sendable () -> Void])>((false, []))

    /// Creates a cancellation that was not used.
    package init() {}

    /// Whether `cancel` was called.
    var isCancelled: Bool { state.withLock { $0.cancelled } }

    /// Adds a handler of the cancellation. It is called on each cancelling thread, or at once if already cancelled.
    func onCancel(_ handler: @escaping @Sendable () -> Void) {
        let now = state.withLock { state -> Bool in
            state.handlers.append(handler)
            return state.cancelled
        }
        if now { handler() }
    }

    /// Cancels. The handlers run on the calling thread.
    package func cancel() {
        let handlers = state.withLock { state in
            state.cancelled = true
            return state.handlers
        }
        for handler in handlers { handler() }
    }
}
