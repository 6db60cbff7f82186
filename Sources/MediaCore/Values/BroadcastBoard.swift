/// The newest value of something, for any number of readers. Whoever reads slowly misses values, never the last, and never sees
/// an older one after a newer one. Any thread; the lock is held for nanoseconds.
package final class BroadcastBoard<Value: Sendable & Equatable>: Sendable {
    private struct State {
        var value: Value
        var readers: [Int: AsyncStream<Value>.Continuation] = [:]
        var nextReader = 0
        var isOver = false
    }

    private let state: Lock<State>

    package init(_ value: Value) { state = Lock(State(value: value)) }

    package var value: Value { state.withLock { $0.value } }

    /// Changes the value; readers hear of it when it is another one. Does nothing after `finish`.
    package func update(_ change: (inout Value) -> Void) {
        state.withLock { state in
            guard !state.isOver else { return }
            let old = state.value
            change(&state.value)
            guard state.value != old else { return }
            // Inside the lock, so that two who post at once are heard in one order. Yielding never calls back.
            for reader in state.readers.values { reader.yield(state.value) }
        }
    }

    /// The present value, and every later one. Ends with `finish`.
    package var values: AsyncStream<Value> {
        let (stream, reader) = AsyncStream<Value>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state -> Int? in
            reader.yield(state.value)
            guard !state.isOver else { return nil }
            defer { state.nextReader += 1 }
            state.readers[state.nextReader] = reader
            return state.nextReader
        }
        guard let number else {
            reader.finish()
            return stream
        }
        reader.onTermination = { [weak self] _ in _ = self?.state.withLock { $0.readers.removeValue(forKey: number) } }
        return stream
    }

    /// No value follows: readers come to their end.
    package func finish() {
        let readers = state.withLock { state in
            defer { state.readers = [:] }
            state.isOver = true
            return Array(state.readers.values)
        }
        // Outside the lock: finishing tells `onTermination`.
        for reader in readers { reader.finish() }
    }
}
