public import MediaCore
internal import Profiles
public import SyncRendering

extension Player {
    /// The current state, then each change, and four states per second during playback.
    ///
    /// A slow reader misses states, but never the last one. Any number of readers; the sequence ends with `shutDown`.
    public var states: AsyncStream<PlayerState> { publisher.states() }

    /// The playing outputs, or those to play; empty without audio. Any thread.
    public var audioOutputs: [any AudioOutput] { outputs?.members ?? [] }

    /// Replaces the outputs, also during playback. New outputs join in sync, and removed ones fall silent at the same
    /// media time. Playback neither stops nor reads media again; while paused or seeking the change occurs at once.
    ///
    /// Unavailable outputs are omitted. If no new output is available, the old ones continue to play and the result
    /// states the reason. A player without audio refuses. Network speakers that play together must come from one
    /// `OutputRegistry`.
    public func setAudioOutputs(_ outputs: [any AudioOutput]) async -> RouteChange {
        await withCheckedContinuation { continuation in
            setAudioOutputs(outputs) { continuation.resume(returning: $0) }
        }
    }

    /// Same with a completion handler, which is called once, on any thread, and must not block.
    public func setAudioOutputs(
        _ wanted: [any AudioOutput], done: @escaping @Sendable (RouteChange) -> Void
    ) { setAudioOutputs(wanted, because: .chosen, done: done) }

    /// Same with the reason in `PlayerEvent.routeChanged`.
    package func setAudioOutputs(
        _ wanted: [any AudioOutput], because reason: PlaybackRouteChange.Reason,
        done: @escaping @Sendable (RouteChange) -> Void
    ) {
        guard let outputs else {
            let error = OutputError(.unavailable, "This player was created without sound.")
            return done(.refused([RouteChange.Refusal(output: "sound", error: error)]))
        }
        // Applied before playback: a later change would be a discontinuity of their audio.
        calibration?.apply(to: wanted)
        // Before the members change, which the player's thread may notice before the result.
        mailbox.post { $0.audioControl.expectChange(because: reason) }
        outputs.change(to: wanted) { [mailbox] outcome in
            mailbox.post { engine in
                if case .changed = outcome { engine.outputsHaveChanged() }
                // A refused change must not leave its reason to the next one.
                engine.audioControl.expectChange(because: .chosen)
            }
            done(outcome)
        }
    }

    /// Applies calibrations that another process has stored since they were read. Blocks on the disk. Any thread.
    package func refreshCalibration() { calibration?.refresh() }

    // MARK: Volumes

    /// The master volume, 0…130 (`VolumeCurve`): that of the loudest output; 100 without audio, and while no output's
    /// volume is known. Any thread.
    public var masterVolume: Double { outputs?.volume ?? 100 }

    /// The master volume as a linear factor, as `AudioRenderer.volume`: 1 is unchanged, 0 is silent, above 1 samples
    /// are amplified. Setting it is `setMasterVolume`. Any thread.
    public var volume: Float {
        get { VolumeCurve.gain(volume: masterVolume) }
        set { setMasterVolume(VolumeCurve.volume(gain: newValue)) }
    }

    /// Whether the audio is muted, independently of `volume`. A set is applied, and read, after the player's next
    /// iteration. Any thread.
    public var isMuted: Bool {
        get { state.isMuted }
        set { setMuted(newValue) }
    }

    /// The master volume; nil while no output's volume is known: speakers report their owner's when a session begins.
    package var knownVolume: Double? {
        guard let outputs else { return 100 }
        return outputs.knownVolume
    }

    /// Sets the volume of every output, including later ones, to 0…130. Any thread.
    public func setVolume(_ volume: Double) { changeVolumes { $0.setVolume(volume) } }

    /// Gives every output the level that its owner left, as before a volume was set; 100 where it has none.
    package func restoreVolumes() {
        guard let outputs else { return }
        outputs.restoreVolumes()
        mailbox.post { [volume = outputs.volume] in $0.audioControl.restoreVolume(volume) }
    }

    /// Changes the volume of all outputs by the same number of decibels, so that the loudest one has this volume,
    /// 0…130. Any thread.
    public func setMasterVolume(_ volume: Double) {
        let steps = volume - (knownVolume ?? volume)
        mailbox.request { $0.audioControl.changeOwnVolumes(by: steps) }
        changeVolumes { $0.setMasterVolume(volume) }
    }

    /// Changes the volume of all outputs by the number of decibels that these steps of the master volume amount to. Any
    /// thread.
    public func changeVolume(by steps: Double) {
        mailbox.request { $0.audioControl.changeOwnVolumes(by: steps) }
        changeVolumes { $0.changeVolume(by: steps) }
    }

    /// Returns the volume of an output, 0…130; its owner's level if none was set. Any thread.
    public func volume(of output: any AudioOutput) -> Double { knownVolume(of: output) ?? 100 }

    /// The volume of an output, of the main track or of an additional one; nil while it is unknown. Any thread.
    package func knownVolume(of output: any AudioOutput) -> Double? {
        (addedTrack(of: output)?.group ?? outputs)?.knownVolume(of: output)
    }

    /// Sets the volume of an output, 0…130; stored for an output that does not play. Any thread.
    public func setVolume(_ volume: Double, of output: any AudioOutput) {
        guard let (number, group) = addedTrack(of: output) else {
            return changeVolumes { $0.setVolume(volume, of: output) }
        }
        mailbox.post { engine in
            group.setVolume(volume, of: output)
            engine.audioControl.recordVolume(group.volume, ofTrack: number)
        }
    }

    /// Returns the channels that an output plays. Any thread.
    public func channels(of output: any AudioOutput) -> ChannelSelection {
        (addedTrack(of: output)?.group ?? outputs)?.channels(of: output) ?? .whole
    }

    /// Sets the channels that an output plays: the whole by default, or a part, such as those of a stereo pair of two
    /// speakers; stored for an output that does not play. A change during playback interrupts this output only. Any
    /// thread.
    public func setChannels(_ channels: ChannelSelection, of output: any AudioOutput) {
        outputs?.setChannels(channels, of: output)
        addedTrack(of: output)?.group.setChannels(channels, of: output)
    }

    /// Returns the additional track that plays on an output; nil if there is none.
    private func addedTrack(of output: any AudioOutput) -> (number: Int, group: OutputGroup)? {
        // A refused track is among them.
        if outputs?.members.contains(where: { $0 === output }) == true { return nil }
        return addedAudio.withLock { $0.groups }.filter { $0.value.members.contains { $0 === output } }
            .min { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Mutes an output without a change of its volume; stored for an output that does not play. Any thread.
    package func setMuted(_ isMuted: Bool, of output: any AudioOutput) { outputs?.setMuted(isMuted, of: output) }

    private func changeVolumes(_ change: (OutputGroup) -> Void) {
        guard let outputs else { return }
        change(outputs)
        guard let volume = outputs.knownVolume else { return }
        mailbox.request { $0.audioControl.setVolume(volume) }
    }
}

/// AVFoundation's name for a player of several items.
public typealias QueuePlayer = Player

extension PlayerState {
    /// Adds the state of the outputs.
    mutating func describe(_ outputs: OutputGroup, isRunning: Bool) {
        audioRoute = outputs.name
        let known = outputs.knownVolume
        (volume, isVolumeKnown) = (known ?? 100, known != nil)
        // The start is announced and the slowest output's lead is passing.
        if phase == .playing, !isRunning { reason = outputs.wait?.description }
        routeChange =
            switch outputs.changeProgress {
            case .waiting(let wait): wait.description
            case .filling: "synchronizing the new output"
            case .changing: "switching outputs"
            case nil: nil
            }
    }
}

extension Player.Components {
    /// Wraps the output in a group, unless it is one, so that it can be replaced during playback.
    mutating func joinOutputs(_ options: PlayerOptions) -> OutputGroup? {
        guard options.playsAudio, let output = audioOutput else { return nil }
        let group = output.group(codecs: codecs)
        audioOutput = group
        if let volume = options.volume { group.setVolume(volume) }
        return group
    }
}
