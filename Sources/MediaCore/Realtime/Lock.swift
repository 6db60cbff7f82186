internal import Glibc

/// A value guarded by a mutex, for sections of nanoseconds: never held across a call that may block.
///
/// A pthread mutex rather than `Synchronization.Mutex`, because ThreadSanitizer understands it; with priority
/// inheritance, because real-time threads share some of these.
///
/// `@unchecked Sendable`: the value is reachable only inside `withLock`, which holds the mutex.
public final class Lock<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    public init(_ value: Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_setprotocol(&attributes, Int32(PTHREAD_PRIO_INHERIT))
        pthread_mutex_init(mutex, &attributes)
        pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with the value, alone. Not recursive: calling it again from inside deadlocks.
    @discardableResult
    public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }

    /// Like `withLock` when the lock is free, otherwise nil at once. Wait-free: for real-time threads.
    public func withLockIfAvailable<Result>(_ body: (inout Value) -> Result) -> Result? {
        guard pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}

/// What a lock holds that keeps threads out of a section rather than away from a value. Not `Void`: that has no storage, and
/// ThreadSanitizer takes an access to it for one to the mutex beside it.
package struct Turn: Sendable {
    private var storage: UInt8 = 0

    package init() {}
}
