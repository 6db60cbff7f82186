internal import MediaCore
internal import SyncRendering

/// Starts and seeks: all tracks collect the required media, then the timeline starts at one instant.
extension PlaybackEngine {
    /// A start or a seek in progress.
    struct Jump {
        /// The target on the timeline.
        var target: MediaTime
        var serial: Int
        var isExact: Bool
        /// Whether the video seeks as well; false after a change of the audio track.
        var movesPicture: Bool
        /// Whether the audio is sent to the sync frame that the video has found.
        var soundFollowsPicture: Bool
        var began: HostInstant
        /// Whether the synchronizer was commanded to start; it does so once all renderers are ready.
        var isCommanded = false
        /// Whether playback continues at its position, so that no track was sent anywhere.
        var resumes = false
        /// Whether the timeline is held until the tracks have a reserve.
        var collects = false
        /// When the target is to be presented; nil: as soon as possible.
        var appointment: HostInstant?
    }

    /// Seeks to a media time of the current item.
    ///
    /// - Parameter movesPicture: Whether the video seeks as well. Media time then becomes the timeline, and the
    ///   following entries are scheduled again. Otherwise the timeline is preserved.
    func begin(at moment: MediaTime, exact: Bool, movesPicture: Bool = true) {
        begin(at: moment, aim: exact ? .exact : .anySyncBefore, movesPicture: movesPicture)
    }

    /// Same with a target frame.
    ///
    /// - Parameter instant: When the media time is to be presented; nil: as soon as possible.
    func begin(
        at moment: MediaTime, aim: SeekAim, movesPicture: Bool = true, perceivedAt instant: HostInstant? = nil
    ) {
        serial += 1
        abandonHold()
        if movesPicture { rebase(at: moment) }
        choosePassThrough()
        let target = moment + state.lineOffset
        synchronizer.setRate(0, time: target)
        let followsPicture = aim != .exact && movesPicture && video != nil && current?.videoTrack != nil
        jump = Jump(
            target: target, serial: serial, isExact: aim == .exact, movesPicture: movesPicture,
            soundFollowsPicture: followsPicture, began: parts.clock.now, appointment: instant)
        progress.arm(true)
        if movesPicture { video?.seek(to: target, aim: aim, serial: serial) }
        if movesPicture, !followsPicture { seekSubtitles(to: target) }
        if !followsPicture {
            audio?.seek(to: target, aim: .exact, serial: serial)
            seekSounds(to: target)
        }
        state.position = moment
        (state.reason, state.bufferingProgress) = (nil, nil)
        enter(.buffering)
    }

    /// The current media time, or the target of a seek in progress.
    var filmMoment: MediaTime { max(.zero, (jump?.target ?? synchronizer.currentTime()) - state.lineOffset) }

    /// Continues a start or a seek as far as the tracks permit.
    func continueJump() {
        guard var jump else { return }
        if jump.collects { return continueHold() }
        let pictureReady = isPictureReady(for: jump)
        if jump.soundFollowsPicture {
            guard let place = picturePlace(for: jump, isReady: pictureReady) else { return }
            if let end = current?.sectionEnd, place - state.lineOffset >= end {
                // Beyond the section, which ends its repetition.
                return begin(at: place - state.lineOffset, exact: true)
            }
            // The video has found its frame; the audio seeks to it.
            jump.target = place
            jump.soundFollowsPicture = false
            self.jump = jump
            state.position = place - state.lineOffset
            synchronizer.setRate(0, time: jump.target)
            audio?.seek(to: jump.target, aim: .exact, serial: jump.serial)
            seekSounds(to: jump.target)
            seekSubtitles(to: jump.target)
        }
        giveOutTailsOfSounds()
        if wantsPlay, jump.isCommanded || (hasFoundPlace(&jump, pictureReady) && hasReserve(for: jump)) {
            commandStart(of: &jump)
        }
        let isReady =
            jump.isCommanded
            ? hasStarted(&jump, isPictureReady: pictureReady) : !wantsPlay && canPause(jump, pictureReady)
        // Evaluated after both tracks: media that was read to its end meanwhile must not start.
        if hasNothingCome(for: jump) { return giveUpFilm() }
        guard isReady, !isUndecided(jump) else { return }
        guard wantsPlay else {
            self.jump = nil
            progress.arm(false)
            if let shown = layer.shownTime, shown > jump.target { jump.target = shown }
            news(.sought(jump.target - state.lineOffset))
            enter(.paused)
            return announce(isJoined: false)
        }
        noteStart(of: jump)
    }

    /// Returns true if the tracks have reached the target, so that the renderers hold its media.
    private func hasFoundPlace(_ jump: inout Jump, _ pictureReady: Bool) -> Bool {
        if let video, jump.movesPicture, current?.videoTrack != nil, video.status.seekSerial != jump.serial {
            give(reason: OutputWait.forPicture)
            return false
        }
        if let audio, !jump.resumes, audio.status.seekSerial != jump.serial, !goesWithoutSound(jump) {
            give(reason: pictureReady ? .forSound : OutputWait.forPicture)
            return false
        }
        if !jump.resumes, !haveSoundsFoundPlace(for: jump), !goesWithoutSound(jump) {
            give(reason: .forSound)
            return false
        }
        if jump.isExact { return true }
        guard pictureReady else {
            give(reason: OutputWait.forPicture)
            return false
        }
        if let first = layer.shownTime ?? layer.nextTime, first > jump.target { jump.target = first }
        return true
    }

    /// Returns true if a seek while paused is complete.
    private func canPause(_ jump: Jump, _ pictureReady: Bool) -> Bool {
        if !pictureReady { give(reason: OutputWait.forPicture) }
        guard pictureReady, !goesWithoutSound(jump), let renderer, let audio else { return pictureReady }
        let isSent = jump.resumes || audio.status.seekSerial == jump.serial
        let wait = isSent ? renderer.startWait : .forSound
        if let wait { give(reason: wait) }
        return wait == nil
    }

    /// Returns true if no audio was decoded and its pipeline has not ended yet; the item is judged when both have
    /// ended.
    private func isUndecided(_ jump: Jump) -> Bool {
        guard expectsSound, !goesWithoutSound(jump), !jump.resumes, let renderer, let audio else { return false }
        let status = renderer.progress
        return !status.hasFailed && status.isDrained && status.acceptedUntil == nil
            && !hasBeenRead(audio, .sound, for: jump)
    }

    /// Returns the position on the timeline that the video has found; nil while unknown.
    private func picturePlace(for jump: Jump, isReady: Bool) -> MediaTime? {
        guard let status = video?.status, status.seekSerial == jump.serial else { return nil }
        if let landed = status.landed { return landed }
        return isReady ? layer.shownTime ?? layer.nextTime ?? jump.target : nil
    }

    private func isPictureReady(for jump: Jump) -> Bool {
        guard let video, jump.movesPicture, current?.videoTrack != nil else { return true }
        let status = video.status
        guard status.seekSerial == jump.serial else { return false }
        // One frame suffices: the next ones arrive within the output's lead.
        return status.hasEnded || shared.isWaiting(.picture) || layer.count >= 1 || layer.shownTime != nil
    }
}

extension OutputWait {
    /// The wait for tracks that have not reached the target, before any output can report one.
    fileprivate static var forPicture: OutputWait { OutputWait(.picture, of: "the picture") }
    fileprivate static var forSound: OutputWait { OutputWait(.sound, of: "sound") }
}
