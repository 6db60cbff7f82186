internal import MediaCore
internal import Profiles
public import SyncRendering

extension Player {
    /// Where the player stands: the present state at once, then each change, and four times a second while it plays.
    ///
    /// Whoever reads slowly misses states, never the last one. Any number of readers; the sequence ends with `shutDown`.
    public var states: AsyncStream<PlayerState> { board.states() }

    /// The outputs that play, or are to play; empty without sound.
    public var audioOutputs: [any AudioOutput] { outputs?.members ?? [] }

    /// Sends the sound to these outputs from now on, in mid-film: the new ones join in sync, and at the same film moment
    /// those that are left out fall silent. The film is neither stopped nor read anew; while it is paused or sought the
    /// change happens at once.
    ///
    /// An output that cannot be had is left out. When none of the new ones can be had, the old outputs play on and the result says
    /// why. A player made without sound refuses. Network speakers that are to play together must come from one `OutputRegistry`.
    public func setAudioOutputs(_ outputs: [any AudioOutput]) async -> RouteChange {
        await withCheckedContinuation { continuation in
            setAudioOutputs(outputs) { continuation.resume(returning: $0) }
        }
    }

    /// The same with a handler, which is called once, on some thread, and must return at once.
    public func setAudioOutputs(
        _ wanted: [any AudioOutput], done: @escaping @Sendable (RouteChange) -> Void
    ) {
        guard let outputs else {
            let error = OutputError(.unavailable, "This player was made without sound.")
            return done(.refused([RouteChange.Refusal(output: "sound", error: error)]))
        }
        // Before they are heard: a change would be a jump of their sound.
        calibration?.apply(to: wanted)
        outputs.change(to: wanted) { [mailbox] outcome in
            if case .changed = outcome { mailbox.post { $0.outputsHaveChanged() } }
            done(outcome)
        }
    }

    // MARK: Volumes

    /// The master volume, 0…130 (`VolumeCurve`): that of the loudest output; 100 without sound, and while no output's
    /// is known.
    public var volume: Double { outputs?.volume ?? 100 }

    /// The same; nil while no output's volume is known: speakers report their owner's when a session begins.
    package var knownVolume: Double? {
        guard let outputs else { return 100 }
        return outputs.knownVolume
    }

    /// Sets every output to one volume, 0…130, also those that join later.
    public func setVolume(_ volume: Double) { changeVolumes { $0.setVolume(volume) } }

    /// Moves all outputs by the same number of decibels, so that the loudest has this volume, 0…130.
    public func setMasterVolume(_ volume: Double) { changeVolumes { $0.setMasterVolume(volume) } }

    /// Moves all outputs by the same number of decibels: those of so many steps of the master volume.
    public func changeVolume(by steps: Double) { changeVolumes { $0.changeVolume(by: steps) } }

    /// The volume of one output, 0…130. An output whose volume was never set has the level that its owner left.
    public func volume(of output: any AudioOutput) -> Double { outputs?.volume(of: output) ?? 100 }

    /// Sets the volume of one output, 0…130; kept for an output that does not play now.
    public func setVolume(_ volume: Double, of output: any AudioOutput) {
        changeVolumes { $0.setVolume(volume, of: output) }
    }

    /// Silences one output without a change of its volume; kept for an output that does not play now.
    package func setMuted(_ isMuted: Bool, of output: any AudioOutput) { outputs?.setMuted(isMuted, of: output) }

    private func changeVolumes(_ change: (OutputGroup) -> Void) {
        guard let outputs else { return }
        change(outputs)
        guard let volume = outputs.knownVolume else { return }
        mailbox.post { $0.setVolume(volume) }
    }
}

/// AVFoundation's name for a player of several items; here every player is one.
public typealias QueuePlayer = Player

extension AudioOutput {
    /// Whether packets may reach a speaker as they are; see `AudioRenderer.allowsPassThrough`.
    func allowPassThrough(_ allowed: Bool) { (self as? OutputGroup)?.allowsPassThrough = allowed }
}

extension PlayerState {
    /// What the outputs say of themselves.
    mutating func describe(_ outputs: OutputGroup, isRunning: Bool) {
        audioRoute = outputs.name
        volume = outputs.volume
        // The start is decided, and lies as far ahead as the slowest output wants.
        if phase == .playing, !isRunning { reason = outputs.wait?.description }
        routeChange =
            switch outputs.changeProgress {
            case .waiting(let wait): wait.description
            case .filling: "bringing the new output up to the film"
            case .changing: "changing over"
            case nil: nil
            }
    }
}

extension Player.Parts {
    /// Puts the output into a group of its own, unless it is one, so that it can be exchanged while it plays.
    mutating func joinOutputs(_ options: PlayerOptions) -> OutputGroup? {
        guard options.playsAudio, let output = audioOutput else { return nil }
        let group = output as? OutputGroup ?? OutputGroup(members: [output], codecs: codecs)
        audioOutput = group
        if let volume = options.volume { group.setVolume(volume) }
        return group
    }
}

extension PlaybackEngine {
    /// Reports outputs that have fallen silent or refuse the volume, and those that are well again.
    func reportOutputs() {
        guard let renderer, renderer.progress.enqueuedUntil != nil || !state.outputProblems.isEmpty else { return }
        let problems = (parts.audioOutput as? OutputGroup)?.problems ?? Self.problem(of: parts.audioOutput)
        let before = state.outputProblems
        guard problems != before else { return }
        state.outputProblems = problems
        for problem in before where !problems.contains(where: { $0.isSame(as: problem) }) {
            news(.outputRecovered(problem))
        }
        for problem in problems where !before.contains(where: { $0.isSame(as: problem) }) {
            news(.outputProblem(problem))
        }
    }

    private static func problem(of output: (any AudioOutput)?) -> [OutputProblem] {
        output.flatMap { OutputProblem($0, OutputID(0), loss: $0.loss) }.map { [$0] } ?? []
    }

    /// An output that had been lost plays again by itself, with the sound that it missed.
    func soundIsBack() { if renderer?.progress.hasFailed == false { soundIsLost = false } }

    /// Other outputs play. Where the sound had been given up, it begins again.
    func outputsHaveChanged() {
        guard let renderer, audio != nil else { return }
        guard soundIsLost || renderer.progress.hasFailed else { return }
        soundIsLost = false
        switch state.phase {
        case .playing, .paused, .buffering:
            begin(at: filmMoment, exact: true, movesPicture: jump?.movesPicture ?? false)
        case .idle, .opening, .ended, .failed: break
        }
    }
}

extension OutputProblem {
    /// Whether it is the same problem, whatever is said about it by now.
    fileprivate func isSame(as other: OutputProblem) -> Bool { output == other.output && kind == other.kind }
}
