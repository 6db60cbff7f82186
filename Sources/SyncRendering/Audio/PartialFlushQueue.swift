internal import MediaCore
internal import Synchronization

/// A pending request to flush from a media time on.
final class PartialFlushRequest: Sendable {
    let time: MediaTime
    /// Whether the flushed audio is delivered again from the renderer's retained buffers.
    let feedsAgain: Bool
    let completion: @Sendable (PartialFlushResult) -> Void

    init(time: MediaTime, feedsAgain: Bool = false, completion: @escaping @Sendable (PartialFlushResult) -> Void) {
        self.time = time
        self.feedsAgain = feedsAgain
        self.completion = completion
    }
}

/// The partial flushes of a renderer or of an output. Any thread; no other lock is taken under its lock.
final class PartialFlushQueue: Sendable {
    private struct State {
        /// Requests that wait for the feeder, oldest first.
        var waiting: [PartialFlushRequest] = []
        /// Requests that another operation has superseded.
        var overtaken: [PartialFlushRequest] = []
        /// Whether the feeder is processing a request.
        var isCutting = false
        /// Whether there is no feeder any more.
        var isStopped = false
    }

    private let state = Lock(State())
    /// Whether a request waits or is processed, for readers without the lock. Stored with release under it.
    private let isBusy = Atomic<Bool>(false)

    /// Whether no request waits or is processed, so that audio may be enqueued and delivered. Wait-free.
    var isIdle: Bool { !isBusy.load(ordering: .acquiring) }

    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            defer { isBusy.store(state.isCutting || !state.waiting.isEmpty, ordering: .releasing) }
            return body(&state)
        }
    }

    /// Adds a request; after the end it completes at once, with `overtaken`.
    ///
    /// - Parameter isFirst: Whether waiting requests take precedence: they are processed after it and cut deeper.
    func append(_ request: PartialFlushRequest, isFirst: Bool = false) {
        let isStopped = change { state in
            if !state.isStopped { state.waiting.insert(request, at: isFirst ? 0 : state.waiting.count) }
            return state.isStopped
        }
        if isStopped { request.completion(.overtaken) }
    }

    /// Returns the next request, which is processed until `end`.
    func begin() -> PartialFlushRequest? {
        guard !isIdle else { return nil }
        return change { state in
            guard !state.waiting.isEmpty else { return nil }
            state.isCutting = true
            return state.waiting.removeFirst()
        }
    }

    func end() { change { $0.isCutting = false } }

    /// Supersedes all waiting requests.
    ///
    /// - Parameter isEnd: Whether those that follow are superseded as well.
    func overtake(isEnd: Bool = false) {
        change { state in
            state.overtaken += state.waiting
            state.waiting.removeAll()
            state.isStopped = state.isStopped || isEnd
        }
    }

    /// Completes the superseded requests, each once.
    func reportOvertaken() {
        let overtaken = state.withLock { state in
            defer { state.overtaken.removeAll() }
            return state.overtaken
        }
        for request in overtaken { request.completion(.overtaken) }
    }
}
