internal import MediaCore

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

/// The partial flushes of a renderer. Guarded by the renderer's lock.
struct PartialFlushQueue {
    /// Requests that wait for the feeder, oldest first.
    private var waiting: [PartialFlushRequest] = []
    /// Requests that another operation has superseded.
    private var overtaken: [PartialFlushRequest] = []
    /// Whether the feeder is processing a request.
    private var isCutting = false

    /// Whether no request waits or is processed, so that audio may be enqueued and delivered.
    var isIdle: Bool { !isCutting && waiting.isEmpty }

    mutating func append(_ request: PartialFlushRequest) { waiting.append(request) }

    /// Inserts a request that waiting ones take precedence over: they are processed after it and cut deeper.
    mutating func insertFirst(_ request: PartialFlushRequest) { waiting.insert(request, at: 0) }

    /// Returns the next request, which is processed until `end`.
    mutating func begin() -> PartialFlushRequest? {
        guard !waiting.isEmpty else { return nil }
        isCutting = true
        return waiting.removeFirst()
    }

    mutating func end() { isCutting = false }

    /// Moves all waiting requests to the superseded ones.
    mutating func overtake() {
        overtaken += waiting
        waiting.removeAll()
    }

    /// Returns the superseded requests once.
    mutating func takeOvertaken() -> [PartialFlushRequest] {
        guard !overtaken.isEmpty else { return [] }
        defer { overtaken.removeAll() }
        return overtaken
    }
}
