internal import MediaCore
internal import SyncRendering

/// Starts and jumps: both tracks collect what they need, then time runs from one instant.
extension PlaybackEngine {
    /// A start or a jump under way.
    struct Jump {
        var target: MediaTime
        var serial: Int
        var isExact: Bool
        /// False when only the sound starts anew, as after a change of track.
        var movesPicture: Bool
        /// After a jump to a sync picture the sound is sent to that picture's time.
        var soundFollowsPicture: Bool
        var began: HostInstant
        /// The synchronizer was told to start, and does so when everybody can.
        var isCommanded = false
        /// The film goes on from where it stands: neither track was sent anywhere.
        var resumes = false
        /// Film time is held until the tracks have a reserve.
        var collects = false
        /// When the target is to be perceived; nil is as soon as it can be.
        var appointment: HostInstant?
    }

    /// Goes to a moment of the film that plays.
    ///
    /// - Parameter movesPicture: when the picture starts anew, too, film time is the line's from here on, and what was
    ///   laid out behind the film is laid out anew; the sound alone keeps the line.
    func begin(at moment: MediaTime, exact: Bool, movesPicture: Bool = true) {
        begin(at: moment, aim: exact ? .exact : .anySyncBefore, movesPicture: movesPicture)
    }

    /// - Parameter instant: when that moment is to be perceived; nil is as soon as it can be.
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

    /// The moment of the film that is perceived now, or where a jump under way leads.
    var filmMoment: MediaTime { max(.zero, (jump?.target ?? synchronizer.currentTime()) - state.lineOffset) }

    func continueJump() {
        guard var jump else { return }
        if jump.collects { return continueHold() }
        let pictureReady = isPictureReady(for: jump)
        if jump.soundFollowsPicture {
            guard let place = picturePlace(for: jump, isReady: pictureReady) else { return }
            if let end = current?.sectionEnd, place - state.lineOffset >= end {
                // Behind the section after all, which lets go of whoever winds past it.
                return begin(at: place - state.lineOffset, exact: true)
            }
            // The picture found its place; the sound meets it there.
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
        // After both were looked at: what was read to its end meanwhile must not start.
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

    /// Whether both tracks have gone to the target, so that what renderers hold is of there.
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

    /// Whether everything is there for a film that is to stand at the target.
    private func canPause(_ jump: Jump, _ pictureReady: Bool) -> Bool {
        if !pictureReady { give(reason: OutputWait.forPicture) }
        guard pictureReady, !goesWithoutSound(jump), let renderer, let audio else { return pictureReady }
        let isSent = jump.resumes || audio.status.seekSerial == jump.serial
        let wait = isSent ? renderer.startWait : .forSound
        if let wait { give(reason: wait) }
        return wait == nil
    }

    /// Where no sound came at all, the pipeline, too, must say that it is over: then the film is judged as a whole.
    private func isUndecided(_ jump: Jump) -> Bool {
        guard expectsSound, !goesWithoutSound(jump), !jump.resumes, let renderer, let audio else { return false }
        let status = renderer.progress
        return !status.hasFailed && status.isDrained && status.acceptedUntil == nil
            && !hasBeenRead(audio, .sound, for: jump)
    }

    /// Where on the line the picture goes on; nil while that is not known.
    private func picturePlace(for jump: Jump, isReady: Bool) -> MediaTime? {
        guard let status = video?.status, status.seekSerial == jump.serial else { return nil }
        if let landed = status.landed { return landed }
        return isReady ? layer.shownTime ?? layer.nextTime ?? jump.target : nil
    }

    private func isPictureReady(for jump: Jump) -> Bool {
        guard let video, jump.movesPicture, current?.videoTrack != nil else { return true }
        let status = video.status
        guard status.seekSerial == jump.serial else { return false }
        // One is enough: by the time the film starts, an output's lead later, the next are there.
        return status.hasEnded || shared.isWaiting(.picture) || layer.count >= 1 || layer.shownTime != nil
    }
}

extension OutputWait {
    /// Of tracks that have not found their place, before any output can say something.
    fileprivate static var forPicture: OutputWait { OutputWait(.picture, of: "the picture") }
    fileprivate static var forSound: OutputWait { OutputWait(.sound, of: "sound") }
}
