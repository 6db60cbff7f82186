internal import MediaCore
internal import SyncRendering

/// Separate starts of items: an item is opened, scheduled, and started when all tracks are ready.
extension PlaybackEngine {
    /// Replaces the list by one item and plays it.
    func open(_ address: String, at position: MediaTime? = nil) {
        // Reuses an item that was opened in advance.
        let item = ahead.item.flatMap { $0.item.address == address ? $0.item : nil } ?? QueueItem(address)
        shared.update { list in
            _ = list.apply(.removeAll)
            _ = list.apply(.append([item]))
        }
        (hasBegun, returning, ahead.loopAgain, ahead.failures) = (false, nil, nil, [:])
        begin(with: PlaybackList.Turn(item: item), at: position)
    }

    /// Starts an item once it is open.
    ///
    /// - Parameters:
    ///   - position: The media time of the start; nil: the default start.
    ///   - instant: When the position is to be presented; nil: as soon as possible.
    func begin(
        with turn: PlaybackList.Turn, at position: MediaTime? = nil, perceivedAt instant: HostInstant? = nil
    ) {
        closeFilm()
        isAway = false
        shared.restart { $0.await(turn) }
        (arrivalPosition, arrivalInstant) = (position, instant)
        describe(turn.item)
        state.failure = nil
        tellPhase(.opening)
        if ahead.item?.item != turn.opened { prefetch(turn) }
        mailbox.opening.withLock { $0 = ahead.item?.cancellation }
        continueArrival()
    }

    /// Starts the awaited item once it is open.
    func continueArrival() {
        guard let turn = list.awaited else { return }
        if ahead.nextAttempt != nil {
            prefetch(turn)
            mailbox.opening.withLock { $0 = ahead.item?.cancellation }
        }
        guard let arriving = ahead.item, arriving.item == turn.opened, let outcome = arriving.outcome else { return }
        ahead.item = nil
        let media: PrefetchedMedia
        switch outcome {
        case .success(let opened): media = opened
        case .failure(let error):
            return pass(over: turn, TalkieError(error.playbackCode, error.message))
        }
        (soundIsLost, exhaustion) = (false, nil)
        noteBreaks(of: media, turn)
        let place = arrivalPosition.flatMap { place in
            media.film.summary.duration.map { place < $0 } ?? true ? place : nil
        }
        let start = place ?? options.start?.moment(in: media.film.summary.duration)
        let first = list.entering(turn, at: start)
        if first.aside != nil, turn.aside == nil { return begin(with: first) }
        if turn.aside != nil, media.film.summary.isLive {
            return pass(over: turn, TalkieError(.cannotOpen, "It has no known end."))
        }
        guard let entry = entry(for: turn, media) else {
            return pass(over: turn, nothingToPlay(in: media.film, title: turn.item.name))
        }
        shared.restart { $0.begin(with: entry) }
        addPipelines(for: entry, behind: nil)
        guard current?.audioTrack != nil || current?.videoTrack != nil else {
            return pass(over: turn, nothingToPlay(in: media.film, title: turn.item.name))
        }
        describeCurrent()
        let target = turn.aside == nil ? place : nil
        // An appointment is void if the requested position does not exist.
        begin(
            at: target ?? entry.start, aim: .exact,
            perceivedAt: target == nil && arrivalPosition != nil ? nil : arrivalInstant)
    }

    /// Skips an item that cannot be played. Without a successor the list ends; a player of this item only fails.
    func pass(over turn: PlaybackList.Turn, _ failure: TalkieError) {
        if turn.aside != nil {
            passOver(turn, failure)
            guard let next = list.turn(behind: turn, lasting: .zero) else { return finish() }
            return begin(with: next)
        }
        shared.update { $0.noteBarren(turn.item.id) }
        let list = list
        let next = list.successor(of: turn, leavesLoop: true)
        if next == nil, list.mayComeBack { return waitForReturn() }
        if next == nil, list.items.count == 1 { return fail(failure) }
        refuse(turn.item, failure)
        if let next { begin(with: next) } else { finish() }
    }

    /// Marks an item as unplayable and reports it.
    func refuse(_ item: QueueItem, _ failure: TalkieError) {
        shared.update { $0.noteBarren(item.id) }
        ahead.failures[item.address] = .later(ahead.failures[item.address], from: parts.clock.now)
        // Repeated failures of lost media are not reported.
        if returning == nil { news(.failed(item, failure)) }
    }

    /// Reports the message about opened media.
    private func remark() {
        guard options.playsVideo, let entry = current, let remark = parts.remark(entry.film) else { return }
        news(.message(remark))
    }

    /// Returns the requested start and the duration if the start is beyond the end; nil otherwise.
    func startBehindEnd(of film: any MediaSource) -> (start: MediaTime, length: MediaTime)? {
        guard let length = film.summary.duration, let start = options.start?.moment(in: length), start >= length,
            length > .zero
        else { return nil }
        return (start, length)
    }

    func nothingToPlay(in film: any MediaSource, title: String) -> TalkieError {
        if let exhaustion {
            return TalkieError(exhaustion.playbackCode, "“\(title)” cannot be played: \(exhaustion.message)")
        }
        if let (start, length) = startBehindEnd(of: film) {
            let (place, end) = (start.clock, length.clock)
            return TalkieError(
                .cannotOpen,
                "“\(title)” ends at \(end), before the requested start at \(place); choose an earlier start.")
        }
        let what =
            film.summary.tracks.isEmpty ? "contains neither picture nor sound" : "contains nothing that may be played"
        return TalkieError(
            .cannotOpen, "“\(title)” \(what); check the file and the options.")
    }

    /// Stops all tracks and clears the timeline.
    func closeFilm() {
        synchronizer.setRate(0, time: .zero)
        abandonHold()
        jump = nil
        progress.arm(false)
        audio?.stop()
        video?.stop()
        closeSounds()
        closeSubtitles()
        audio = nil
        video = nil
        abandonAhead()
        shared.restart { $0.await(nil) }
        renderer?.flush()
        layer.flush()
        // Until a pipeline requests media again, no start waits for the renderers.
        renderer?.stopRequestingMediaData()
        layer.stopRequestingMediaData()
        var state = state
        state.lineOffset = .zero
        (state.hasVideo, state.isStill) = (false, false)
        state.pictureFormat = nil
        state.hasAudio = false
        (state.audioTrack, state.audioTracks) = (nil, [])
        (state.subtitleTrack, state.subtitleTracks) = (nil, [])
        state.duration = nil
        state.heldPosition = nil
        state.chapters = []
        self.state = state
    }

    /// Ends playback before the end of the list was reached.
    func finish() {
        closeFilm()
        enter(.ended)
    }

    // MARK: Gapless boundaries

    /// Makes the next entry current once the playhead has reached it.
    func passJoints() {
        guard jump == nil, state.phase == .playing || state.phase == .paused else { return }
        while true {
            let entries = list.entries
            guard entries.count > 1, let begin = entries[1].begin, synchronizer.currentTime() >= begin else { return }
            let next = entries[1]
            // Only if the leading track has entered the entry.
            guard shared.hasEntered(next.serial, audio != nil && !soundIsLost ? .sound : .picture) else { return }
            advanceList(to: next)
            noteReturn()
            announce(isJoined: true)
            // Another item is an occasion to retry lost audio.
            let triesAgain = soundIsLost && !next.isLoop
            guard triesAgain else { continue }
            soundIsLost = false
            return self.begin(at: next.start, exact: true)
        }
    }

    /// Replaces the current entry by the next one.
    func advanceList(to next: PlaybackList.Entry) {
        if let entry = current { reportRest(of: entry) }
        shared.update { $0.advance() }
        describeCurrent()
    }

    /// Reports the current entry, once.
    func announce(isJoined: Bool) {
        guard let entry = current, entry.serial != announced else { return }
        announced = entry.serial
        let goesOn = interrupted == entry.item.id
        interrupted = entry.turn.aside == nil ? nil : entry.item.id
        if entry.turn.aside != nil { return news(.message("\(entry.title): the film continues after it.")) }
        let begin = entry.begin ?? synchronizer.currentTime()
        if goesOn { return news(.looped(at: begin)) }
        if entry.isLoop {
            if entry.serial > ahead.lastLost { ahead.loopAgain = nil }
            news(.looped(at: begin))
        } else {
            news(.began(entry.item, at: begin, isJoined: isJoined))
            remark()
        }
    }

    // MARK: State

    /// Describes an item that is not open yet.
    private func describe(_ item: QueueItem) {
        var state = state
        state.mediaFailure = nil
        state.title = item.title ?? item.name
        (state.artist, state.album) = (nil, nil)
        state.current = item
        state.items = list.items
        self.state = state
    }

    /// Describes the current entry.
    func describeCurrent() {
        guard let entry = current else { return }
        var state = state
        if state.current?.id != entry.item.id { state.mediaFailure = nil }
        state.title = entry.title
        (state.artist, state.album) = (entry.film.summary.artist, entry.film.summary.album)
        state.current = entry.item
        state.items = list.items
        state.duration = entry.film.summary.duration
        state.chapters = entry.film.summary.chapters
        state.hasVideo = entry.videoTrack.map { !$0.isCoverArt } ?? false
        state.isStill = entry.videoTrack?.isPicture ?? false
        state.pictureFormat = entry.videoTrack?.videoFormat
        state.hasAudio = entry.audioTrack != nil
        state.audioTrack = entry.audioTrack
        state.audioTracks = entry.film.summary.tracks.filter { $0.kind == .audio }
        state.subtitleTrack = subtitles?.wish.value.track(of: entry)
        state.subtitleTracks = entry.film.summary.tracks.filter { $0.kind == .subtitle }
        state.audioRoute = state.hasAudio ? renderer?.routeName : nil
        state.lineOffset = entry.offset ?? .zero
        state.heldPosition = nil
        if let aside = entry.turn.aside { describe(aside, of: entry, in: &state) }
        self.state = state
    }

    /// Makes the current entry's media time the timeline and drops the following entries.
    ///
    /// - Parameter moment: The media time at which playback continues.
    func rebase(at moment: MediaTime) {
        abandonAhead()
        let section = seamlessSection
        shared.restart { list in
            list.section = section
            list.rebase(at: moment)
        }
        state.lineOffset = .zero
    }

    /// Selects whether packets may pass to speakers unchanged. Packets cannot be cut: up to one is lost at a boundary,
    /// which is inaudible where the video changes as well. Consecutive songs and looping items must be seamless and are
    /// therefore decoded.
    func choosePassThrough() {
        let list = list
        let entry = list.entries.first
        let next = entry.flatMap { list.successor(of: $0) }
        // A list that repeats and currently has one item will not be a loop of that item.
        let isOnlyItself = options.expectsMore && next?.itemPass == 0 && next?.item == entry?.item
        let isLoop = next != nil && next?.item.address == entry?.item.address && !isOnlyItself
        let hasPictures = entry?.videoTrack.map { !$0.isCoverArt } ?? false
        let joinsExactly = isLoop || list.section != nil || (!hasPictures && (options.expectsMore || next != nil))
        let mayPass = !joinsExactly && !options.replayGain.isActive
        renderer?.allowsPassThrough = mayPass
        parts.audioOutput?.allowPassThrough(mayPass)
        for sound in addedSounds {
            sound.renderer.allowsPassThrough = mayPass
            sound.output.allowPassThrough(mayPass)
        }
    }
}

extension MediaError {
    /// The corresponding code for the caller of the player.
    var playbackCode: TalkieError.Code {
        switch code {
        case .notPermitted: .notPermitted
        // The media itself is not at fault.
        case .exhausted: .failed
        default: .cannotOpen
        }
    }
}
