internal import MediaCore
internal import SyncRendering

/// The time of the next attempt after a failure. Pauses grow but stay short, so that restored media is detected within
/// a second.
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

/// Items without decodable media, and items that were lost after they played or were scheduled.
extension PlaybackEngine {
    /// How long buffered media in decoders is awaited before they are drained.
    private static let tailPatience: Duration = .seconds(2)

    // MARK: No media

    /// Returns true if the item was read to its end from its start and neither audio nor video was decoded.
    func hasNothingCome(for jump: Jump) -> Bool {
        let entries = list.entries
        guard let entry = entries.first, entries.count < 2 || entries[1].isLoop, jump.movesPicture,
            jump.target == entry.begin
        else { return false }
        var tracks = 0
        if let audio, let renderer, entry.audioTrack != nil {
            // The read state is queried first: media read meanwhile counts.
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

    /// Returns true if a track was read to the end of the current entry since a seek.
    func hasBeenRead(_ pipeline: TrackPipeline, _ walker: SharedPlaybackList.Walker, for jump: Jump) -> Bool {
        let status = pipeline.status
        guard status.seekSerial == jump.serial, let entry = current else { return false }
        return status.hasEnded || shared.isWaiting(walker) || shared.hasEntered(entry.serial + 1, walker)
    }

    /// Skips an item without decodable media, or waits for its return if it has played before.
    func giveUpFilm() {
        guard let entry = current else { return }
        if hasBegun, list.mayComeBack, entry.turn.aside == nil { return waitForReturn() }
        pass(over: entry.turn, reasonForNothing(in: entry))
    }

    /// Returns the reason why neither audio nor video of an entry was decoded.
    private func reasonForNothing(in entry: PlaybackList.Entry) -> TalkieError {
        let losses = entry.losses
        guard
            let failure = (losses.failures + [losses.lostSegment].compactMap { $0 }).first(where: {
                $0.kind != .subtitle
            })
        else {
            return TalkieError(
                .cannotOpen, "“\(entry.title)” cannot be decoded; it is damaged, or it needs a newer FFmpeg")
        }
        return TalkieError(
            failure.error.playbackCode, "“\(entry.title)” cannot be played: \(failure.error.message)")
    }

    // MARK: Losses

    /// Reports read and decode errors of the current entry, once, when playback has reached them.
    func reportLosses() {
        noteUndecodableSound()
        guard jump == nil, state.phase == .playing || state.phase == .paused, let entry = current else { return }
        report(entry.failure(at: synchronizer.currentTime() - (entry.offset ?? .zero)), of: entry)
    }

    /// Reports the errors of an entry that has ended.
    func reportRest(of entry: PlaybackList.Entry) {
        noteUndecodableSound()
        report((shared.entry(entry.serial) ?? entry).failure(at: nil), of: entry)
    }

    func report(_ failure: MediaFailure?, of entry: PlaybackList.Entry) {
        guard let failure else { return }
        shared.update { list in list.change(entry.serial) { $0.losses.isReported = true } }
        if entry.item.id == state.current?.id { state.mediaFailure = failure }
        // A loop encounters the same error in each pass.
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

    // MARK: Return of lost media

    /// Starts waiting for lost media of a list that repeats forever.
    func waitForReturn() {
        if returning == nil {
            let title = current?.title ?? state.title
            news(
                .lost(
                    TalkieError(
                        .cannotOpen, "“\(title)” can no longer be read; it continues as soon as it is available again")
                ))
        }
        returning = .later(returning, from: parts.clock.now)
        isAway = true
        absent = current?.turn ?? list.awaited ?? absent
        closeFilm()
        enter(.opening)
    }

    /// Reopens lost media when the retry is due.
    func tryReturn() {
        guard isAway, let returning, parts.clock.now >= returning.notBefore else { return }
        isAway = false
        // The pause has passed.
        ahead.failures = [:]
        shared.update { $0.forgive() }
        let list = list
        let again = absent.flatMap { turn in list.loopItem == .forever ? list.firstTurn(turn.item.id) : nil }
        guard let next = again ?? list.firstTurn() else { return enter(.ended) }
        begin(with: next)
    }

    /// Resets the retries because an item plays.
    func noteReturn() {
        returning = nil
        ahead.failures = [:]
        if let entry = current { shared.update { $0.noteGiven(entry.item.id) } }
    }

    // MARK: Scheduled items

    /// Removes a scheduled entry that became unreadable, audio and video together.
    func dropLost() {
        guard cut == nil, let (index, error) = shared.lost else { return }
        let entry = list.entries[index]
        if entry.turn.aside != nil {
            passOver(entry.turn, TalkieError(error.playbackCode, error.message))
        } else if !entry.isLoop {
            refuse(entry.item, TalkieError(error.playbackCode, error.message))
        } else {
            if ahead.loopAgain == nil {
                news(.message("“\(entry.title)” cannot be reopened; it loops from the open file."))
            }
            ahead.loopAgain = .later(ahead.loopAgain, from: parts.clock.now)
            ahead.lastLost = entry.serial
        }
        takeBack(index)
    }
}
