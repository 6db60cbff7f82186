internal import MediaCore
internal import SyncRendering

extension PlayerCore {
    // MARK: Films

    func open(_ address: String, cancellation: OpenCancellation) {
        closeFilm()
        state.title = String(address.split(separator: "/").last ?? Substring(address))
        state.failure = nil
        enter(.opening)
        let film: any MediaSource
        do {
            film = try parts.open(address, cancellation)
        } catch {
            if cancellation.isCancelled { return enter(.idle) }
            return fail(error.message, status: error.exitStatus)
        }
        source = film
        loopsLeft = options.loopFile
        soundIsLost = false
        hasBegun = false
        state.duration = film.summary.duration
        if let title = film.summary.title { state.title = title }
        if options.playsVideo { addPicture(of: film) }
        if renderer != nil { addSound(of: film, track: chosenAudioTrack(of: film)) }
        guard audio != nil || video != nil else {
            let what = film.summary.tracks.isEmpty ? "holds neither picture nor sound" : "holds nothing that may play"
            return fail("“\(state.title)” \(what); check the file and the options.", status: 66)
        }
        state.hasVideo = video != nil
        state.pictureFormat = video == nil ? nil : film.summary.track(.video, number: options.videoTrack)?.videoFormat
        state.hasAudio = audio != nil
        state.audioRoute = audio == nil ? nil : renderer?.routeName
        begin(at: resolvedStart, exact: true)
    }

    func closeFilm() {
        synchronizer.setRate(0, time: .zero)
        jump = nil
        progress.arm(false)
        mailbox.setPipelines(audio: nil, video: nil)
        audio?.stop()
        video?.stop()
        audio = nil
        video = nil
        audioTrack = nil
        renderer?.flush()
        layer.flush()
        source = nil
        state.hasVideo = false
        state.pictureFormat = nil
        state.hasAudio = false
        state.duration = nil
    }

    private func chosenAudioTrack(of film: any MediaSource) -> Track? {
        if let number = options.audioTrack {
            if let track = film.summary.track(.audio, number: number) { return track }
            news(.message("This film has no sound track \(number); the first that fits plays instead."))
        }
        return film.summary.track(.audio, languages: options.audioLanguages)
    }

    private func addPicture(of film: any MediaSource) {
        guard let track = film.summary.track(.video, number: options.videoTrack), let format = track.videoFormat
        else { return }
        do {
            let source = try film.source(for: track)
            let decoder = try parts.makeDecoder(format)
            let pipeline = TrackPipeline(
                stage: VideoStage(
                    source: source, decoder: decoder, layer: layer, timebase: synchronizer.timebase, events: events,
                    progress: progress), onNews: { [mailbox] in mailbox.signal.raise() })
            video = pipeline
            mailbox.setPipelines(audio: audio, video: pipeline)
            startPipeline(pipeline, "video")
        } catch {
            news(.message("\(error.message) The sound plays without a picture."))
        }
    }

    func addSound(of film: any MediaSource, track: Track?) {
        guard let renderer, let track else { return }
        do {
            let source = try film.source(for: track)
            let pipeline = TrackPipeline(
                stage: AudioStage(source: source, renderer: renderer),
                onNews: { [mailbox] in mailbox.signal.raise() })
            audio = pipeline
            audioTrack = track
            mailbox.setPipelines(audio: pipeline, video: video)
            startPipeline(pipeline, "audio reader")
        } catch {
            news(.message("\(error.message) The picture plays without sound."))
        }
    }

    func cycleAudioTrack() {
        guard let source, let current = audioTrack else { return }
        let all = source.summary.tracks.filter { $0.kind == .audio }
        guard all.count > 1, let index = all.firstIndex(of: current) else {
            return news(.message("This film has one sound track."))
        }
        let next = all[(index + 1) % all.count]
        audio?.stop()
        audio = nil
        addSound(of: source, track: next)
        news(.message("Sound track \(next.number)\(next.language.map { " (\($0))" } ?? "")"))
        begin(at: jump?.target ?? synchronizer.currentTime, exact: true, movesPicture: false)
    }

    // MARK: Transport

    func play() {
        wantsPlay = true
        switch state.phase {
        case .paused:
            let lead = synchronizer.startLead + .milliseconds(3)
            synchronizer.setRate(speed, atHostTime: parts.clock.now.advanced(by: lead))
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

    func seek(to time: MediaTime, exact: Bool) {
        guard source != nil, state.phase != .failed else { return }
        guard source?.summary.isSeekable == true else { return news(.message("This film cannot be wound.")) }
        var target = max(.zero, time)
        if let duration = state.duration { target = min(target, duration) }
        begin(at: target, exact: exact)
    }

    func seek(by distance: MediaTime, exact: Bool) {
        seek(to: max(.zero, (jump?.target ?? synchronizer.currentTime) + distance), exact: exact)
    }

    /// For this film and the next ones.
    func setLoop(_ loop: PlayerOptions.Loop) {
        options.loopFile = loop
        loopsLeft = loop
    }

    func stepForward() {
        pause()
        guard jump == nil, state.phase == .paused, let next = layer.nextTime else { return }
        synchronizer.setRate(0, time: next)
    }

    func stepBackward() {
        pause()
        guard jump == nil, state.phase == .paused, let shown = layer.shownTime else { return }
        // Any moment inside the picture before; a millisecond is shorter than any picture lasts.
        seek(to: max(.zero, shown - MediaTime(value: 1, timescale: 1000)), exact: true)
    }

    func setSpeed(_ speed: Double) {
        let held = min(2, max(0.5, speed))
        guard held != state.speed else { return }
        let moment = jump?.target ?? synchronizer.currentTime
        state.speed = held
        guard source != nil else { return }
        switch state.phase {
        case .playing:
            // Film goes on at the old speed until the sound can be there at the new one; the renderer sees to that.
            let lead = synchronizer.startLead + .milliseconds(3)
            synchronizer.setRate(held, atHostTime: parts.clock.now.advanced(by: lead))
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
