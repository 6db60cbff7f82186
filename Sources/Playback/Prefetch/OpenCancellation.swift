internal import MediaCore

/// Gives up on a film that is being opened. Any thread.
public final class OpenCancellation: Sendable {
    private let state = Lock<(cancelled: Bool, handler: (@Sendable () -> Void)?)>((false, nil))

    public init() {}

    public var isCancelled: Bool { state.withLock { $0.cancelled } }

    /// What to do when it is used; done at once when it has been used already.
    public func onCancel(_ handler: @escaping @Sendable () -> Void) {
        let now = state.withLock { state -> Bool in
            state.handler = handler
            return state.cancelled
        }
        if now { handler() }
    }

    public func cancel() {
        let handler = state.withLock { state -> (@Sendable () -> Void)? in
            state.cancelled = true
            return state.handler
        }
        handler?()
    }
}
