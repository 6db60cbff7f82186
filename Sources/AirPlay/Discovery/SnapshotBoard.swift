internal import MediaCore

/// The last snapshot and everybody who waits for the next.
final class SnapshotBoard: Sendable {
    private struct State {
        var snapshot = SpeakerBrowser.Snapshot()
        var isFinished = false
        var counter = 0
        var streams: [Int: AsyncStream<SpeakerBrowser.Snapshot>.Continuation] = [:]
        var waiters: [Int: Signal] = [:]
    }

    private let state = Lock(State())

    var snapshot: SpeakerBrowser.Snapshot { state.withLock { $0.snapshot } }

    /// Changes the snapshot and wakes everybody, unless nothing changed.
    func post(_ change: (inout SpeakerBrowser.Snapshot) -> Void) {
        let (snapshot, streams, waiters) = state.withLock { state in
            let old = state.snapshot
            change(&state.snapshot)
            let isNews = state.snapshot != old
            return (
                state.snapshot, isNews ? Array(state.streams.values) : [], isNews ? Array(state.waiters.values) : []
            )
        }
        for stream in streams { stream.yield(snapshot) }
        for waiter in waiters { waiter.raise() }
    }

    func finish() {
        let (streams, waiters) = state.withLock { state in
            state.isFinished = true
            defer { (state.streams, state.waiters) = ([:], [:]) }
            return (Array(state.streams.values), Array(state.waiters.values))
        }
        for stream in streams { stream.finish() }
        for waiter in waiters { waiter.raise() }
    }

    func updates() -> AsyncStream<SpeakerBrowser.Snapshot> {
        // Only the newest: a reader that stops reading must not make us grow.
        let (stream, continuation) = AsyncStream.makeStream(
            of: SpeakerBrowser.Snapshot.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state -> Int? in
            // Inside the lock, so that a later snapshot cannot be overtaken by this one.
            continuation.yield(state.snapshot)
            guard !state.isFinished else { return nil }
            state.counter += 1
            state.streams[state.counter] = continuation
            return state.counter
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.streams.removeValue(forKey: number) }
        }
        return stream
    }

    func wait(
        until deadline: HostInstant, _ condition: (SpeakerBrowser.Snapshot) -> Bool
    ) -> (snapshot: SpeakerBrowser.Snapshot, satisfied: Bool) {
        let signal = Signal()
        let number = state.withLock { state in
            state.counter += 1
            state.waiters[state.counter] = signal
            return state.counter
        }
        defer { state.withLock { _ = $0.waiters.removeValue(forKey: number) } }
        while true {
            let (snapshot, isFinished) = state.withLock { ($0.snapshot, $0.isFinished) }
            if condition(snapshot) { return (snapshot, true) }
            if isFinished || !signal.wait(until: deadline) {
                let last = self.snapshot
                return (last, condition(last))
            }
        }
    }
}
