package import MediaCore

/// An item that is opened before it is needed. Made by the engine's thread, finished once by the prefetcher's.
final class PrefetchedItem: Sendable {
    let item: QueueItem
    let cancellation = OpenCancellation()
    private let result = Lock<Result<PrefetchedMedia, MediaError>?>(nil)

    /// The address of the film that it is an interstitial of.
    let film: String?
    /// Whether the film is asked for what is to play in the middle of it.
    let looksForBreaks: Bool

    init(_ item: QueueItem, of film: String? = nil, looksForBreaks: Bool = false) {
        (self.item, self.film, self.looksForBreaks) = (item, film, looksForBreaks)
    }

    /// Nil while it is being opened.
    var outcome: Result<PrefetchedMedia, MediaError>? { result.withLock { $0 } }

    func finish(_ outcome: Result<any MediaSource, MediaError>, _ found: InterstitialFinder.Found? = nil) {
        result.withLock { $0 = outcome.map { PrefetchedMedia($0, cancellation: cancellation, found: found) } }
    }
}

/// An open film, and what is held of it.
package final class PrefetchedMedia: Sendable {
    package let film: any MediaSource
    /// Gives up on everything that is read of it.
    private let cancellation: OpenCancellation
    /// Sources of an input that cannot be opened twice, by track: nobody keeps the packets of a track that nobody has asked for.
    private let reserved = Lock<[Int: any SampleSource]>([:])

    /// What is to play in the middle of it.
    let found: InterstitialFinder.Found?

    package convenience init(_ film: any MediaSource, cancellation: OpenCancellation = OpenCancellation()) {
        self.init(film, cancellation: cancellation, found: nil)
    }

    init(_ film: any MediaSource, cancellation: OpenCancellation, found: InterstitialFinder.Found?) {
        self.found = found
        self.film = film
        self.cancellation = cancellation
    }

    /// Makes the sources of one playing, where they cannot be made one after the other.
    func reserve(_ tracks: [Track?]) throws(MediaError) {
        guard film.summary.sharesReader else { return }
        for track in tracks.compactMap({ $0 }) {
            let source = try film.source(for: track)
            reserved.withLock { $0[track.id] = source }
        }
    }

    /// A source from the start of the film.
    package func source(for track: Track) throws(MediaError) -> any SampleSource {
        if let source = reserved.withLock({ $0.removeValue(forKey: track.id) }) { return source }
        return try film.source(for: track)
    }

    package func cancel() { cancellation.cancel() }

    /// Whether it can begin behind another film without a seam: its sound may be wanted long before.
    var canFollow: Bool { !film.summary.isLive }

    /// Whether what follows it can be laid out before it has been played to its end, and whether it can follow itself: both
    /// tracks are then read by readers of their own, each at its own pace.
    var hasOwnReaders: Bool { film.summary.isSeekable && !film.summary.sharesReader && !film.summary.isLive }
}
