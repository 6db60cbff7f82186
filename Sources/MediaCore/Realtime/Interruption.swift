/// Tells whoever waits for something slow that the person has had enough. Any thread.
public final class Interruption: Sendable {
    private struct State {
        var status: Int32?
        var handlers: [@Sendable () -> Void] = []
    }

    private let state = Lock(State())
    private let raised = Signal()

    public init() {}

    /// The exit status asked for; nil while nobody has asked.
    public var status: Int32? { state.withLock { $0.status } }

    /// Only the first time counts.
    public func raise(status: Int32) {
        let handlers = state.withLock { state in
            guard state.status == nil else { return [@Sendable () -> Void]() }
            state.status = status
            return state.handlers
        }
        for handler in handlers { handler() }
        raised.raise()
    }

    /// What makes a wait end; done at once when it has been raised already.
    public func onRaise(_ handler: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.handlers.append(handler)
            return state.status != nil
        }
        if isLate { handler() }
    }

    /// Waits for a moment; false when it was raised first. One thread at a time.
    public func pause(until moment: HostInstant) -> Bool {
        if status != nil { return false }
        return !raised.wait(until: moment)
    }
}
