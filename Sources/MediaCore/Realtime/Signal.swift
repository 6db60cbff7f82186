internal import CShim
internal import Glibc

/// A counting semaphore between two threads; raising it is wait-free and allowed on real-time threads.
///
/// `@unchecked Sendable`: the only state is a `sem_t`, whose operations are thread-safe (sem_overview(7)).
public final class Signal: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    public init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Wakes one waiter, or lets the next one through.
    public func raise() { sem_post(semaphore) }

    /// Waits until raised.
    public func wait() { while sem_wait(semaphore) != 0 && errno == EINTR {} }

    /// Waits until raised or until the moment passes; true when it was raised. Uses the machine's monotonic clock.
    @discardableResult
    public func wait(until deadline: HostInstant) -> Bool {
        while true {
            let code = cshim_sem_wait_monotonic(semaphore, deadline.nanoseconds)
            if code == 0 { return true }
            if code != EINTR { return false }
        }
    }

    /// Takes back every raise that nobody has waited for yet.
    public func clear() { while sem_trywait(semaphore) == 0 {} }
}
