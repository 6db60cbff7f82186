internal import MediaCore
internal import SyncRendering

/// Scheduling, opening and decoding of the items that follow the current one, in advance.
extension PlaybackEngine {
    /// The state of the preparation of following items.
    struct Ahead {
        /// The item that is being opened, or is open and not yet scheduled.
        var item: PrefetchedItem?
        /// An item that cannot follow gaplessly; it is started separately.
        var unfit: QueueItem?
        var isFindingEnd = false
        /// Media whose video end is unknown until its last frame is decoded.
        var endless: (any MediaSource)?
        /// The entry whose first frame is being or was prepared.
        var pictures: Int?
        /// When to retry the opening of a looping item.
        var loopAgain: Retry?
        /// The entry that was dropped last: entries scheduled before it do not prove that the file is readable.
        var lastLost = 0
        /// The entry whose audio was delivered beyond its end and cannot be flushed: nothing follows it gaplessly.
        var closed: Int?
        /// Failures to open items since an item has begun, by address, with the time of the next attempt.
        var failures: [String: Retry] = [:]
        /// When to retry the awaited item.
        var nextAttempt: HostInstant?
    }

    /// How long before its start an item's first frame is decoded, which requires the memory of a decoder.
    private static let picturesLead: Duration = .seconds(6)
    /// The time from scheduling to delivery.
    private static let handingOver: Duration = .milliseconds(20)
    /// Without a successor, buffered audio is drained from the converters this long before it plays.
    private static let tailLead: Duration = .milliseconds(500)
    /// Without a successor, the decoder is drained when the layer has this number of frames left.
    private static let tailPictures = 2

    /// Schedules the items that follow, as far ahead as required, and prepares them.
    func layOut() {
        let list = list
        guard let last = list.entries.last else { return }
        if last.isEmpty { shared.update { $0.noteBarren(last.item.id) } }
        let next = list.successor(of: last)
        let isOpen = next.map { canJoin($0, last) } ?? false
        shared.setOpen(isOpen)
        wakePipelines()
        findEnd()
        if isOpen, let next, isNear(last) {
            if isMore(next, of: last), last.media.hasOwnReaders {
                append(last.again(serial: shared.update { $0.newSerial() }, turn: next), behind: last)
            } else {
                prefetch(next, behind: last)
            }
        }
        preparePictures()
        giveOutTails()
    }

    private func canJoin(_ next: PlaybackList.Turn, _ last: PlaybackList.Entry) -> Bool {
        if last.film.summary.isLive || last.serial == ahead.closed || !isInTime(behind: last) { return false }
        if last.isEmpty, next.item == last.item, next.aside == nil { return false }
        if isMore(next, of: last) {
            if let again = ahead.loopAgain, parts.clock.now < again.notBefore { return false }
            // Media with one reader is opened again (HLS); a section would be opened too often.
            return last.media.hasOwnReaders || (last.film.summary.isSeekable && list.section == nil)
        }
        return next.opened != ahead.unfit
    }

    /// Returns true if the position repeats the last item or continues with another part of it.
    private func isMore(_ next: PlaybackList.Turn, of last: PlaybackList.Entry) -> Bool {
        guard next.aside == nil, last.turn.aside == nil else { return false }
        return next.from != nil || (next.item == last.item && next.itemPass > 0)
    }

    /// Returns true if audio delivered now still plays from its beginning: the boundary is further ahead than the leads of a
    /// start and of a partial flush. A later item is started separately, so that nothing of it is lost.
    private func isInTime(behind last: PlaybackList.Entry) -> Bool {
        guard state.phase == .playing, jump == nil, let joint = last.joint else { return true }
        let lead = max(synchronizer.startLead, renderer?.partialFlushLead ?? .zero) + Self.handingOver
        return (joint - synchronizer.currentTime()).duration > lead * speed
    }

    /// Returns true if the playhead, or the audio read ahead of it, is near the end of the schedule.
    private func isNear(_ entry: PlaybackList.Entry) -> Bool {
        guard entry.offset != nil else { return false }
        // Without a duration, the end of the audio is the first one known.
        guard let end = entry.likelyJoint else { return entry.soundEnd.time != nil || entry.filmEnd != nil }
        var reach = synchronizer.currentTime()
        if let until = renderer?.progress.enqueuedUntil { reach = max(reach, until) }
        return (end - reach).duration < options.readAhead
    }

    private func append(_ entry: PlaybackList.Entry, behind before: PlaybackList.Entry) {
        addPipelines(for: entry, behind: before)
        shared.update { $0.append(entry) }
        wakePipelines()
        // Continues tracks that had ended.
        audio?.goOn()
        video?.goOn()
        letSoundsGoOn()
        letSubtitlesGoOn()
    }

    /// Determines the end of the video of the first entry that has a successor.
    private func findEnd() {
        let list = list
        guard !ahead.isFindingEnd,
            let entry = list.entries.first(where: {
                $0.pictureEnd == .unknown && $0.sectionEnd == nil && $0.offset != nil
            }),
            let track = entry.videoTrack, isNear(entry), entry.media.hasOwnReaders, ahead.endless !== entry.film,
            list.successor(of: entry) != nil
        else { return }
        ahead.isFindingEnd = true
        let film = entry.film
        prefetcher.findVideoEnd(of: film, track, near: entry.soundEnd.time) { [mailbox] end in
            mailbox.post { $0.hear(videoEnd: end, of: film) }
        }
    }

    private func hear(videoEnd: MediaTime?, of film: any MediaSource) {
        ahead.isFindingEnd = false
        // The end will be known when the last frame is decoded.
        guard let videoEnd else { return ahead.endless = film }
        for entry in list.entries where entry.film === film && entry.videoTrack?.isCoverArt == false {
            shared.note(.at(videoEnd), .picture, of: entry.serial)
        }
    }

    // MARK: Opening

    /// Opens an item, cancelling another one that is being opened.
    ///
    /// An item that has failed since an item last began is opened after a pause only, in a later iteration. A looping
    /// list of unreadable items must not spin before its owner can change it.
    func prefetch(_ turn: PlaybackList.Turn) {
        let item = turn.opened
        forgetAhead()
        if let again = ahead.failures[item.address], parts.clock.now < again.notBefore {
            ahead.nextAttempt = again.notBefore
            return
        }
        let fresh = PrefetchedItem(
            item, of: turn.aside == nil ? nil : turn.item.address,
            looksForBreaks: turn.aside == nil && list.programmes[item.id] == nil)
        ahead.item = fresh
        prefetcher.open(fresh) { [mailbox] in mailbox.signal.raise() }
    }

    private func prefetch(_ next: PlaybackList.Turn, behind last: PlaybackList.Entry) {
        guard let opening = ahead.item, opening.item == next.opened else { return prefetch(next) }
        switch opening.outcome {
        case nil: break
        case .failure(let error):
            ahead.item = nil
            giveUp(next, TalkieError(error.playbackCode, error.message))
        case .success(let media): lay(media, next, behind: last)
        }
    }

    /// Handles an item that was to follow gaplessly and cannot be opened.
    private func giveUp(_ turn: PlaybackList.Turn, _ failure: TalkieError) {
        if turn.aside != nil { return passOver(turn, failure) }
        guard turn.from != nil || turn.itemPass > 0 else { return refuse(turn.item, failure) }
        // The item has played before: it repeats with a seek, or is started separately.
        let address = turn.item.address
        ahead.failures[address] = .later(ahead.failures[address], from: parts.clock.now)
    }

    private func lay(_ media: PrefetchedMedia, _ turn: PlaybackList.Turn, behind last: PlaybackList.Entry) {
        noteBreaks(of: media, turn)
        // An interstitial comes first: the item is opened again after it.
        if turn.aside == nil, list.entering(turn).aside != nil { return ahead.item = nil }
        if turn.aside != nil, !media.canFollow {
            ahead.item = nil
            return passOver(turn, TalkieError(.cannotOpen, "It has no known end."))
        }
        guard media.canFollow else {
            // The item is opened when its turn comes; an input that cannot be opened twice is retained.
            ahead.unfit = turn.item
            if turn.item.address.contains("://") { ahead.item = nil }
            return
        }
        ahead.item = nil
        guard var entry = entry(for: turn, media) else {
            return giveUp(turn, nothingToPlay(in: media.film, title: turn.opened.name))
        }
        if let sound = entry.audioTrack, !parts.canDecode(sound) {
            news(.message("The sound of “\(entry.title)” cannot be decoded; its picture plays without sound."))
            (entry.audioTrack, entry.soundEnd) = (nil, .none)
        }
        append(entry, behind: last)
    }

    /// Cancels the opening of an item for later.
    func forgetAhead() {
        if case .success? = ahead.item?.outcome {} else { ahead.item?.cancellation.cancel() }
        (ahead.item, ahead.nextAttempt) = (nil, nil)
    }

    /// Discards the preparation of the scheduled entries.
    func abandonAhead() {
        cut = nil
        ahead.isFindingEnd = false
        ahead.pictures = nil
    }

    // MARK: First frames, last audio

    /// Prepares the first video frame of the next entry.
    private func preparePictures() {
        let entries = list.entries
        guard video != nil, let place = shared.place(of: .picture),
            let index = entries.firstIndex(where: { $0.serial == place }), index + 1 < entries.count
        else { return }
        let next = entries[index + 1]
        guard let track = next.videoTrack, ahead.pictures != next.serial, let begin = next.begin,
            (begin - synchronizer.currentTime()).duration < Self.picturesLead
        else { return }
        ahead.pictures = next.serial
        prefetcher.makePictures(of: next.media, track, from: next.start) { [mailbox] result in
            mailbox.post { $0.hear(result, of: next.serial) }
        }
    }

    private func hear(_ result: Result<PictureTrack, MediaError>, of serial: Int) {
        switch result {
        case .success(let pictures): shared.give(pictures, to: serial)
        case .failure(let error)
        where error.code != .unsupported && error.code != .limitExceeded && error.code != .cancelled:
            // The source is unreadable: its audio is not played without video either.
            shared.lose(serial, error)
        case .failure(let error):
            shared.give(nil, to: serial)
            guard error.code != .cancelled else { break }
            news(.message(Sentences.joined(error.message, "The sound plays without a picture.")))
        }
        wakePipelines()
    }

    /// Drains the tracks whose successor is not ready in time.
    private func giveOutTails() {
        guard state.phase == .playing, jump == nil else { return }
        giveOutTailsOfSounds()
        if shared.isWaiting(.sound), let renderer, !renderer.progress.isDrained,
            let until = renderer.progress.enqueuedUntil, (until - synchronizer.currentTime()).duration < Self.tailLead
        {
            shared.end(.sound)
            audio?.wake()
        }
        if shared.isWaiting(.picture), layer.count <= Self.tailPictures, !layer.isDrained {
            shared.end(.picture)
            video?.wake()
        }
    }
}
