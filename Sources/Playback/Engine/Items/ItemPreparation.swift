internal import MediaCore
internal import SyncRendering

/// Opens the item that plays next, and schedules, opens and decodes the ones that follow it in advance. Owns the state
/// of that work. Confined to the player's thread.
final class ItemPreparation {
    /// How long before its start an item's first frame is decoded, which requires the memory of a decoder.
    private static let videoLead: Duration = .seconds(6)
    /// The maximum number of entries after the current one that are opened: enough for a speaker with minutes of
    /// buffered audio and clips of seconds.
    private static let maxOpen = 16
    /// The time from scheduling to delivery.
    private static let handingOver: Duration = .milliseconds(20)

    /// The item that is being opened, or is open and not yet scheduled.
    private var item: PrefetchedItem?
    /// An item that cannot follow gaplessly; it is started separately.
    private var unfit: QueueItem?
    /// Media whose end of the video is being searched.
    private var searched: (any MediaSource)?
    /// Media whose video end is unknown until its last frame is decoded.
    private var endless: (any MediaSource)?
    /// The entry whose first frame is being or was prepared.
    private var preparedEntry: Int?
    /// When to retry the opening of a looping item.
    private var loopAgain: RetryDelay?
    /// The entry that was dropped last: entries scheduled before it do not prove that the file is readable.
    private var lastLost = 0
    /// The entry whose audio was delivered beyond its end and cannot be flushed: nothing follows it gaplessly.
    private var closed: Int?
    /// When to retry the awaited item.
    private var nextAttempt: HostInstant?

    private let list: SharedPlaybackList
    private let tracks: PlaybackTracks
    private let seeks: SeekController
    private let factory: EntryFactory
    private let recovery: MediaRecovery
    private let prefetcher: Prefetcher
    private let context: PlayerContext

    init(
        context: PlayerContext, tracks: PlaybackTracks, seeks: SeekController, factory: EntryFactory,
        recovery: MediaRecovery, prefetcher: Prefetcher
    ) {
        (self.context, list, self.tracks, self.seeks) = (context, context.list, tracks, seeks)
        (self.factory, self.recovery, self.prefetcher) = (factory, recovery, prefetcher)
    }

    private var status: PlayerStatus { context.status }
    private var mailbox: PlayerMailbox { context.mailbox }
    private var now: HostInstant { context.clock.now }

    // MARK: Next item

    /// Returns the item with an address if it was opened in advance.
    func openedItem(_ address: String) -> QueueItem? { item?.item.address == address ? item?.item : nil }

    /// Opens the awaited item unless it was opened in advance. An attempt that the caller's thread has cancelled is
    /// replaced, also for the same item.
    func openAwaited(_ listPosition: PlaylistPosition) {
        if item?.item != listPosition.opened || item?.cancellation.isCancelled == true { open(listPosition) }
        mailbox.opening.withLock { $0 = item?.cancellation }
    }

    /// Returns the result of opening the awaited item; nil while it is being opened. Retries a failed item when that is
    /// due.
    func consumeAwaited(_ listPosition: PlaylistPosition) -> Result<PrefetchedMedia, MediaError>? {
        if nextAttempt != nil {
            open(listPosition)
            mailbox.opening.withLock { $0 = item?.cancellation }
        }
        // After `PlayerMailbox.cancelOpening` the command that replaces the item arrives.
        guard let item, item.item == listPosition.opened, !item.cancellation.isCancelled, let outcome = item.outcome
        else { return nil }
        self.item = nil
        return outcome
    }

    /// When an awaited item is to be opened again; nil if it is not.
    var nextOpening: HostInstant? { list.list.awaited == nil ? nil : nextAttempt }

    /// Opens an item, cancelling another one that is being opened.
    ///
    /// An item that has failed since an item last began is opened after a pause only, in a later iteration. A looping
    /// list of unreadable items must not spin before its owner can change it.
    private func open(_ listPosition: PlaylistPosition) {
        let wanted = listPosition.opened
        cancelOpening()
        nextAttempt = recovery.openingTime(of: wanted.address)
        guard nextAttempt == nil else { return }
        let fresh = PrefetchedItem(
            wanted, of: listPosition.interstitialPart == nil ? nil : listPosition.item.address,
            looksForBreaks: listPosition.interstitialPart == nil && list.list.interstitials[wanted.id] == nil)
        item = fresh
        prefetcher.open(fresh) { [mailbox] in mailbox.signal.raise() }
    }

    /// Cancels the opening of an item for later.
    func cancelOpening() {
        if case .success? = item?.outcome {} else { item?.cancellation.cancel() }
        (item, nextAttempt) = (nil, nil)
    }

    /// Cancels the opening of an item that was removed from the list.
    func cancelOpeningOfRemoved() {
        let list = list.list
        guard let item, list.awaited?.opened != item.item, !list.contains(item.item.id) else { return }
        cancelOpening()
    }

    /// Discards the preparation of the scheduled entries.
    func abandon() {
        searched = nil
        preparedEntry = nil
    }

    /// Discards the prepared first frame, because its entry is removed.
    func discardFirstFrame() { preparedEntry = nil }

    /// Lets nothing follow an entry gaplessly.
    func close(behind serial: Int) { closed = serial }

    // MARK: Failures

    /// Schedules failed loops without a pause again.
    func forgetFailedLoops() { loopAgain = nil }

    /// Same if an entry that was scheduled after the failure has begun.
    func recordLoop(_ entry: PlaybackList.ScheduledItem) { if entry.serial > lastLost { loopAgain = nil } }

    /// Reports a scheduled entry that became unreadable.
    func fail(_ entry: PlaybackList.ScheduledItem, _ error: MediaError) {
        if entry.listPosition.interstitialPart != nil {
            skipInterstitial(entry.listPosition, error.playbackError)
        } else if !entry.isLoop {
            refuse(entry.listPosition, error.playbackError)
        } else {
            if loopAgain == nil {
                status.message("“\(entry.title)” cannot be reopened; it loops from the open file.")
            }
            loopAgain = .later(loopAgain, from: now)
            lastLost = entry.serial
        }
    }

    /// Skips an entry without decodable media, or waits for its return if it has played before.
    func abandon(_ entry: PlaybackList.ScheduledItem) -> PlaybackAction {
        if recovery.hasBegun, list.list.mayComeBack, entry.listPosition.interstitialPart == nil {
            return .waitForReturn
        }
        return skip(entry.listPosition, entry.reasonForNothing)
    }

    /// Skips an item that cannot be played. Without a successor the list ends; a player of this item only fails.
    func skip(_ listPosition: PlaylistPosition, _ failure: TalkieError) -> PlaybackAction {
        if listPosition.interstitialPart != nil {
            skipInterstitial(listPosition, failure)
            return .openOrFinish(list.list.following(listPosition, lasting: .zero))
        }
        list.update { $0.markUnplayable(listPosition.item.id, in: listPosition.listPass) }
        if listPosition.isOutsideList || context.options.stopsAtFailures { return .fail(failure) }
        let list = list.list
        let action = list.actionAfterFailure(of: listPosition)
        if case .finish = action {
            if list.mayComeBack { return .waitForReturn }
            if list.items.count == 1 { return .fail(failure) }
        }
        refuse(listPosition, failure)
        return action
    }

    /// Skips a part of an interstitial that cannot be played.
    private func skipInterstitial(_ listPosition: PlaylistPosition, _ error: TalkieError) {
        list.update { $0.markLost(listPosition) }
        status.message(
            Sentences.joined(
                "An interstitial of “\(listPosition.item.title ?? listPosition.item.name)” is skipped.", error.message))
    }

    /// Marks an item as unplayable and reports it.
    private func refuse(_ listPosition: PlaylistPosition, _ failure: TalkieError) {
        list.update { $0.markUnplayable(listPosition.item.id, in: listPosition.listPass) }
        recovery.pauseOpening(of: listPosition.item.address)
        // Repeated failures of lost media are not reported.
        if !recovery.isActive { status.report(.failed(listPosition.item, failure)) }
        status.describe(list.list)
    }

    // MARK: Schedule

    /// Schedules the items that follow, as far ahead as required, and prepares them.
    func layOut() {
        let list = list.list
        guard let last = list.entries.last else { return }
        if last.isEmpty { self.list.update { $0.markUnplayable(last.item.id, in: last.listPosition.listPass) } }
        let next = list.successor(of: last)
        let isOpen = next.map { canJoin($0, last, in: list) } ?? false
        self.list.setOpen(isOpen)
        tracks.wakeWaiting()
        findEnd()
        if isOpen, let next, isNear(last) {
            if Self.isMore(next, of: last), last.media.hasOwnReaders {
                append(last.again(serial: self.list.update { $0.newSerial() }, listPosition: next), behind: last)
            } else if list.entries.count <= Self.maxOpen {
                prefetch(next, behind: last)
            }
        }
        prepareVideo()
        if status.state.phase == .playing, seeks.pending == nil { tracks.drainTails() }
    }

    private func canJoin(_ next: PlaylistPosition, _ last: PlaybackList.ScheduledItem, in list: PlaybackList) -> Bool {
        if last.film.summary.isLive || last.serial == closed || !isInTime(behind: last) { return false }
        if list.separates(next, from: last.listPosition) { return false }
        if last.isEmpty, next.item == last.item, next.interstitialPart == nil { return false }
        if Self.isMore(next, of: last) {
            if let again = loopAgain, now < again.notBefore { return false }
            // Media with one reader is opened again (HLS); a section would be opened too often.
            return last.media.hasOwnReaders || (last.film.summary.isSeekable && list.section == nil)
        }
        return next.opened != unfit
    }

    /// Returns true if the position repeats the last item or continues with another part of it.
    private static func isMore(_ next: PlaylistPosition, of last: PlaybackList.ScheduledItem) -> Bool {
        guard next.interstitialPart == nil, last.listPosition.interstitialPart == nil else { return false }
        return next.from != nil || (next.item == last.item && next.itemPass > 0)
    }

    /// Returns true if audio delivered now still plays from its beginning: the boundary is further ahead than the leads
    /// of a start and of a partial flush. A later item is started separately, so that nothing of it is lost.
    private func isInTime(behind last: PlaybackList.ScheduledItem) -> Bool {
        guard status.state.phase == .playing, seeks.pending == nil, let gaplessBoundary = last.gaplessBoundary else {
            return true
        }
        let flushLead = tracks.renderer?.partialFlushLead ?? .zero
        let lead = max(context.synchronizer.startLead, flushLead) + Self.handingOver
        return (gaplessBoundary - context.playhead).duration > lead * status.state.speed
    }

    /// Returns true if the playhead, or the audio read ahead of it, is near the end of the schedule.
    private func isNear(_ entry: PlaybackList.ScheduledItem) -> Bool {
        guard entry.offset != nil else { return false }
        // Without a duration, the end of the audio is the first one known.
        guard let end = entry.likelyJoint else { return entry.audioEnd.time != nil || entry.filmEnd != nil }
        var reach = context.playhead
        if let until = tracks.renderer?.progress.enqueuedUntil { reach = max(reach, until) }
        return (end - reach).duration < context.options.readAhead
    }

    private func append(_ entry: PlaybackList.ScheduledItem, behind before: PlaybackList.ScheduledItem) {
        tracks.addPipelines(for: entry, behind: before)
        list.update { $0.append(entry) }
        tracks.wakeWaiting()
        tracks.continueAfterEnd()
    }

    private func prefetch(_ next: PlaylistPosition, behind last: PlaybackList.ScheduledItem) {
        guard let opening = item, opening.item == next.opened else { return open(next) }
        switch opening.outcome {
        case nil: break
        case .failure(let error):
            item = nil
            abandon(next, error.playbackError)
        case .success(let media): schedule(media, next, behind: last)
        }
    }

    /// Handles an item that was to follow gaplessly and cannot be opened.
    private func abandon(_ listPosition: PlaylistPosition, _ failure: TalkieError) {
        if listPosition.interstitialPart != nil { return skipInterstitial(listPosition, failure) }
        guard listPosition.from != nil || listPosition.itemPass > 0 else { return refuse(listPosition, failure) }
        // The item has played before: it repeats with a seek, or is started separately.
        recovery.pauseOpening(of: listPosition.item.address)
    }

    private func schedule(
        _ media: PrefetchedMedia, _ listPosition: PlaylistPosition, behind last: PlaybackList.ScheduledItem
    ) {
        storeInterstitials(of: media, listPosition)
        // An interstitial comes first: the item is opened again after it.
        if listPosition.interstitialPart == nil, list.list.entering(listPosition).interstitialPart != nil {
            return item = nil
        }
        if listPosition.interstitialPart != nil, !media.canFollow {
            item = nil
            return skipInterstitial(listPosition, .endless)
        }
        guard media.canFollow else {
            // The item is opened when its turn comes; an input that cannot be opened twice is retained.
            unfit = listPosition.item
            if listPosition.item.address.contains("://") { item = nil }
            return
        }
        item = nil
        guard var entry = factory.entry(for: listPosition, media) else {
            return abandon(listPosition, factory.nothingToPlay(in: media.film, title: listPosition.opened.name))
        }
        if let audio = entry.audioTrack, !context.components.canDecode(audio) {
            status.message("The sound of “\(entry.title)” cannot be decoded; its picture plays without sound.")
            (entry.audioTrack, entry.audioEnd) = (nil, .none)
        }
        append(entry, behind: last)
    }

    /// Stores the interstitials of opened media.
    func storeInterstitials(of media: PrefetchedMedia, _ listPosition: PlaylistPosition) {
        guard listPosition.interstitialPart == nil, let found = media.found else { return }
        for sentence in found.troubles { status.message(sentence) }
        list.update { $0.setInterstitials(found.schedule, of: listPosition.item.id) }
    }

    // MARK: Ends and first frames

    /// Determines the end of the video of the first entry that has a successor and no end that overrides it.
    private func findEnd() {
        let list = list.list
        guard searched == nil,
            let entry = list.entries.first(where: {
                $0.videoEnd == .unknown && $0.setEnd == nil && $0.offset != nil
            }),
            let track = entry.videoTrack, isNear(entry), entry.media.hasOwnReaders, endless !== entry.film,
            list.successor(of: entry) != nil
        else { return }
        let film = entry.film
        searched = film
        prefetcher.findVideoEnd(of: film, track, near: entry.audioEnd.time) { [mailbox] end in
            mailbox.post { $0.preparation.record(videoEnd: end, of: film) }
        }
    }

    /// Records the end of the video of media; nil: it is known when the last frame is decoded.
    func record(videoEnd: MediaTime?, of film: any MediaSource) {
        if searched === film { searched = nil }
        // A search of media that were left was cancelled.
        guard list.list.entries.contains(where: { $0.film === film }) else { return }
        guard let videoEnd else { return endless = film }
        for entry in list.list.entries where entry.film === film && entry.videoTrack?.isCoverArt == false {
            list.setTrackEnd(.at(videoEnd), .video, of: entry.serial)
        }
    }

    /// Prepares the first video frame of the next entry.
    private func prepareVideo() {
        guard tracks.video != nil, let next = list.next(for: .video), let track = next.videoTrack,
            preparedEntry != next.serial, let begin = next.begin,
            (begin - context.playhead).duration < Self.videoLead
        else { return }
        preparedEntry = next.serial
        prefetcher.prepareVideo(of: next.media, track, from: next.start) { [mailbox] result in
            mailbox.post { $0.preparation.record(result, of: next.serial) }
        }
    }

    /// Records the result of preparing the first video frame of an entry.
    func record(_ result: Result<VideoReader, MediaError>, of serial: Int) {
        switch result {
        case .success(let video): list.setVideoTrack(video, to: serial)
        case .failure(let error)
        where error.code != .unsupported && error.code != .limitExceeded && error.code != .cancelled:
            // The source is unreadable: its audio is not played without video either.
            list.lose(serial, error)
        case .failure(let error):
            list.setVideoTrack(nil, to: serial)
            guard error.code != .cancelled else { break }
            status.message(Sentences.joined(error.message, "The sound plays without a picture."))
        }
        tracks.wakeWaiting()
    }
}

extension TalkieError {
    /// The failure of an interstitial that never ends.
    static var endless: TalkieError { TalkieError(.cannotOpen, "It has no known end.") }
}
