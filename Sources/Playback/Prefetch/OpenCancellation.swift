internal import MediaCore

/// Cancels the opening of media and reads from it. Any thread.
public final class OpenCancellation: Sendable {
    private let state = Lock<(cancelled: Bool, handler: (@Sendable () -> Void)?)>((false, nil))

    /// Creates a cancellation that was not used.
    package init() {}

    /// Whether `cancel` was called.
    var isCancelled: Bool { state.withLock { $0.cancelled } }

    /// Sets the handler of the cancellation, replacing any other. It is called on the cancelling thread, or at once if
    /// already cancelled.
    func onCancel(_ handler: @escaping @Sendable () -> Void) {
        let now = state.withLock { state -> Bool in
            state.handler = handler
            return state.cancelled
        }
        if now { handler() }
    }

    /// Cancels. The handler runs on the calling thread.
    package func cancel() {
        let handler = state.withLock { state -> (@Sendable () -> Void)? in
            state.cancelled = true
            return state.handler
        }
        handler?()
    }
}
