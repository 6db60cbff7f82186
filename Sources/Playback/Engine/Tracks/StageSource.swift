internal import MediaCore

/// The source of a stage, which another thread may cancel, also before it is set. Any thread.
final class StageSource: Sendable {
    private let state: Lock<(reader: (any SampleSource)?, isCancelled: Bool)>

    init(_ reader: (any SampleSource)? = nil) { state = Lock((reader, false)) }

    /// The source; nil before the first one was set, and where there is none.
    var reader: (any SampleSource)? { state.withLock { $0.reader } }

    /// Whether `cancel` was called.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Throws `cancelled` after a cancellation.
    func checkCancellation() throws(MediaError) {
        if isCancelled { throw MediaError(.cancelled, "reading was cancelled") }
    }

    /// Replaces the source.
    ///
    /// - Throws: `cancelled` after a cancellation; the preceding source remains.
    func replace(_ reader: (any SampleSource)?) throws(MediaError) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.reader = reader }
            return state.isCancelled
        }
        if isCancelled { throw MediaError(.cancelled, "reading was cancelled") }
    }

    /// Cancels the source and rejects later ones. Any thread; does not block.
    func cancel() {
        let reader = state.withLock { state -> (any SampleSource)? in
            state.isCancelled = true
            return state.reader
        }
        reader?.cancel()
    }
}
