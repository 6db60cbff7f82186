internal import Synchronization

/// Cancels blocking operations of other threads. Cancelling is permanent. Any thread.
public final class Cancellation: Sendable {
    private let flag = Atomic<Bool>(false)

    /// Creates a cancellation that is not cancelled.
    public init() {}

    /// Cancels all operations that check this object. Any thread; wait-free.
    public func cancel() { flag.store(true, ordering: .releasing) }
    /// Whether `cancel` was called. Any thread; wait-free.
    public var isCancelled: Bool { flag.load(ordering: .acquiring) }
}
