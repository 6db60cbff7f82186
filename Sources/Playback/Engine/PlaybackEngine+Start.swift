internal import MediaCore
internal import SyncRendering

/// Starts of playback. The synchronizer waits for media and outputs and starts once all are ready. It holds the
/// timeline again if an output is lost before its first audio, or after a suspension. This extension decides what the
/// player does not wait for, and reports.
extension PlaybackEngine {
    /// Audio that takes longer does not delay a start and joins later.
    private static let patience: Duration = .seconds(8)

    /// Commands the start of a seek that has reached its target, once.
    func commandStart(of jump: inout Jump) {
        guard !jump.isCommanded else { return }
        jump.isCommanded = true
        self.jump = jump
        if jump.resumes {
            synchronizer.setRate(Float(speed))
        } else if let instant = jump.appointment {
            synchronizer.setRate(Float(speed), time: jump.target, byAppointment: instant)
        } else {
            synchronizer.setRate(Float(speed), time: jump.target)
        }
    }

    /// Returns true if playback has started; otherwise reports the wait, unless the player starts without it.
    func hasStarted(_ jump: inout Jump, isPictureReady: Bool) -> Bool {
        guard let start = synchronizer.pendingStart else { return true }
        if let instant = start.notBefore, instant > jump.began {
            // Outputs restart and receive the initial timeout again.
            jump.began = instant
            self.jump = jump
        }
        let goesWithoutSound = goesWithoutSound(jump)
        let isTime = start.notBefore.map { parts.clock.now >= $0 } ?? true
        let isExcused = start.waits.allSatisfy { $0.cause == .picture ? isPictureReady : goesWithoutSound }
        guard isTime, isExcused, !start.waits.isEmpty else {
            give(reason: start.waits.first)
            return false
        }
        let (time, instant) = start.beginning(
            from: goesWithoutSound ? synchronizer.soonestStart : synchronizer.earliestStart)
        synchronizer.setRate(start.rate, time: time, atHostTime: instant)
        return true
    }

    /// Returns true if a start does not wait for audio: there is none, it joins later, or the timeout has passed.
    func goesWithoutSound(_ jump: Jump) -> Bool {
        if !expectsSound || options.startPolicy == .picture { return true }
        // Resumed playback has nothing to collect while its successor is unknown.
        if jump.resumes, shared.isWaiting(.sound) { return true }
        // Audio that its source has not delivered is not late: playback waits for it as during a hold.
        return parts.clock.now - jump.began >= Self.patience && !isSoundAwaited
    }

    /// Whether the item has playable audio.
    var expectsSound: Bool { renderer != nil && audio != nil && !soundIsLost && current?.audioTrack != nil }

    /// Ends a seek: the timeline runs from its target, or will within the lead.
    func noteStart(of jump: Jump) {
        self.jump = nil
        progress.arm(false)
        if !jump.resumes { news(.sought(jump.target - state.lineOffset)) }
        hasBegun = true
        noteReturn()
        enter(.playing)
        announce(isJoined: false)
    }

    /// Resumes paused playback once all renderers are ready.
    func resume() {
        if buffering.isHolding { return hold() }
        synchronizer.setRate(Float(speed))
        if let start = synchronizer.pendingStart { wait(for: start) } else { enter(.playing) }
    }

    /// Detects that the synchronizer has stopped the timeline and will restart it.
    func noteHold() {
        guard state.phase == .playing, jump == nil, synchronizer.effectiveRate == 0,
            let start = synchronizer.pendingStart
        else { return }
        wait(for: start)
    }

    private func wait(for start: PendingStart) {
        jump = Jump(
            target: start.time ?? synchronizer.currentTime(), serial: serial, isExact: true, movesPicture: false,
            soundFollowsPicture: false, began: parts.clock.now, isCommanded: true, resumes: true)
        progress.arm(true)
        if let jump { state.position = max(.zero, jump.target - state.lineOffset) }
        enter(.buffering)
    }

    /// Reports the reason of a wait: “waiting for Kitchen's clock, about 1.2 s”.
    func give(reason wait: OutputWait?) {
        if let wait, wait.cause == .picture || wait.cause == .sound, let jump, tellIfSlow(jump) { return }
        let reason = wait?.description
        guard state.reason != reason || state.bufferingProgress != nil else { return }
        var state = state
        (state.reason, state.bufferingProgress) = (reason, nil)
        self.state = state
    }
}

/// Wakes the player when the synchronizer starts, stops or restarts the timeline. Any thread.
final class TimelineWatch: RenderSynchronizer.Follower {
    private let signal: Signal

    init(_ signal: Signal) { self.signal = signal }

    func timebaseDidChange(_ snapshot: TimebaseSnapshot) { signal.raise() }
    var startLead: Duration { .zero }
    var stopLead: Duration { .zero }
}
