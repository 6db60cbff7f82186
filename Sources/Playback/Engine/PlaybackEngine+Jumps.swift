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
        /// Outputs are given until then to notice by themselves that they must begin anew.
        var notBefore: HostInstant?
    }

    /// Goes to a moment of the film that plays.
    ///
    /// - Parameter movesPicture: when the picture starts anew, too, film time is the line's from here on, and what was
    ///   laid out behind the film is laid out anew; the sound alone keeps the line.
    func begin(at moment: MediaTime, exact: Bool, movesPicture: Bool = true) {
        begin(at: moment, aim: exact ? .exact : .anySyncBefore, movesPicture: movesPicture)
    }

    func begin(at moment: MediaTime, aim: SeekAim, movesPicture: Bool = true) {
        serial += 1
        if movesPicture { rebase() }
        choosePassThrough()
        let target = moment + state.lineOffset
        synchronizer.setRate(0, time: target)
        let followsPicture = aim != .exact && movesPicture && video != nil && current?.videoTrack != nil
        jump = Jump(
            target: target, serial: serial, isExact: aim == .exact, movesPicture: movesPicture,
            soundFollowsPicture: followsPicture, began: parts.clock.now)
        progress.arm(true)
        if movesPicture { video?.seek(to: target, aim: aim, serial: serial) }
        if !followsPicture { audio?.seek(to: target, aim: .exact, serial: serial) }
        state.position = moment
        state.reason = nil
        enter(.buffering)
    }

    /// The moment of the film that is perceived now, or where a jump under way leads.
    var filmMoment: MediaTime { max(.zero, (jump?.target ?? synchronizer.currentTime()) - state.lineOffset) }

    func continueJump() {
        guard var jump else { return }
        let pictureReady = isPictureReady(for: jump)
        if jump.soundFollowsPicture {
            guard let place = picturePlace(for: jump, isReady: pictureReady) else { return }
            // The picture found its place; the sound meets it there.
            jump.target = place
            jump.soundFollowsPicture = false
            self.jump = jump
            state.position = place - state.lineOffset
            synchronizer.setRate(0, time: jump.target)
            audio?.seek(to: jump.target, aim: .exact, serial: jump.serial)
        }
        let soundReady = isSoundReady(for: jump)
        // After both were looked at: what was read to its end meanwhile must not start.
        if hasNothingCome(for: jump) { return giveUpFilm() }
        // Sound that does not come within eight seconds is joined later rather than waited for.
        let patience = parts.clock.now - jump.began < .seconds(8)
        let mayGoWithoutSound = options.startPolicy == .picture || !patience
        let isTime = jump.notBefore.map { parts.clock.now >= $0 } ?? true
        guard pictureReady, isTime, soundReady || mayGoWithoutSound else {
            let reason = waitingReason(picture: pictureReady, sound: soundReady)
            if state.reason != reason { state.reason = reason }
            return
        }
        self.jump = nil
        progress.arm(false)
        if !jump.isExact || !wantsPlay, let shown = layer.shownTime, shown > jump.target { jump.target = shown }
        news(.sought(jump.target - state.lineOffset))
        guard wantsPlay else {
            enter(.paused)
            return announce(isJoined: false)
        }
        startTime(at: jump.target)
        announce(isJoined: false)
        if soundReady { startMonitor.begin(synchronizer.timebase.snapshot) }
    }

    /// “waiting for Kitchen's clock, about 1.2 s”
    private func waitingReason(picture: Bool, sound: Bool) -> String {
        if !picture { return "waiting for the picture" }
        return parts.audioOutput?.wait?.description ?? "waiting for sound"
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

    private func isSoundReady(for jump: Jump) -> Bool {
        guard let renderer, let audio, !soundIsLost, current?.audioTrack != nil else { return true }
        let pipeline = audio.status
        guard pipeline.seekSerial == jump.serial else { return false }
        let status = renderer.progress
        if status.hasFailed { return true }
        // Where there is no sound at all, the pipeline, too, must say that it is over: then the film is judged as a whole.
        if status.isDrained, status.acceptedUntil == nil { return hasBeenRead(audio, .sound, for: jump) }
        guard status.isReadyToStart else { return false }
        if status.isDrained { return true }
        guard let until = status.acceptedUntil else { return false }
        return (until - jump.target).duration >= renderer.preroll
    }
}
