import MediaCore

/// An item that is opened in advance. Created by the engine's thread, finished once by the prefetcher's.
final class PrefetchedItem: Sendable {
    let item: QueueItem
    let cancellation = OpenCancellation()
    private let result = Lock<Result<PrefetchedMedia, MediaError>?>(nil)

    /// The address of the media to which this interstitial belongs; nil for other items.
    let film: String?
    /// Whether to request the media's interstitials.
    let looksForBreaks: Bool

    init(_ item: QueueItem, of film: String? = nil, looksForBreaks: Bool = false) {
        (self.item, self.film, self.looksForBreaks) = (item, film, looksForBreaks)
    }

    /// The result; nil while the item is being opened. Any thread.
    var outcome: Result<PrefetchedMedia, MediaError>? { result.withLock { $0 } }

    func finish(_ outcome: Result<any MediaSource, MediaError>, _ found: InterstitialFinder.Found? = nil) {
        result.withLock { $0 = outcome.map { PrefetchedMedia($0, cancellation: cancellation, found: found) } }
    }
}

/// Opened media with its resources. Any thread.
final class PrefetchedMedia: Sendable {
    /// The opened media.
    let film: any MediaSource
    /// Cancels all reads of the media.
    private let cancellation: OpenCancellation
    /// Reserved sources by track, for an input that cannot be opened twice: it drops the packets of tracks without a
    /// source. Guarded by its own lock.
    private let reserved = Lock<[Int: [any SampleSource]]>([:])

    /// The interstitials found.
    let found: InterstitialFinder.Found?

    /// Wraps opened media without interstitials.
    convenience init(_ film: any MediaSource, cancellation: OpenCancellation = OpenCancellation()) {
        self.init(film, cancellation: cancellation, found: nil)
    }

    init(_ film: any MediaSource, cancellation: OpenCancellation, found: InterstitialFinder.Found?) {
        self.found = found
        self.film = film
        self.cancellation = cancellation
    }

    /// Creates the sources of a playback in advance, for inputs whose readers are shared by all tracks. Replaces those
    /// that were not used.
    ///
    /// - Parameter tracks: One for each reader: a track that several outputs play is repeated.
    func reserve(_ tracks: [Track?]) throws(MediaError) {
        guard film.summary.sharesReader else { return }
        var sources: [Int: [any SampleSource]] = [:]
        for track in tracks.compactMap({ $0 }) { sources[track.id, default: []].append(try film.source(for: track)) }
        reserved.withLock { $0 = sources }
    }

    /// Returns a source at the start of the media.
    func source(for track: Track) throws(MediaError) -> any SampleSource {
        if let source = reserved.withLock({ $0[track.id]?.popLast() }) { return source }
        return try film.source(for: track)
    }

    /// Cancels all reads of the media. Any thread.
    func cancel() { cancellation.cancel() }

    /// Whether the media can follow another item gaplessly, for which its audio is read long in advance.
    var canFollow: Bool { !film.summary.isLive }

    /// Whether following items can be scheduled in advance and the media can repeat gaplessly: each track then has its
    /// own reader.
    var hasOwnReaders: Bool { film.summary.isSeekable && !film.summary.sharesReader && !film.summary.isLive }
}
