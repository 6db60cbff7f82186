internal import MediaCore
internal import Profiles
internal import SyncRendering

/// Further sound tracks, each by a renderer with outputs of its own. They follow the first sound's way: through the list, through
/// jumps, in speed and delay. None of them holds the film up for longer than the first sound may.
extension PlaybackEngine {
    /// Sound that nothing follows so far leaves the converters this long before it is heard.
    private static let tailLead: Duration = .milliseconds(500)

    func addSound(_ choice: SoundTrackChoice, to output: any AudioOutput, number: Int) {
        guard renderer != nil else { return news(.message("This player was made without sound.")) }
        // Before it is heard: a change would be a jump of its sound.
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

    /// Everybody who plays sound.
    var soundRenderers: [AudioRenderer] { [renderer].compactMap { $0 } + addedSounds.map(\.renderer) }

    private func addedSoundFailed(_ number: Int, _ failure: TalkieError) {
        guard let sound = addedSounds.first(where: { $0.number == number }), !sound.isLost else { return }
        sound.isLost = true
        news(.message(Sentences.joined(failure.message, "What else plays goes on.")))
    }

    // MARK: Along the list

    /// Makes the pipelines that are not there yet; they begin where they are sent, or with what follows an entry.
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

    /// Those that have read what is not wanted any more read anew from where the film is; only theirs is interrupted.
    ///
    /// - Parameter time: whoever has handed over more than that has read it, too.
    func rereadSounds(thatEntered serial: Int, handedBeyond time: MediaTime? = nil) {
        for sound in addedSounds {
            let until = sound.renderer.progress.enqueuedUntil
            let isBeyond = time.map { time in until.map { $0 > time } ?? false } ?? false
            if isBeyond || shared.hasEntered(serial, sound.walker) { goThere(sound) }
        }
    }

    // MARK: Jumps and starts

    /// Sends all to where a jump leads.
    func seekSounds(to target: MediaTime) {
        for sound in addedSounds { sound.pipeline?.seek(to: target, aim: .exact, serial: serial) }
    }

    /// Sends one to where the film is.
    private func goThere(_ sound: AddedSound) {
        sound.pipeline?.seek(to: jump?.target ?? synchronizer.currentTime(), aim: .exact, serial: serial)
    }

    /// Whether all have gone where a jump leads, so that what their renderers hold is of there.
    func haveSoundsFoundPlace(for jump: Jump) -> Bool {
        addedSounds.allSatisfy { $0.isLost || $0.pipeline.map { $0.status.seekSerial == jump.serial } ?? true }
    }

    /// Nothing has come in time so far, or a film has no sound for them: what waits inside is to be heard, and nobody waits for more.
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
