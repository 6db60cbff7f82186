internal import MediaCore
internal import SyncRendering

/// Interruptions and changes of the route.
extension PlaybackEngine {
    // MARK: Interruptions

    /// Whether something plays, or is about to, that an interruption can pause.
    var isInterruptible: Bool { seeks.wantsPlay && (status.isUnderWay || state.phase == .opening) }

    /// Responds to the beginning of an interruption as the session requires, and reports it. No effect if one of this
    /// cause is in progress.
    func beginInterruption(_ cause: PlaybackInterruption.Cause) {
        guard !interruptions.contains(cause) else { return }
        let pauses = interruptions.add(cause, state.session.response(to: cause), isPlaying: isInterruptible)
        // Before the phase: an observer of the pause reads the cause in the state.
        publishInterruptions()
        if pauses { seeks.pause() }
        status.report(.interruption(.began(cause)))
    }

    /// Reports the end of an interruption, and resumes what it has paused if that is permitted. No effect if there is
    /// none of this cause.
    func endInterruption(_ cause: PlaybackInterruption.Cause, mayResume: Bool) {
        guard interruptions.contains(cause) else { return }
        let resumes = interruptions.remove(cause, mayResume: mayResume)
        publishInterruptions()
        status.report(.interruption(.ended(cause, mayResume: mayResume)))
        // A list that has ended meanwhile does not start again.
        if resumes, status.isUnderWay || state.phase == .opening { startOrResume() }
    }

    /// Ends the interruptions that have paused playback, because the user plays.
    func endPausingInterruptions() {
        let causes = interruptions.pausingCauses
        guard !causes.isEmpty else { return }
        // The caller starts playback.
        interruptions.cancelResume()
        for cause in causes { endInterruption(cause, mayResume: true) }
    }

    private func publishInterruptions() {
        audioControl.setDucked(interruptions.areDucking)
        status.change { $0.interruption = interruptions.latest }
    }

    // MARK: Route

    /// Reports the problems of outputs, and a change of those that are heard. The next iteration responds to it.
    ///
    /// - Parameter failure: Why all outputs of the main track have failed just now; nil: they have not.
    func reportOutputs(failure: OutputError? = nil) {
        audioControl.reportProblems()
        guard var change = audioControl.routeChange(failure: failure) else { return }
        // Sampled, so that an output which fails at once may have been open unseen.
        change.hasOpened = audioControl.hasOpenedOutput || recovery.hasBegun
        // An output that was opened again plays: its next loss is another one.
        if !change.added.isEmpty { hasReopenedOutputs = false }
        pendingRouteChange = change
        status.report(.routeChanged(change))
        mailbox.post { $0.respondToRouteChange() }
    }

    /// Responds to the reported change of the outputs, if that was not done yet.
    func respondToRouteChange() { if let change = pendingRouteChange.take() { respond(to: change) } }

    /// Whether paused playback waits for an output: `play` opens one that was taken over, another one recovers.
    var isAwaitingOutput: Bool {
        !seeks.wantsPlay
            && (interruptions.pausingCauses.contains(.takenOver) || isPausedWithoutOutput)
    }

    /// Responds to a change of the outputs that are heard as the session requires.
    private func respond(to change: PlaybackRouteChange) {
        guard change.current.isEmpty else {
            isPausedWithoutOutput = false
            // A speaker that another sender leaves after hours must not start to play in an empty room.
            let mayResume = change.reason != .newOutput || change.current.contains { !$0.kind.isRemote }
            return endInterruption(.takenOver, mayResume: mayResume)
        }
        // Outputs that never opened are not lost: the failure of the audio is handled instead.
        guard [.outputGone, .takenOver, .failed].contains(change.reason) else { return }
        guard change.hasOpened else { return }
        if change.reason == .takenOver { beginInterruption(.takenOver) }
        guard state.session.lostRoutePolicy == .pause, !interruptions.pausingCauses.contains(.takenOver) else { return }
        isPausedWithoutOutput = true
        // The end of another interruption must not resume without an output.
        interruptions.cancelResume()
        if seeks.wantsPlay { seeks.pause() }
    }
}
