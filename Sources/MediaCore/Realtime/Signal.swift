internal import CShim
internal import Glibc
internal import Synchronization

/// A counting semaphore between threads. Raising is wait-free and allowed on real-time threads.
///
/// `@unchecked Sendable`: the state consists of a `sem_t`, whose operations are thread-safe (sem_overview(7)), atomics,
/// and locked arrays.
public final class Signal: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>
    /// The eventfd of the echo, or -1.
    private let echoDescriptor = Atomic<Int32>(-1)
    /// All echo targets so far: retained, because a concurrent `raise` may still write to an earlier descriptor.
    private let echoes = Lock<[PollableSignal]>([])
    /// Creates a signal that is not raised.
    public init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Wakes one waiting thread, or lets the next wait return. Any thread.
    public func raise() {
        sem_post(semaphore)
        let descriptor = echoDescriptor.load(ordering: .relaxed)
        if descriptor >= 0 { cshim_event_raise(descriptor) }
    }

    /// From now on, also raises another signal, for a thread that waits for a descriptor as well; nil ends this. Any
    /// thread.
    package func echo(to other: PollableSignal?) {
        if let other { echoes.withLock { if !$0.contains(where: { $0 === other }) { $0.append(other) } } }
        echoDescriptor.store(other?.descriptor ?? -1, ordering: .relaxed)
    }

    /// Waits until raised, and consumes one raise.
    package func wait() { while sem_wait(semaphore) != 0 && errno == EINTR {} }

    /// Waits until raised or until the deadline on `CLOCK_MONOTONIC`. Returns true if raised, and consumes one raise.
    @discardableResult
    package func wait(until deadline: HostInstant) -> Bool {
        while true {
            let code = cshim_sem_wait_monotonic(semaphore, deadline.nanoseconds)
            if code == 0 { return true }
            if code != EINTR { return false }
        }
    }

    /// Returns true if raised, and consumes one raise; never blocks. Any thread.
    ///
    /// `wait(until:)` with a deadline in the past is a system call whenever the signal is not raised.
    package func tryWait() -> Bool { sem_trywait(semaphore) == 0 }

    /// Discards all pending raises.
    package func clear() { while sem_trywait(semaphore) == 0 {} }
}
