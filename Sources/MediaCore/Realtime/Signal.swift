internal import CShim
internal import Glibc
internal import Synchronization

/// A counting semaphore between two threads; raising it is wait-free and allowed on real-time threads.
///
/// `@unchecked Sendable`: the state is a `sem_t`, whose operations are thread-safe (sem_overview(7)), and an atomic.
public final class Signal: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>
    private let echoDescriptor = Atomic<Int32>(-1)
    /// Every signal echoed to so far: a raise under way may still be about to write to its descriptor.
    private let echoes = Lock<[PollableSignal]>([])
    /// The signal that is raised in this one's place.
    private let heir = Atomic<Unmanaged<Signal>?>(nil)
    /// Every signal passed to so far: a raise under way may still be about to reach it.
    private let heirs = Lock<[Signal]>([])

    public init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Wakes one waiter, or lets the next one through.
    public func raise() {
        if let heir = heir.load(ordering: .acquiring) { return heir._withUnsafeGuaranteedRef { $0.raise() } }
        sem_post(semaphore)
        let descriptor = echoDescriptor.load(ordering: .relaxed)
        if descriptor >= 0 { cshim_event_raise(descriptor) }
    }

    /// Raises another signal too from now on, for a waiter that also waits for a descriptor; nil ends that.
    public func echo(to other: PollableSignal?) {
        if let other { echoes.withLock { if !$0.contains(where: { $0 === other }) { $0.append(other) } } }
        echoDescriptor.store(other?.descriptor ?? -1, ordering: .relaxed)
    }

    /// From now on a raise wakes whoever waits for another signal; nil ends that. Raises from before stay here.
    public func pass(to other: Signal?) {
        precondition(other !== self, "a signal cannot pass its raises to itself")
        if let other { heirs.withLock { if !$0.contains(where: { $0 === other }) { $0.append(other) } } }
        heir.store(other.map(Unmanaged.passUnretained), ordering: .releasing)
    }

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
