internal import MediaCore

/// A film that is opened before it is needed. Made by the player's thread, finished once by the scout's.
final class FilmAhead: Sendable {
    enum Outcome: Sendable {
        case opened(any MediaSource)
        case failed(MediaError)
    }

    let item: QueueItem
    let cancellation = OpenCancellation()
    private let result = Lock<(outcome: Outcome?, isUnfit: Bool)>((nil, false))
    private let done = Signal()

    init(item: QueueItem) { self.item = item }

    /// A film that is known not to follow without a seam, and is not held open.
    init(unfit item: QueueItem) {
        self.item = item
        result.withLock { $0.isUnfit = true }
    }

    var outcome: Outcome? { result.withLock { $0.outcome } }
    /// It cannot be read ahead.
    var isUnfit: Bool {
        get { result.withLock { $0.isUnfit } }
        set { result.withLock { $0.isUnfit = newValue } }
    }

    func finish(_ result: Result<any MediaSource, MediaError>) {
        self.result.withLock {
            switch result {
            case .success(let film): $0.outcome = .opened(film)
            case .failure(let error): $0.outcome = .failed(error)
            }
        }
        done.raise()
    }

    /// The film, once it is open; ends with `cancellation`.
    func get(_ cancellation: OpenCancellation) throws(MediaError) -> any MediaSource {
        let own = self.cancellation
        cancellation.onCancel { own.cancel() }
        while outcome == nil { done.wait() }
        switch outcome {
        case .opened(let film)?: return film
        case .failed(let error)?: throw error
        case nil: throw MediaError(.cancelled, "opening was cancelled")
        }
    }
}

/// What the player has under way for the films that follow.
struct FilmsAhead {
    /// The film that is being opened, or is open and not laid out.
    var film: FilmAhead?
    var isFindingEnd = false
    /// A film whose pictures' end nobody knows before the last is decoded.
    var endless: (any MediaSource)?
    /// The link whose pictures are being made ready, or were.
    var pictures: Int?
    /// What followed is being taken back.
    var cut: FilmCut?
    var cuts = 0
    /// The film that loops could not be opened again: when that is tried once more.
    var loopAgain: Retry?
    /// The link that was given up last: those laid out before it prove nothing about the file.
    var lastLost = 0
}

/// When something that failed is tried again: after pauses that grow, and stay so short that what is back is there within a second.
struct Retry {
    let notBefore: HostInstant
    let pause: Duration

    private static let shortest = Duration.milliseconds(100)
    private static let longest = Duration.milliseconds(700)

    static func later(_ last: Retry?, from now: HostInstant) -> Retry {
        let pause = last.map { min(longest, $0.pause * 2) } ?? shortest
        return Retry(notBefore: now.advanced(by: pause), pause: pause)
    }
}

/// What was laid out behind a film is taken back: first by the pipelines, then by the renderer.
struct FilmCut {
    let number: Int
    /// On the line: everything from here on.
    let joint: MediaTime
    /// The pipelines that had gone beyond it.
    var hasSound: Bool
    var hasPicture: Bool
    /// The renderer has been asked.
    var isFlushing = false
}
