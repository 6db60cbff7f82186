internal import MediaCore
internal import SyncRendering

extension PlayerCore {
    // MARK: Films

    func open(_ address: String, cancellation: OpenCancellation) {
        let prepared = takePrepared(address, cancellation)
        closeFilm()
        if prepared == nil { forgetAhead() }
        upcoming = []
        (opened, lost, reopening, ahead.loopAgain) = ((address, cancellation), nil, nil, nil)
        state.title = String(address.split(separator: "/").last ?? Substring(address))
        state.failure = nil
        enter(.opening)
        let film: any MediaSource
        do throws(MediaError) {
            if let prepared {
                film = try prepared.get(cancellation)
            } else {
                film = try parts.open(address, cancellation)
            }
        } catch {
            if cancellation.isCancelled { return enter(.idle) }
            return fail(error.message, status: error.exitStatus)
        }
        soundIsLost = false
        hasBegun = false
        guard let link = link(to: film, title: state.title) else {
            return fail(nothingToPlay(in: film, title: state.title), status: 66)
        }
        begin(with: link)
        remark()
    }

    /// Plays an opened film from its start.
    func begin(with link: FilmLink) {
        chain.begin(with: link)
        addPipelines(for: link, behind: nil)
        guard chain.current?.audioTrack != nil || chain.current?.videoTrack != nil else {
            return fail(nothingToPlay(in: link.film, title: state.title), status: 66)
        }
        describeCurrent()
        begin(at: link.start, exact: true)
    }

    /// The place asked for as the start, where the film does not last so long.
    func startBehindEnd(of film: any MediaSource) -> (start: MediaTime, length: MediaTime)? {
        guard let length = film.summary.duration, let start = options.start?.moment(in: length), start >= length,
            length > .zero
        else { return nil }
        return (start, length)
    }

    func nothingToPlay(in film: any MediaSource, title: String) -> String {
        if let (start, length) = startBehindEnd(of: film) {
            let (place, end) = (StatusText.clock(start), StatusText.clock(length))
            return "“\(title)” ends at \(end), before \(place), where it was to start; give an earlier --start."
        }
        let what = film.summary.tracks.isEmpty ? "holds neither picture nor sound" : "holds nothing that may play"
        return "“\(title)” \(what); check the file and the options."
    }

    func closeFilm() {
        synchronizer.setRate(0, time: .zero)
        jump = nil
        abandonCut()
        progress.arm(false)
        mailbox.setPipelines(audio: nil, video: nil)
        audio?.stop()
        video?.stop()
        audio = nil
        video = nil
        chain.removeAll()
        renderer?.flush()
        layer.flush()
        state.lineOffset = .zero
        state.hasVideo = false
        state.pictureFormat = nil
        state.hasAudio = false
        state.duration = nil
    }

    func cycleAudioTrack() {
        guard let current = chain.current, let track = current.audioTrack else { return }
        let all = current.film.summary.tracks.filter { $0.kind == .audio }
        guard all.count > 1, let index = all.firstIndex(of: track) else {
            return news(.message("This film has one sound track."))
        }
        let next = all[(index + 1) % all.count]
        let moment = filmMoment
        for link in chain.links where link.film === current.film { chain.setAudioTrack(next, of: link.serial) }
        news(.message("Sound track " + Self.description(of: next, among: all.count)))
        begin(at: moment, exact: true, movesPicture: jump?.movesPicture ?? false)
    }

    /// `3 of 3, rus, commentary`.
    private static func description(of track: Track, among count: Int) -> String {
        ["\(track.number) of \(count)", track.language, track.title].compactMap { $0 }
            .joined(separator: ", ")
    }

    // MARK: Transport

    func play() {
        wantsPlay = true
        switch state.phase {
        case .paused:
            synchronizer.setRate(speed, atHostTime: synchronizer.earliestStart)
            enter(.playing)
        case .ended: seek(to: resolvedStart, exact: true)
        default: break
        }
    }

    /// Stops a device buffer from now, so that the sound already handed over ends where the picture stops.
    func pause() {
        wantsPlay = false
        guard state.phase == .playing else { return }
        synchronizer.setRate(0, atHostTime: parts.clock.now.advanced(by: synchronizer.stopLead))
        enter(.paused)
    }

    func setSpeed(_ speed: Double) {
        let held = min(2, max(0.5, speed))
        guard held != state.speed else { return }
        let moment = filmMoment
        state.speed = held
        guard chain.current != nil else { return }
        switch state.phase {
        case .playing:
            // Film goes on at the old speed until the sound can be there at the new one; the renderer sees to that.
            synchronizer.setRate(held, atHostTime: synchronizer.earliestStart)
        case .paused: renderer?.setSpeed(held)
        case .buffering:
            renderer?.setSpeed(held)
            begin(at: moment, exact: true, movesPicture: jump?.movesPicture ?? false)
        default: renderer?.setSpeed(held)
        }
    }

    // MARK: Loudness

    func setVolume(_ volume: Double) {
        state.volume = min(100, max(0, volume))
        isVolumeChosen = true
        applyGain()
    }

    func setMuted(_ muted: Bool) {
        state.isMuted = muted
        applyGain()
    }

    /// Until somebody chooses a volume, every output keeps the one its owner left.
    func applyGain() {
        renderer?.setGain(state.isMuted ? 0 : isVolumeChosen ? VolumeCurve.gain(volume: state.volume) : nil)
    }

    func setAudioDelay(_ delay: Duration) {
        let limit = Duration.seconds(10)
        state.audioDelay = min(limit, max(.zero - limit, delay))
        renderer?.delay = state.audioDelay + options.calibration
    }

    func setCalibration(_ delay: Duration) {
        guard delay != options.calibration else { return }
        options.calibration = delay
        renderer?.delay = state.audioDelay + delay
    }
}

extension MediaError {
    /// The program's exit status for a film that cannot be read.
    var exitStatus: Int32 { code == .notPermitted ? 77 : 66 }
}

extension PlayerMailbox {
    func setPipelines(audio: TrackPipeline?, video: TrackPipeline?) {
        pipelines.withLock { $0 = (audio, video) }
    }

    /// The renderer wants more sound. Feeder thread.
    func wakeAudio() { pipelines.withLock { $0.audio }?.wake() }

    /// The layer wants more pictures. Screen thread.
    func wakeVideo() { pipelines.withLock { $0.video }?.wake() }
}
