internal import MediaCore
internal import SyncRendering

/// Starts are the synchronizer's: it waits for material and outputs, starts when the last of them is ready, and holds film again
/// when an output is lost before its first sound, or the machine was suspended. What follows is the player's own: what it does
/// not wait for, and what it tells.
extension PlaybackEngine {
    /// Sound that does not come within this time is joined later rather than waited for.
    private static let patience: Duration = .seconds(8)

    /// Asks for the start of a jump that has found its place; nothing happens when that was done.
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

    /// Whether the film has been started; otherwise says whom it waits for, unless the player goes without them.
    func hasStarted(_ jump: inout Jump, isPictureReady: Bool) -> Bool {
        guard let start = synchronizer.pendingStart else { return true }
        if let instant = start.notBefore, instant > jump.began {
            // Outputs begin anew, and are given as long as at first.
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

    /// Whether a start does not wait for sound: there is none, it is to be joined later, or it has been waited for long enough.
    func goesWithoutSound(_ jump: Jump) -> Bool {
        if !expectsSound || options.startPolicy == .picture { return true }
        // A film that goes on has nothing to collect while it is not known what follows.
        if jump.resumes, shared.isWaiting(.sound) { return true }
        // Sound that its source has not delivered is not late: the film waits for it as it does in its middle.
        return parts.clock.now - jump.began >= Self.patience && !isSoundAwaited
    }

    /// The film has sound that can be played.
    var expectsSound: Bool { renderer != nil && audio != nil && !soundIsLost && current?.audioTrack != nil }

    /// The film passes from the jump's target on, or will in a moment.
    func noteStart(of jump: Jump) {
        self.jump = nil
        progress.arm(false)
        if !jump.resumes { news(.sought(jump.target - state.lineOffset)) }
        hasBegun = true
        noteReturn()
        enter(.playing)
        announce(isJoined: false)
    }

    /// A film that stands goes on, as soon as everybody can.
    func resume() {
        if buffering.isHolding { return hold() }
        synchronizer.setRate(Float(speed))
        if let start = synchronizer.pendingStart { wait(for: start) } else { enter(.playing) }
    }

    /// The synchronizer has stopped film by itself, and will start it when it can.
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

    /// “waiting for Kitchen's clock, about 1.2 s”
    func give(reason wait: OutputWait?) {
        if let wait, wait.cause == .picture || wait.cause == .sound, let jump, tellIfSlow(jump) { return }
        let reason = wait?.description
        guard state.reason != reason || state.bufferingProgress != nil else { return }
        var state = state
        (state.reason, state.bufferingProgress) = (reason, nil)
        self.state = state
    }
}

/// Wakes the player when the timeline changes: the synchronizer starts, stops and renews it by itself.
final class TimelineWatch: RenderSynchronizer.Follower {
    private let signal: Signal

    init(_ signal: Signal) { self.signal = signal }

    func timebaseDidChange(_ snapshot: TimebaseSnapshot) { signal.raise() }
    var startLead: Duration { .zero }
    var stopLead: Duration { .zero }
}
