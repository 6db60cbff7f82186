/// The newest value of something, for any number of readers, and for threads that wait for one. Whoever reads slowly misses values,
/// never the last, and never sees an older one after a newer one. Any thread; the lock is held while a change is worked out.
package final class BroadcastBoard<Value: Sendable & Equatable>: Sendable {
    private struct State {
        var value: Value
        var readers: [Int: AsyncStream<Value>.Continuation] = [:]
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

    package var value: Value { state.withLock { $0.value } }

    /// Whether anybody follows `values`: for owners whose value costs something to work out.
    package var hasReaders: Bool { state.withLock { !$0.readers.isEmpty } }

    /// Changes the value; readers and waiters hear of it when it is another one. Does nothing after `finish`.
    ///
    /// - Parameter change: must not come back to this board.
    package func update(_ change: (inout Value) -> Void) {
        state.withLock { state in
            guard !state.isOver else { return }
            let old = state.value
            change(&state.value)
            guard state.value != old else { return }
            // Inside the lock, so that two who post at once are heard in one order. Yielding never calls back.
            for reader in state.readers.values { reader.yield(state.value) }
            for waiter in state.waiters.values { waiter.raise() }
        }
    }

    /// The present value, and every later one. Ends with `finish`.
    package var values: AsyncStream<Value> {
        let (stream, reader) = AsyncStream<Value>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state -> Int? in
            reader.yield(state.value)
            guard !state.isOver else { return nil }
            let number = state.number()
            state.readers[number] = reader
            return number
        }
        guard let number else {
            reader.finish()
            return stream
        }
        reader.onTermination = { [weak self] _ in _ = self?.state.withLock { $0.readers.removeValue(forKey: number) } }
        return stream
    }

    /// Blocks the calling thread until a value satisfies a condition, until a moment of the machine's monotonic clock has passed, or
    /// until `finish`.
    ///
    /// - Parameter condition: asked on the calling thread, about the present value and later ones; not about each if they follow fast.
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
            // Of several values that came at once only the last one counts, and it is looked at below.
            signal.clear()
            let (value, isOver) = state.withLock { ($0.value, $0.isOver) }
            if condition(value) { return (value, true) }
            if isOver || !signal.wait(until: deadline) {
                let last = self.value
                return (last, condition(last))
            }
        }
    }

    /// No value follows: readers come to their end, and whoever waits is let go.
    package func finish() {
        let readers = state.withLock { state in
            defer { state.readers = [:] }
            state.isOver = true
            for waiter in state.waiters.values { waiter.raise() }
            return Array(state.readers.values)
        }
        // Outside the lock: finishing tells `onTermination`.
        for reader in readers { reader.finish() }
    }
}
