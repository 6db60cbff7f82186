internal import MediaCore

/// The source that a stage reads, which another thread may cancel, also before it is there.
final class StageSource: Sendable {
    private let state: Lock<(reader: (any SampleSource)?, isCancelled: Bool)>

    init(_ reader: (any SampleSource)? = nil) { state = Lock((reader, false)) }

    /// Nil before the first is taken.
    var reader: (any SampleSource)? { state.withLock { $0.reader } }

    /// Reads this one from now on.
    ///
    /// - Throws: `cancelled` when there is to be no more reading; the one before stays.
    func take(_ reader: any SampleSource) throws(MediaError) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.reader = reader }
            return state.isCancelled
        }
        if isCancelled { throw MediaError(.cancelled, "reading was cancelled") }
    }

    /// Any thread; returns at once.
    func cancel() {
        let reader = state.withLock { state -> (any SampleSource)? in
            state.isCancelled = true
            return state.reader
        }
        reader?.cancel()
    }
}
