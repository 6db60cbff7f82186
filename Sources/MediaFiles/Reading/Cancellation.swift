internal import Synchronization

/// Lets one thread stop what another is waiting for. Once cancelled, it stays cancelled.
public final class Cancellation: Sendable {
    private let flag = Atomic<Bool>(false)

    public init() {}

    /// Any thread; wait-free.
    public func cancel() { flag.store(true, ordering: .releasing) }
    public var isCancelled: Bool { flag.load(ordering: .acquiring) }
}
