internal import MediaCore
internal import Synchronization

/// A consumer that requests media data. All members are callable from any thread.
protocol MediaDataConsumer: AnyObject, Sendable {
    /// Whether the consumer has space for more.
    var isReadyForMoreMediaData: Bool { get }
    /// The number of buffers enqueued since creation; a change shows that a request closure has supplied data.
    var enqueueCount: Int { get }
    /// The consumer's supplier.
    var demand: MediaDataDemand { get }
}

/// The supplier of a renderer: a closure on a queue, a receiver that awaits space, or a thread that waits on a signal.
/// A new supplier supersedes the preceding one, which is notified.
///
/// Any thread. Not called with the consumer's lock held, because it calls the consumer.
final class MediaDataDemand: Sendable {
    /// The reason why a waiting receiver resumes.
    enum Wake: Sendable { case ready, flushed, superseded, cancelled }

    /// Guarded by the lock `state`.
    private struct State {
        /// The number of the supplier: a receiver with an older number is superseded.
        var supplier: UInt64 = 0
        /// The supplying closure, if any.
        var request: MediaDataRequest?
        /// The waiting receiver, if any.
        var waiter: CheckedContinuation<Wake, Never>?
        /// The signal of a supplying thread, if any.
        var signal: Signal?
        /// The number of flushes since creation.
        var flushes: UInt64 = 0
    }

    private let state = Lock(State())
    /// A copy of `state.supplier` for readers without the lock. Stored with release under the lock.
    private let supplier = Atomic<UInt64>(0)
    /// The supplier whose requests were stopped while its closure runs; 0: none. Stored with release under the lock.
    private let stopped = Atomic<UInt64>(0)

    /// Whether requests were stopped while their closure runs. A loop in that closure that checks for more demand then
    /// ends. Wait-free.
    var isStopping: Bool {
        let stopped = stopped.load(ordering: .acquiring)
        return stopped != 0 && stopped == supplier.load(ordering: .acquiring)
    }

    /// Makes a closure the supplier and schedules its first call.
    func request(from request: MediaDataRequest) {
        let (_, old, waiter) = replaceSupplier(with: request)
        old?.cancel()
        waiter?.resume(returning: .superseded)
        request.ask()
    }

    /// Makes a thread the supplier, which checks for space whenever the signal is raised.
    func request(raising signal: Signal) {
        let (_, old, waiter) = replaceSupplier(with: nil, signal)
        old?.cancel()
        waiter?.resume(returning: .superseded)
        signal.raise()
    }

    /// Stops the requests to the closure or thread; returns true if there was a closure.
    @discardableResult
    func stop() -> Bool {
        // Released outside of the lock, which a closure's objects may take when they end.
        let request = state.withLock { state -> MediaDataRequest? in
            state.signal = nil
            let request = state.request.take()
            if request?.stop() == true { stopped.store(state.supplier, ordering: .releasing) }
            return request
        }
        return request != nil
    }

    /// Ends the stopped state after the closure has returned.
    func closureReturned(_ number: UInt64) {
        let wasLast = state.withLock { _ in
            stopped.compareExchange(expected: number, desired: 0, ordering: .acquiringAndReleasing).exchanged
        }
        // Other callers meanwhile found no space only for that reason.
        if wasLast { offer() }
    }

    /// Makes a receiver the supplier; returns its number.
    func newReceiver() -> UInt64 {
        let (number, old, waiter) = replaceSupplier(with: nil)
        old?.cancel()
        waiter?.resume(returning: .superseded)
        return number
    }

    /// Installs a supplier; returns its number, the preceding closure and the waiting receiver.
    private func replaceSupplier(with request: MediaDataRequest?, _ signal: Signal? = nil) -> (
        UInt64, MediaDataRequest?, CheckedContinuation<Wake, Never>?
    ) {
        state.withLock { state in
            state.supplier += 1
            supplier.store(state.supplier, ordering: .releasing)
            request?.supplier.store(state.supplier, ordering: .releasing)
            defer {
                state.request = request
                state.signal = signal
                state.waiter = nil
            }
            return (state.supplier, state.request, state.waiter)
        }
    }

    /// Notifies the supplier that the consumer may have space. Any thread; does not block.
    func offer() {
        let (request, waiter, signal) = removeWaiter()
        request?.ask()
        waiter?.resume(returning: .ready)
        signal?.raise()
    }

    /// Notifies a waiting receiver of a flush.
    ///
    /// - Parameter asks: Whether more data is requested now.
    func notifyFlush(asks: Bool = true) {
        let (request, waiter, signal) = removeWaiter(counting: 1)
        if asks { request?.ask(isUrgent: true) }
        waiter?.resume(returning: .flushed)
        if asks { signal?.raise() }
    }

    /// Removes the waiting receiver; returns it with the other kinds of supplier.
    private func removeWaiter(counting flushes: UInt64 = 0) -> (
        MediaDataRequest?, CheckedContinuation<Wake, Never>?, Signal?
    ) {
        state.withLock { state in
            state.flushes += flushes
            defer { state.waiter = nil }
            return (state.request, state.waiter, state.signal)
        }
    }

    /// The number of flushes; a receiver compares it before and after waiting.
    var flushCount: UInt64 { state.withLock { $0.flushes } }

    /// Returns true if the number belongs to the current supplier.
    func isSupplier(_ number: UInt64) -> Bool { state.withLock { $0.supplier == number } }

    /// Waits until the consumer has space, or until waiting is pointless.
    ///
    /// - Parameter isReady: Whether the consumer has space; called at once.
    nonisolated(nonsending) func wait(as number: UInt64, unless isReady: () -> Bool) async -> Wake {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let verdict = state.withLock { state -> Wake? in
                    if state.supplier != number { return .superseded }
                    state.waiter = continuation
                    return nil
                }
                if let verdict { return continuation.resume(returning: verdict) }
                // Changes between the caller's check and the registration raised no notification.
                if Task.isCancelled {
                    cancelWait(as: number)
                } else if isReady() {
                    offer()
                }
            }
        } onCancel: {
            cancelWait(as: number)
        }
    }

    /// Resumes the waiting receiver as cancelled.
    private func cancelWait(as number: UInt64) {
        let waiter = state.withLock { state -> CheckedContinuation<Wake, Never>? in
            guard state.supplier == number else { return nil }
            return state.waiter.take()
        }
        waiter?.resume(returning: .cancelled)
    }
}
