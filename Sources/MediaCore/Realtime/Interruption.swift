/// A cancellation flag for blocking operations, raised when the user interrupts the program. Thread-safe.
public final class Interruption: Sendable {
    /// Guarded by `state`.
    private struct State {
        var status: Int32?
        var handlers: [@Sendable () -> Void] = []
    }

    private let state = Lock(State())
    private let raised = Signal()

    /// Creates a flag that is not raised.
    public init() {}

    /// The requested exit status; nil until raised.
    public var status: Int32? { state.withLock { $0.status } }

    /// Raises the flag and calls the handlers on the calling thread. Only the first status counts.
    public func raise(status: Int32) {
        let handlers = state.withLock { state in
            guard state.status == nil else { return [@Sendable () -> Void]() }
            state.status = status
            return state.handlers
        }
        for handler in handlers { handler() }
        raised.raise()
    }

    /// Adds a handler that ends a blocking operation; called immediately if the flag is already raised.
    package func onRaise(_ handler: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.handlers.append(handler)
            return state.status != nil
        }
        if isLate { handler() }
    }

    /// Waits until an instant; returns false if the flag is or becomes raised. One thread at a time.
    public func pause(until deadline: HostInstant) -> Bool {
        if status != nil { return false }
        return !raised.wait(until: deadline)
    }
}
