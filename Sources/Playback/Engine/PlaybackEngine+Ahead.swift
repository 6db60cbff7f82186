internal import MediaCore
internal import SyncRendering

/// What follows the film that plays: laid out on the list, opened, looked through and decoded before it is needed.
extension PlaybackEngine {
    /// What is under way for the films that follow.
    struct Ahead {
        /// The item that is being opened, or is open and not laid out.
        var item: PrefetchedItem?
        /// The item that cannot be there without a seam; it begins when its turn has come.
        var unfit: QueueItem?
        var isFindingEnd = false
        /// A film whose pictures' end nobody knows before the last is decoded.
        var endless: (any MediaSource)?
        /// The entry whose pictures are being made ready, or were.
        var pictures: Int?
        /// The film that loops could not be opened again: when that is tried once more.
        var loopAgain: Retry?
        /// The entry that was given up last: those laid out before it prove nothing about the file.
        var lastLost = 0
        /// The entry whose sound was handed over beyond its end and cannot be taken back: nothing joins it.
        var closed: Int?
        /// What could not be opened since a film has begun, by address, and when it is tried again.
        var failures: [String: Retry] = [:]
        /// An item waits for that moment.
        var nextAttempt: HostInstant?
    }

    /// So long before its beginning a film's first pictures are decoded, which costs the memory of a decoder.
    private static let picturesLead: Duration = .seconds(6)
    /// From laying out to handing over.
    private static let handingOver: Duration = .milliseconds(20)
    /// Sound that nothing follows so far leaves the converters this long before it is heard.
    private static let tailLead: Duration = .milliseconds(500)
    /// Pictures that are left with the layer when nothing follows so far.
    private static let tailPictures = 2

    /// Lays films out behind the last one, as far ahead as they are needed, and has them made ready.
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
            // What has one reader is opened once more (HLS); a section would be opened too often.
            return last.media.hasOwnReaders || (last.film.summary.isSeekable && list.section == nil)
        }
        return next.opened != ahead.unfit
    }

    /// Whether it is the film that is last on the list once more, or another part of it.
    private func isMore(_ next: PlaybackList.Turn, of last: PlaybackList.Entry) -> Bool {
        guard next.aside == nil, last.turn.aside == nil else { return false }
        return next.from != nil || (next.item == last.item && next.itemPass > 0)
    }

    /// Whether sound that is handed over from now on is heard from its beginning: no later than a start could be kept, or sound be
    /// taken back. What comes later begins by itself, so that nothing of it is lost.
    private func isInTime(behind last: PlaybackList.Entry) -> Bool {
        guard state.phase == .playing, jump == nil, let joint = last.joint else { return true }
        let lead = max(synchronizer.startLead, renderer?.partialFlushLead ?? .zero) + Self.handingOver
        return (joint - synchronizer.currentTime()).duration > lead * speed
    }

    /// Whether the end of what is laid out is near, for the playhead or for the sound that is read ahead of it.
    private func isNear(_ entry: PlaybackList.Entry) -> Bool {
        guard entry.offset != nil else { return false }
        // Where nobody says how long it lasts, the end of its sound is the first that is known.
        guard let end = entry.likelyJoint else { return entry.soundEnd.time != nil || entry.filmEnd != nil }
        var reach = synchronizer.currentTime()
        if let until = renderer?.progress.enqueuedUntil { reach = max(reach, until) }
        return (end - reach).duration < options.readAhead
    }

    private func append(_ entry: PlaybackList.Entry, behind before: PlaybackList.Entry) {
        addPipelines(for: entry, behind: before)
        shared.update { $0.append(entry) }
        wakePipelines()
        // A walker that had come to the end of everything goes on.
        audio?.goOn()
        video?.goOn()
        letSoundsGoOn()
        letSubtitlesGoOn()
    }

    /// Looks up where the pictures of the next film end that has one to follow it.
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
        // Nobody can say: it will be known when the last picture has been decoded.
        guard let videoEnd else { return ahead.endless = film }
        for entry in list.entries where entry.film === film && entry.videoTrack?.isCoverArt == false {
            shared.note(.at(videoEnd), .picture, of: entry.serial)
        }
    }

    // MARK: Opening

    /// Has an item opened; one that was being opened before is given up.
    ///
    /// What has failed since a film last began is opened after a pause only, and every turn asks again: a list that repeats films
    /// which cannot be opened must not spin before its owner can change it.
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

    /// What was to join cannot be opened.
    private func giveUp(_ turn: PlaybackList.Turn, _ failure: TalkieError) {
        if turn.aside != nil { return passOver(turn, failure) }
        guard turn.from != nil || turn.itemPass > 0 else { return refuse(turn.item, failure) }
        // It was played before: it goes back with a jump, or begins when its turn has come.
        let address = turn.item.address
        ahead.failures[address] = .later(ahead.failures[address], from: parts.clock.now)
    }

    private func lay(_ media: PrefetchedMedia, _ turn: PlaybackList.Turn, behind last: PlaybackList.Entry) {
        noteBreaks(of: media, turn)
        // Something comes first: the film is opened again behind it.
        if turn.aside == nil, list.entering(turn).aside != nil { return ahead.item = nil }
        if turn.aside != nil, !media.canFollow {
            ahead.item = nil
            return passOver(turn, TalkieError(.cannotOpen, "It has no end."))
        }
        guard media.canFollow else {
            // It is opened when its turn has come; what cannot be opened twice is kept until then.
            ahead.unfit = turn.item
            if turn.item.address.contains("://") { ahead.item = nil }
            return
        }
        ahead.item = nil
        guard var entry = entry(for: turn, media) else {
            return giveUp(turn, nothingToPlay(in: media.film, title: turn.opened.name))
        }
        if let sound = entry.audioTrack, !parts.canDecode(sound) {
            news(.message("The sound of “\(entry.title)” cannot be decoded; its picture plays without it."))
            (entry.audioTrack, entry.soundEnd) = (nil, .none)
        }
        append(entry, behind: last)
    }

    /// Gives up on an item that is being opened for later.
    func forgetAhead() {
        if case .success? = ahead.item?.outcome {} else { ahead.item?.cancellation.cancel() }
        (ahead.item, ahead.nextAttempt) = (nil, nil)
    }

    /// What is laid out begins anew.
    func abandonAhead() {
        cut = nil
        ahead.isFindingEnd = false
        ahead.pictures = nil
    }

    // MARK: First pictures, last sounds

    /// The first pictures of the film that comes next for the screen.
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
            // It cannot be read; its sound alone is not played either.
            shared.lose(serial, error)
        case .failure(let error):
            shared.give(nil, to: serial)
            guard error.code != .cancelled else { break }
            news(.message(Sentences.joined(error.message, "The sound plays without a picture.")))
        }
        wakePipelines()
    }

    /// Nothing has come in time so far: what waits inside is to be heard and seen all the same.
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
