internal import MediaCore
internal import SyncRendering

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

/// Films of which nothing comes, and films that have vanished since they were played or laid out.
extension PlaybackEngine {
    /// What is left inside decoders is waited for so long before it is asked for.
    private static let tailPatience: Duration = .seconds(2)

    // MARK: Nothing comes

    /// Whether the film has been read to its end from where it begins, and neither sound nor picture has come of it.
    func hasNothingCome(for jump: Jump) -> Bool {
        let entries = list.entries
        guard let entry = entries.first, entries.count < 2 || entries[1].isLoop, jump.movesPicture,
            jump.target == entry.begin
        else { return false }
        var tracks = 0
        if let audio, let renderer, entry.audioTrack != nil {
            // In this order: what is read meanwhile counts.
            guard hasBeenRead(audio, .sound, for: jump) else { return false }
            let status = renderer.progress
            guard !soundIsLost, !status.hasFailed, status.acceptedUntil == nil else { return false }
            if status.enqueuedUntil != nil, !status.isDrained {
                if shared.isWaiting(.sound), parts.clock.now - jump.began > Self.tailPatience {
                    shared.end(.sound)
                    audio.wake()
                }
                return false
            }
            tracks += 1
        }
        if let video, entry.videoTrack != nil {
            guard hasBeenRead(video, .picture, for: jump), layer.count == 0, layer.shownTime == nil else {
                return false
            }
            tracks += 1
        }
        return tracks > 0
    }

    func hasBeenRead(_ pipeline: TrackPipeline, _ walker: SharedPlaybackList.Walker, for jump: Jump) -> Bool {
        let status = pipeline.status
        guard status.seekSerial == jump.serial, let entry = current else { return false }
        return status.hasEnded || shared.isWaiting(walker) || shared.hasEntered(entry.serial + 1, walker)
    }

    /// Nothing came of the film: it cannot be played, or it has vanished since it was played last.
    func giveUpFilm() {
        guard let entry = current else { return }
        if hasBegun, list.mayComeBack, entry.turn.aside == nil { return waitForReturn() }
        pass(over: entry.turn, reasonForNothing(in: entry))
    }

    /// Returns why neither sound nor pictures have come of an entry that was read to its end.
    private func reasonForNothing(in entry: PlaybackList.Entry) -> TalkieError {
        let losses = entry.losses
        guard
            let failure = (losses.failures + [losses.lostSegment].compactMap { $0 }).first(where: {
                $0.kind != .subtitle
            })
        else {
            return TalkieError(
                .cannotOpen, "nothing in “\(entry.title)” can be decoded; it is damaged, or it needs a newer FFmpeg")
        }
        return TalkieError(
            failure.error.playbackCode, "nothing of “\(entry.title)” can be played: \(failure.error.message)")
    }

    // MARK: What is missing

    /// Reports what cannot be read or decoded of the entry that is perceived, once, when playback is there.
    func reportLosses() {
        noteUndecodableSound()
        guard jump == nil, state.phase == .playing || state.phase == .paused, let entry = current else { return }
        report(entry.failure(at: synchronizer.currentTime() - (entry.offset ?? .zero)), of: entry)
    }

    /// Reports the same of an entry whose playing is over.
    func reportRest(of entry: PlaybackList.Entry) {
        noteUndecodableSound()
        report((shared.entry(entry.serial) ?? entry).failure(at: nil), of: entry)
    }

    func report(_ failure: MediaFailure?, of entry: PlaybackList.Entry) {
        guard let failure else { return }
        shared.update { list in list.change(entry.serial) { $0.losses.isReported = true } }
        if entry.item.id == state.current?.id { state.mediaFailure = failure }
        // A loop meets the same place at each pass.
        guard reported?.item != entry.item.id || reported?.failure != failure else { return }
        reported = (entry.item.id, failure)
        news(.incomplete(entry.item, failure))
    }

    private func noteUndecodableSound() {
        guard let lost = renderer?.takeUndecodableSound() else { return }
        shared.update { list in
            let entry = list.entries.last { $0.begin.map { $0 <= lost.start } ?? false } ?? list.entries.first
            guard let entry else { return }
            var own = UndecodableSound(start: lost.start - (entry.offset ?? .zero), duration: lost.duration)
            own.end = lost.end - (entry.offset ?? .zero)
            list.change(entry.serial) { $0.losses.note(undecodable: own) }
        }
    }

    // MARK: Waiting for films to come back

    /// Nothing can be played of a list that is to go on for ever: it is tried again after a while.
    func waitForReturn() {
        if returning == nil {
            let title = current?.title ?? state.title
            news(
                .lost(
                    TalkieError(
                        .cannotOpen, "“\(title)” cannot be read any more; it goes on as soon as it is back")
                ))
        }
        returning = .later(returning, from: parts.clock.now)
        isAway = true
        absent = current?.turn ?? list.awaited ?? absent
        closeFilm()
        enter(.opening)
    }

    /// Opens what was lost again, when its time has come.
    func tryReturn() {
        guard isAway, let returning, parts.clock.now >= returning.notBefore else { return }
        isAway = false
        // The pause is over.
        ahead.failures = [:]
        shared.update { $0.forgive() }
        let list = list
        let again = absent.flatMap { turn in list.loopItem == .forever ? list.firstTurn(turn.item.id) : nil }
        guard let next = again ?? list.firstTurn() else { return enter(.ended) }
        begin(with: next)
    }

    /// A film plays: those that failed may be tried again.
    func noteReturn() {
        returning = nil
        ahead.failures = [:]
        if let entry = current { shared.update { $0.noteGiven(entry.item.id) } }
    }

    // MARK: Films that were laid out

    /// A film that was laid out cannot be read any more: its sound and its picture are given up together.
    func dropLost() {
        guard cut == nil, let (index, error) = shared.lost else { return }
        let entry = list.entries[index]
        if entry.turn.aside != nil {
            passOver(entry.turn, TalkieError(error.playbackCode, error.message))
        } else if !entry.isLoop {
            refuse(entry.item, TalkieError(error.playbackCode, error.message))
        } else {
            if ahead.loopAgain == nil {
                news(.message("“\(entry.title)” cannot be opened again; it loops from what is open."))
            }
            ahead.loopAgain = .later(ahead.loopAgain, from: parts.clock.now)
            ahead.lastLost = entry.serial
        }
        takeBack(index)
    }
}
