internal import Glibc

/// A value protected by a mutex, for critical sections of nanoseconds. Must not be held across a call that may block.
///
/// Uses a pthread mutex instead of `Synchronization.Mutex`, because ThreadSanitizer supports it. Priority inheritance
/// is on, because real-time threads share some locks.
///
/// `@unchecked Sendable`: the value is accessible only in `withLock`, which holds the mutex.
package final class Lock<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// Guarded by `mutex`.
    private var value: Value

    /// Creates an unlocked value.
    package init(_ value: Value) {
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

    /// Calls `body` with exclusive access to the value. May block. Not recursive: a nested call deadlocks.
    @discardableResult
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }

    /// Calls `body` if the lock is free; otherwise returns nil immediately. Wait-free, for real-time threads.
    package func withLockIfAvailable<Result>(_ body: (inout Value) -> Result) -> Result? {
        guard pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}

/// The value of a lock that protects a critical section instead of data. Not `Void`: it has no storage, and
/// ThreadSanitizer attributes accesses to the adjacent mutex.
package struct CriticalSection: Sendable {
    private var storage: UInt8 = 0

    package init() {}
}
