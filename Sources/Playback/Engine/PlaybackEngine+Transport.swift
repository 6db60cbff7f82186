internal import MediaCore
internal import Profiles
internal import SyncRendering

/// User commands during playback.
extension PlaybackEngine {
    func cycleAudioTrack() {
        guard let current, let track = current.audioTrack else { return }
        let all = current.film.summary.tracks.filter { $0.kind == .audio }
        guard all.count > 1, let index = all.firstIndex(of: track) else {
            return news(.message("This film has one sound track."))
        }
        choose(all[(index + 1) % all.count], of: current)
    }

    /// Selects an audio track.
    ///
    /// - Parameter number: 1 for the first.
    func selectAudioTrack(_ number: Int) {
        guard let current, let track = current.audioTrack, track.number != number else { return }
        guard let wanted = current.film.summary.track(.audio, number: number) else {
            return news(.message("This film has no sound track \(number)."))
        }
        choose(wanted, of: current)
    }

    private func choose(_ next: Track, of current: PlaybackList.Entry) {
        let count = current.film.summary.tracks.count { $0.kind == .audio }
        let moment = filmMoment
        prefer(next, of: current.film.summary)
        for entry in list.entries where entry.audioTrack != nil {
            let track = entry.film === current.film ? next : chosenAudioTrack(of: entry.film)
            shared.update { list in list.change(entry.serial) { $0.audioTrack = track } }
        }
        state.audioTrack = next
        news(.message("Sound track " + next.description(among: count)))
        begin(at: moment, exact: true, movesPicture: jump?.movesPicture ?? false)
    }

    /// Makes following items prefer the track's language if it identifies the track, otherwise its number.
    private func prefer(_ track: Track, of film: MediaSummary) {
        if let language = track.language, film.track(.audio, languages: [language]) == track {
            options.audioTrack = nil
            options.audioLanguages.removeAll { LanguageCode($0) == LanguageCode(language) }
            options.audioLanguages.insert(language, at: 0)
        } else {
            options.audioTrack = track.number
        }
    }

    // MARK: Transport

    /// Starts, resumes or repeats playback.
    package func play() {
        wantsPlay = true
        switch state.phase {
        case .paused: resume()
        case .ended where current != nil: seek(to: resolvedStart, exact: true)
        case .idle, .ended, .failed: if let first = list.firstTurn() { begin(with: first) }
        case .opening, .buffering, .playing: break
        }
    }

    /// Pauses after the output's stop lead, so that delivered audio ends together with the video.
    package func pause() {
        wantsPlay = false
        if state.phase == .playing {
            synchronizer.setRate(0)
            enter(.paused)
        } else if jump?.isCommanded == true {
            // Withdraws a start that is pending or was just announced.
            jump?.isCommanded = false
            synchronizer.setRate(0)
        }
    }

    /// Sets the speed in media seconds per second, clamped to `PlayerOptions.speedRange`.
    func setSpeed(_ speed: Double) {
        let range = PlayerOptions.speedRange
        let held = min(range.upperBound, max(range.lowerBound, speed))
        guard held != state.speed else { return }
        guard held <= 1 || !forbidsSkipping else {
            return news(.message("This interstitial plays at its own speed."))
        }
        let moment = filmMoment
        state.speed = held
        guard current != nil else { return }
        switch state.phase {
        case .playing:
            // Playback continues at the old speed until the renderer has audio at the new one.
            synchronizer.setRate(Float(held))
        case .paused: setSpeedOfSounds(held)
        case .buffering where jump?.collects == true:
            setSpeedOfSounds(held)
            // The same reserve in host time requires another amount of media.
            setReserve(from: jump?.target)
        case .buffering:
            setSpeedOfSounds(held)
            begin(at: moment, exact: true, movesPicture: jump?.movesPicture ?? false)
        default: setSpeedOfSounds(held)
        }
    }

    private func setSpeedOfSounds(_ speed: Double) { for renderer in soundRenderers { renderer.setSpeed(speed) } }

    // MARK: Volume

    /// Stores the master volume, which a group of outputs already has. Sets it on an output without a group, and on
    /// additional tracks without their own volume.
    func setVolume(_ volume: Double) {
        state.volume = min(VolumeCurve.most, max(0, volume))
        isVolumeChosen = true
        for sound in addedSounds where sound.volume == nil {
            (sound.output as? OutputGroup)?.setVolume(state.volume)
        }
        applyGain()
    }

    /// Notes that the group of outputs is at its owners' levels again, as are added sounds without a volume of their own.
    func restoreVolume(_ volume: Double) {
        (state.volume, isVolumeChosen) = (volume, false)
        for sound in addedSounds where sound.volume == nil { (sound.output as? OutputGroup)?.restoreVolumes() }
        applyGain()
    }

    func setMuted(_ muted: Bool) {
        state.isMuted = muted
        applyGain()
    }

    /// Applies the volumes. Until one is set, every output keeps its owner's.
    func applyGain() {
        let volume = isVolumeChosen ? state.volume : nil
        if let renderer { apply(volume, to: renderer, parts.audioOutput) }
        for sound in addedSounds { apply(sound.volume ?? volume, to: sound.renderer, sound.output) }
    }

    private func apply(_ volume: Double?, to renderer: AudioRenderer, _ output: (any AudioOutput)?) {
        // A group stores the volume of each output.
        let volume = output is OutputGroup ? nil : volume
        renderer.setGain(state.isMuted ? 0 : volume.map { VolumeCurve.gain(volume: $0) })
    }

    func setNightMode(_ isOn: Bool) {
        options.isNight = isOn
        applyTreatment()
    }

    func setDialogueLift(_ decibels: Double) {
        options.dialogueLift = PlayerOptions.held(dialogueLift: decibels)
        applyTreatment()
    }

    func applyTreatment() { for renderer in soundRenderers { renderer.treatment = options.treatment } }

    /// Sets the delay of audio, clamped to ±`PlayerOptions.longestAudioDelay`.
    func setAudioDelay(_ delay: Duration) {
        let limit = PlayerOptions.longestAudioDelay
        state.audioDelay = min(limit, max(.zero - limit, delay))
        for renderer in soundRenderers { renderer.delay = state.audioDelay + options.calibration }
    }

    func setScreen(_ name: String?, refreshRate: Int?, isFullScreen: Bool) {
        let mode = LatencyProfile.Key.mode(refresh: refreshRate, isFullScreen: isFullScreen)
        if parts.calibration?.setScreen(name, mode: mode) == true { parts.calibration?.apply() }
    }
}
