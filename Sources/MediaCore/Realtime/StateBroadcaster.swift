/// The latest value of a state, for any number of asynchronous readers and waiting threads. A slow reader misses
/// intermediate values, never the last one, and never sees an older value after a newer one. Thread-safe; the lock is
/// held during `change`.
package final class StateBroadcaster<Value: Sendable & Equatable>: Sendable {
    /// Guarded by `state`.
    private struct State {
        var value: Value
        /// Each receives an element after a change, and then reads the value.
        var readers: [Int: AsyncStream<Void>.Continuation] = [:]
        var waiters: [Int: Signal] = [:]
        var nextNumber = 0
        var isOver = false

        mutating func number() -> Int {
            defer { nextNumber += 1 }
            return nextNumber
        }
    }

    private let state: Lock<State>

    package init(_ value: Value) { state = Lock(State(value: value)) }

    /// The current value. Any thread.
    package var value: Value { state.withLock { $0.value } }

    /// True if `values` has an active reader, for owners whose value is expensive to compute.
    package var hasReaders: Bool { state.withLock { !$0.readers.isEmpty } }

    /// Changes the value; notifies readers and waiting threads if it differs. Does nothing after `finish`.
    ///
    /// - Parameter change: called under the lock; must not use this object.
    package func update(_ change: (inout Value) -> Void) {
        let readers = state.withLock { state -> [AsyncStream<Void>.Continuation] in
            guard !state.isOver else { return [] }
            let old = state.value
            change(&state.value)
            guard state.value != old else { return [] }
            for waiter in state.waiters.values { waiter.raise() }
            return Array(state.readers.values)
        }
        // Outside of the lock: Swift's runtime locks a task while it is cancelled and while it is resumed, and calls
        // cancellation handlers, which may use this object, within that lock.
        for reader in readers { reader.yield() }
    }

    /// A stream of the current value and every later one. Ends at `finish`.
    package var values: AsyncStream<Value> {
        let (changes, reader) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        reader.yield()
        let number = state.withLock { state -> Int? in
            guard !state.isOver else { return nil }
            let number = state.number()
            state.readers[number] = reader
            return number
        }
        if let number {
            reader.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.readers.removeValue(forKey: number) }
            }
        } else {
            reader.finish()
        }
        let last = Lock<Value?>(nil)
        return AsyncStream { [self] in
            while true {
                let isOver = await changes.first(where: { true }) == nil
                if isOver, Task.isCancelled { return nil }
                let next = last.withLock { last -> Value? in
                    let value = value
                    defer { last = value }
                    return value == last ? nil : value
                }
                if next != nil || isOver { return next }
            }
        }
    }

    /// Blocks the calling thread until a value satisfies a condition, a deadline on `CLOCK_MONOTONIC` has passed, or
    /// `finish` is called.
    ///
    /// - Parameter condition: called on the calling thread with the current and later values; values in quick
    ///   succession may be skipped.
    /// - Returns: the value that satisfies it, or the last one.
    package func wait(until deadline: HostInstant, _ condition: (Value) -> Bool) -> (value: Value, satisfied: Bool) {
        let signal = Signal()
        let number = state.withLock { state in
            let number = state.number()
            state.waiters[number] = signal
            return number
        }
        defer { state.withLock { _ = $0.waiters.removeValue(forKey: number) } }
        while true {
            // Pending raises are covered by the value that is read next.
            signal.clear()
            let (value, isOver) = state.withLock { ($0.value, $0.isOver) }
            if condition(value) { return (value, true) }
            if isOver || !signal.wait(until: deadline) {
                let last = self.value
                return (last, condition(last))
            }
        }
    }

    /// Ends all streams and wakes waiting threads; later updates are ignored.
    package func finish() {
        let readers = state.withLock { state in
            defer { state.readers = [:] }
            state.isOver = true
            for waiter in state.waiters.values { waiter.raise() }
            return Array(state.readers.values)
        }
        // Outside the lock, because finishing calls `onTermination`, which takes it.
        for reader in readers { reader.finish() }
    }
}
