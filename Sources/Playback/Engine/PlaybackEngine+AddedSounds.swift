internal import MediaCore
internal import Profiles
internal import SyncRendering

/// Additional audio tracks, each with a renderer and outputs. They follow the main track through the list and through
/// seeks, in speed and delay. None delays playback longer than the main track.
extension PlaybackEngine {
    /// Without a successor, buffered audio is drained from the converters this long before it plays.
    private static let tailLead: Duration = .milliseconds(500)

    func addSound(_ choice: SoundTrackChoice, to output: any AudioOutput, number: Int) {
        guard renderer != nil else { return news(.message("This player was created without sound.")) }
        // Applied before playback: a later change would be a discontinuity of its audio.
        if let group = output as? OutputGroup { parts.calibration?.include(group) }
        parts.calibration?.apply()
        let sound = AddedSound(number: number, choice: choice, output: output, codecs: parts.codecs, events: events)
        sound.renderer.delay = state.audioDelay + options.calibration
        sound.renderer.setSpeed(speed)
        sound.renderer.onNews { [mailbox, progress] in
            Self.hear($0, mailbox: mailbox, progress: progress) { engine, error in
                engine.addedSoundFailed(number, error)
            }
        }
        addedSounds.append(sound)
        if isVolumeChosen { (output as? OutputGroup)?.setVolume(state.volume) }
        applyGain()
        choosePassThrough()
        guard let entry = current, isUnderWay else { return }
        addPipeline(to: sound, behind: entry)
        goThere(sound)
    }

    func removeSound(_ number: Int) {
        guard let index = addedSounds.firstIndex(where: { $0.number == number }) else { return }
        let sound = addedSounds.remove(at: index)
        if let group = sound.output as? OutputGroup { parts.calibration?.exclude(group) }
        sound.pipeline?.stop()
        sound.renderer.onNews(nil)
        synchronizer.removeRenderer(sound.renderer, completion: nil)
    }

    func setVolume(_ volume: Double, ofSound number: Int) {
        guard let sound = addedSounds.first(where: { $0.number == number }) else { return }
        let volume = min(VolumeCurve.most, max(0, volume))
        sound.volume = volume
        (sound.output as? OutputGroup)?.setVolume(volume)
        applyGain()
    }

    /// The renderers of all audio tracks.
    var soundRenderers: [AudioRenderer] { [renderer].compactMap { $0 } + addedSounds.map(\.renderer) }

    private func addedSoundFailed(_ number: Int, _ failure: TalkieError) {
        guard let sound = addedSounds.first(where: { $0.number == number }), !sound.isLost else { return }
        sound.isLost = true
        news(.message(Sentences.joined(failure.message, "The other outputs continue.")))
    }

    // MARK: Playlist

    /// Creates the missing pipelines; they start at a seek target, or with the successor of an entry.
    func addPipelinesToSounds(behind entry: PlaybackList.Entry) {
        for sound in addedSounds where sound.pipeline == nil {
            sound.isLost = false
            addPipeline(to: sound, behind: entry)
        }
    }

    private func addPipeline(to sound: AddedSound, behind entry: PlaybackList.Entry) {
        if let refusal = synchronizer.addRenderer(sound.renderer), refusal.code != .alreadyAdded {
            removeSound(sound.number)
            return news(.message(refusal.message))
        }
        sound.renderer.treatment = options.treatment
        let choice = sound.choice
        let stage = AudioStage(
            list: shared, walker: sound.walker, renderer: sound.renderer, replayGain: options.replayGain,
            choose: { AddedSound.track(choice, of: $0) },
            behind: entry, intake: TrackIntake(clock: parts.clock))
        let pipeline = TrackPipeline(stage: stage, onNews: { [mailbox] in mailbox.signal.raise() })
        sound.pipeline = pipeline
        startPipeline(pipeline, "audio reader")
        if let error = pipeline.refusal {
            addedSoundFailed(sound.number, TalkieError(error.playbackCode, error.message))
        }
    }

    func closeSounds() {
        for sound in addedSounds {
            sound.pipeline?.stop()
            sound.pipeline = nil
            sound.renderer.flush()
            sound.renderer.stopRequestingMediaData()
        }
    }

    func wakeSounds() { for sound in addedSounds where shared.isWaiting(sound.walker) { sound.pipeline?.wake() } }
    func letSoundsGoOn() { for sound in addedSounds { sound.pipeline?.goOn() } }

    /// Lets tracks that have read an obsolete entry seek to the current position; only their audio is interrupted.
    ///
    /// - Parameter time: A track that has enqueued beyond this time has read it as well.
    func rereadSounds(thatEntered serial: Int, handedBeyond time: MediaTime? = nil) {
        for sound in addedSounds {
            let until = sound.renderer.progress.enqueuedUntil
            let isBeyond = time.map { time in until.map { $0 > time } ?? false } ?? false
            if isBeyond || shared.hasEntered(serial, sound.walker) { goThere(sound) }
        }
    }

    // MARK: Seeks and starts

    /// Sends all tracks to the target of a seek.
    func seekSounds(to target: MediaTime) {
        for sound in addedSounds { sound.pipeline?.seek(to: target, aim: .exact, serial: serial) }
    }

    /// Sends a track to the current position.
    private func goThere(_ sound: AddedSound) {
        sound.pipeline?.seek(to: jump?.target ?? synchronizer.currentTime(), aim: .exact, serial: serial)
    }

    /// Whether all tracks have reached the target of a seek, so that their renderers hold its media.
    func haveSoundsFoundPlace(for jump: Jump) -> Bool {
        addedSounds.allSatisfy { $0.isLost || $0.pipeline.map { $0.status.seekSerial == jump.serial } ?? true }
    }

    /// Drains tracks whose successor is not ready, or for which an item has no audio, so that no start waits for them.
    func giveOutTailsOfSounds() {
        for sound in addedSounds where shared.isWaiting(sound.walker) && !sound.renderer.progress.isDrained {
            if jump == nil {
                let until = sound.renderer.progress.enqueuedUntil ?? .zero
                guard (until - synchronizer.currentTime()).duration < Self.tailLead else { continue }
            } else {
                guard sound.renderer.startWait?.cause == .sound else { continue }
            }
            shared.end(sound.walker)
            sound.pipeline?.wake()
        }
    }
}
