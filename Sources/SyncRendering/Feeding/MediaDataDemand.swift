internal import MediaCore
internal import Synchronization

/// What asks somebody for media data. The calls are safe from any thread.
protocol MediaDataConsumer: AnyObject, Sendable {
    var isReadyForMoreMediaData: Bool { get }
    /// Buffers ever enqueued: whether a closure that was asked gave anything.
    var enqueueCount: Int { get }
    var demand: MediaDataDemand { get }
}

/// The one who supplies a renderer: a closure on a queue, a receiver that waits for room, or a thread that waits on a signal.
/// The newest is the only one; whoever supplied before is told so.
///
/// Never called with the consumer's lock held, because it asks the consumer in turn.
final class MediaDataDemand: Sendable {
    /// Why a receiver that waited for room goes on.
    enum Wake: Sendable { case ready, flushed, superseded, cancelled }

    private struct State {
        /// Names the supplier: a receiver with an older number is superseded.
        var supplier: UInt64 = 0
        var request: MediaDataRequest?
        var waiter: CheckedContinuation<Wake, Never>?
        /// Of a supplier that is a thread of its own.
        var signal: Signal?
        var flushes: UInt64 = 0
    }

    private let state = Lock(State())
    /// The supplier of the state, to be read without its lock.
    private let supplier = Atomic<UInt64>(0)
    /// The supplier whose requests were stopped and whose closure has not returned yet; 0 is none.
    private let stopped = Atomic<UInt64>(0)

    /// Requests were stopped while their closure runs: a loop in there that goes on for as long as more is wanted comes to
    /// its end. Wait-free.
    var isStopping: Bool {
        let stopped = stopped.load(ordering: .acquiring)
        return stopped != 0 && stopped == supplier.load(ordering: .acquiring)
    }

    /// A closure becomes the supplier.
    func request(from request: MediaDataRequest) {
        let (old, waiter) = replaceSupplier(with: request)
        old?.cancel()
        waiter?.resume(returning: .superseded)
        request.ask()
    }

    /// A thread becomes the supplier; it looks for room each time the signal was raised.
    func request(raising signal: Signal) {
        let (old, waiter) = replaceSupplier(with: nil, signal)
        old?.cancel()
        waiter?.resume(returning: .superseded)
        signal.raise()
    }

    /// Closure or thread are asked no more. Returns whether there was a closure.
    @discardableResult
    func stop() -> Bool {
        state.withLock { state -> Bool in
            state.signal = nil
            guard let request = state.request else { return false }
            state.request = nil
            if request.stop() { stopped.store(state.supplier, ordering: .releasing) }
            return true
        }
    }

    /// A closure whose requests were stopped has returned.
    func closureReturned(_ number: UInt64) {
        let wasLast = state.withLock { _ in
            stopped.compareExchange(expected: number, desired: 0, ordering: .acquiringAndReleasing).exchanged
        }
        // Whoever looked meanwhile found no room only because of that.
        if wasLast { offer() }
    }

    /// A receiver becomes the supplier; returns the number it is known by.
    func newReceiver() -> UInt64 {
        let (old, waiter) = replaceSupplier(with: nil)
        old?.cancel()
        waiter?.resume(returning: .superseded)
        return state.withLock { $0.supplier }
    }

    private func replaceSupplier(with request: MediaDataRequest?, _ signal: Signal? = nil) -> (
        MediaDataRequest?, CheckedContinuation<Wake, Never>?
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
            return (state.request, state.waiter)
        }
    }

    /// The consumer is ready for more, or may be. Any thread; returns at once.
    func offer() {
        let (request, waiter, signal) = takeWaiter()
        request?.ask()
        waiter?.resume(returning: .ready)
        signal?.raise()
    }

    /// The consumer was flushed: a receiver that waits has waited for nothing.
    ///
    /// - Parameter asks: whether more is wanted now.
    func noteFlush(asks: Bool = true) {
        let (request, waiter, signal) = takeWaiter(counting: 1)
        if asks { request?.ask(isUrgent: true) }
        waiter?.resume(returning: .flushed)
        if asks { signal?.raise() }
    }

    private func takeWaiter(counting flushes: UInt64 = 0) -> (
        MediaDataRequest?, CheckedContinuation<Wake, Never>?, Signal?
    ) {
        state.withLock { state in
            state.flushes += flushes
            defer { state.waiter = nil }
            return (state.request, state.waiter, state.signal)
        }
    }

    /// Flushes so far; a receiver compares before and after.
    var flushCount: UInt64 { state.withLock { $0.flushes } }

    func isSupplier(_ number: UInt64) -> Bool { state.withLock { $0.supplier == number } }

    /// Waits until the consumer is ready, or until there is no point in waiting.
    nonisolated(nonsending) func wait(as number: UInt64, for consumer: any MediaDataConsumer) async -> Wake {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let verdict = state.withLock { state -> Wake? in
                    if state.supplier != number { return .superseded }
                    state.waiter = continuation
                    return nil
                }
                if let verdict { return continuation.resume(returning: verdict) }
                // What happened between the caller's look and now told nobody.
                if Task.isCancelled {
                    cancelWait(as: number)
                } else if consumer.isReadyForMoreMediaData {
                    offer()
                }
            }
        } onCancel: {
            cancelWait(as: number)
        }
    }

    private func cancelWait(as number: UInt64) {
        let waiter = state.withLock { state -> CheckedContinuation<Wake, Never>? in
            guard state.supplier == number else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: .cancelled)
    }
}
