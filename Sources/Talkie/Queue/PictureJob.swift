internal import MediaCore

/// One playing of one item whose pictures are to be shown.
struct PictureJob: Sendable {
    enum Kind: Sendable {
        /// A track of pictures.
        case film(Track)
        /// One picture from its beginning to its end.
        case still(Track)
        /// Nothing: black.
        case blank
    }

    var serial: Int
    var item: QueueItem
    var kind: Kind
    /// Where to read, when it cannot be opened once more.
    var source: (any SampleSource)?
    /// The item's own moment that lies at `start`.
    var offset: MediaTime
    /// Where it begins on the queue's timeline, and where it ends; nil while nobody knows.
    var start: MediaTime?
    var end: MediaTime?

    func isSame(as other: PictureJob) -> Bool { serial == other.serial && start == other.start && end == other.end }

    /// A picture in its place on the queue's timeline; nil when it has none there, or nobody knows yet.
    func placed(_ picture: SampleBuffer) -> SampleBuffer? {
        guard let start, let own = picture.presentationTime else { return nil }
        var placed = picture
        var time = start + (own - offset)
        var until = time + picture.duration
        if time < start {
            // The picture that is on at the moment asked for began before it.
            if picture.duration > .zero, until <= start { return nil }
            time = start
        }
        if let end {
            guard time < end else { return nil }
            if until > end { until = end }
        }
        placed.presentationTime = time
        placed.duration = max(.zero, until - time)
        return placed
    }

    /// Whether a picture lies behind the item's end, and with it all that follow.
    func isOver(at picture: SampleBuffer) -> Bool {
        guard let start, let end, let own = picture.presentationTime else { return false }
        return max(start, start + (own - offset)) >= end
    }
}
