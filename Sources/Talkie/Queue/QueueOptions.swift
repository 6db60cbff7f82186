public import MediaCore

/// How a queue player plays.
public struct QueueOptions: Sendable {
    /// Sees, and may change in place, every stretch of sound before it is handed to the renderer: loudness, filters, a
    /// meter. Called on the reader's thread, some seconds before the sound is heard; the number of frames stays.
    public typealias Tap = @Sendable (_ block: PCMBlock, _ item: QueueItem) -> Void

    /// What everything in the queue is brought to, so that joints are exact whatever the items hold.
    public var format = PCMFormat(sampleRate: 48_000, layout: .stereo)
    /// How much sound goes to the renderer at once: one to two seconds keep edits quick and cost little.
    public var bufferLength: Duration = .seconds(1)
    /// How much is decoded beyond what the renderer has taken, so that the next item may take its time to open.
    public var readAhead: Duration = .seconds(4)
    public var tap: Tap?
    /// Whether films show their pictures, in `QueuePlayer.layer`. An item then lasts until both its sound and its pictures have
    /// ended, and an item without sound is shown in silence; without, it is passed over.
    public var showsPictures = true
    public var loopItem = PlayerOptions.Loop.times(0)
    public var loopQueue = PlayerOptions.Loop.times(0)
    /// 0…100 on the perceptual curve; nil leaves an output as its owner left it.
    public var volume: Double?

    public init() {}
}

/// Where a queue player stands: one value, read whole.
public struct QueueState: Sendable {
    public enum Phase: String, Sendable {
        /// Nothing was asked for yet.
        case idle
        /// Collecting what a start needs.
        case buffering
        case playing
        case paused
        /// The last item has been heard to its end.
        case ended
        /// The output cannot be used; see `failure`.
        case failed
    }

    public var phase: Phase = .idle
    /// Everything in the queue, in order.
    public var items: [QueueItem] = []
    /// The item that is heard.
    public var current: QueueItem?
    /// How far it is, at the time this value was made.
    public var position: MediaTime = .zero
    /// Where on the queue's own timeline it began.
    public var start: MediaTime = .zero
    /// How long it lasts, where that is known: as its container says, and exactly once all of it has been decoded.
    public var duration: MediaTime?
    /// It has moving pictures; false while that is not known.
    public var hasPictures = false
    /// What is shown with it: its pictures, or the picture that came along with a recording; nil shows nothing.
    public var pictureFormat: VideoFormat?
    /// How far the queue has been handed to the output, on its own timeline.
    public var handedUntil: MediaTime?
    public var failure: PlayerFailure?

    public init() {}
}

/// What a queue player tells, on its own thread; the handler must return at once.
public enum QueueNews: Sendable {
    case phase(QueueState.Phase)
    /// An item is heard from now on; the time on the queue's timeline is where it begins.
    case began(QueueItem, at: MediaTime)
    /// An item cannot be played and is passed over.
    case failed(QueueItem, MediaError)
    /// Something a person should read once.
    case message(String)
}
