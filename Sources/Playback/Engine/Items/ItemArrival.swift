internal import MediaCore
internal import SyncRendering

/// Starts the awaited item once it is open, and owns where it starts. Confined to the player's thread.
final class ItemArrival {
    /// The media time at which the awaited item starts; nil: its start.
    private var position: MediaTime?
    /// When that position is to be presented; nil: as soon as possible.
    private var instant: HostInstant?
    private let context: PlayerContext
    private let list: SharedPlaybackList
    private let tracks: PlaybackTracks
    private let factory: EntryFactory
    private let preparation: ItemPreparation
    private let announcer: EntryAnnouncer

    init(
        context: PlayerContext, tracks: PlaybackTracks, factory: EntryFactory, preparation: ItemPreparation,
        announcer: EntryAnnouncer
    ) {
        (self.context, list, self.tracks, self.factory) = (context, context.list, tracks, factory)
        (self.preparation, self.announcer) = (preparation, announcer)
    }

    /// Awaits an item, without media on the timeline.
    ///
    /// - Parameters:
    ///   - position: The media time of the start; nil: the default start.
    ///   - instant: When the position is to be presented; nil: as soon as possible.
    func await(_ listPosition: PlaylistPosition, at position: MediaTime?, perceivedAt instant: HostInstant?) {
        list.restart { $0.await(listPosition) }
        (self.position, self.instant) = (position ?? list.list.start(of: listPosition), instant)
        context.status.enterOpening(listPosition.item, of: list.list)
        preparation.openAwaited(listPosition)
    }

    /// Returns the start of the awaited item once it is open and has its entry and pipelines; nil until then.
    func proceed() -> PlaybackAction? {
        guard let listPosition = list.list.awaited, let outcome = preparation.consumeAwaited(listPosition) else {
            return nil
        }
        let media: PrefetchedMedia
        switch outcome {
        case .success(let opened): media = opened
        case .failure(let error): return .skip(listPosition, error.playbackError)
        }
        tracks.forgetFailures()
        preparation.storeInterstitials(of: media, listPosition)
        let summary = media.film.summary
        // A position that was stored without the option may be behind the requested end.
        let ends = [summary.duration, context.options.end?.mediaTime(in: summary.duration)].compactMap(\.self)
        let start = position.flatMap { start in ends.allSatisfy { start < $0 } ? max(.zero, start) : nil }
        let first = list.list.entering(
            listPosition, at: start ?? context.options.start?.mediaTime(in: summary.duration))
        if first.interstitialPart != nil, listPosition.interstitialPart == nil { return .open(first) }
        if listPosition.interstitialPart != nil, summary.isLive { return .skip(listPosition, .endless) }
        guard let entry = factory.entry(for: listPosition, media) else {
            return .skip(listPosition, factory.nothingToPlay(in: media.film, title: listPosition.item.name))
        }
        list.restart { $0.begin(with: entry) }
        tracks.addPipelines(for: entry, behind: nil)
        guard list.current?.audioTrack != nil || list.current?.videoTrack != nil else {
            return .skip(listPosition, factory.nothingToPlay(in: media.film, title: listPosition.item.name))
        }
        announcer.describe()
        let target = listPosition.interstitialPart == nil ? start : nil
        // An appointment is void if the requested position does not exist.
        return .seek(
            to: target ?? entry.start, perceivedAt: target == nil && position != nil ? nil : instant)
    }
}
