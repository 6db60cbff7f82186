internal import MediaCore
internal import SyncRendering

extension PlayerCore {
    /// A start that was announced, picture and sound together, and is not perceived yet.
    struct PendingStart {
        var instant: HostInstant
        /// How often it has been put off or taken back.
        var changes = 0
    }

    /// An output whose readiness comes and goes shall not hold a film for ever.
    private static let mostChanges = 5

    /// Lets the film pass from this moment on, as soon as the slowest output can.
    func startTime(at moment: MediaTime) {
        // A little more than the slowest output asks for: this thread, too, may be late.
        let lead = synchronizer.startLead + .milliseconds(3)
        synchronizer.setRate(speed, time: moment, atHostTime: parts.clock.now.advanced(by: lead))
        hasBegun = true
        enter(.playing)
    }

    /// From here on the announced start is watched until it is perceived.
    func awaitStart() {
        guard let start = synchronizer.timebase.snapshot.scheduled else { return }
        pendingStart = PendingStart(instant: start.hostAnchor, changes: pendingStart?.changes ?? 0)
    }

    /// Waits for the sound once more, with all that has been read and decoded for this moment.
    func hold(at moment: MediaTime) {
        synchronizer.setRate(0, time: moment)
        jump = Jump(
            target: moment, serial: serial, isExact: true, movesPicture: false, soundFollowsPicture: false,
            began: parts.clock.now)
        progress.arm(true)
        enter(.buffering)
    }

    /// A speaker may be lost before its first sound, or may need longer for the clock than it seemed: the picture is
    /// held again, so that neither the first sample nor the first picture is lost.
    func keepStart() {
        guard let pending = pendingStart else { return }
        guard state.phase == .playing, let start = synchronizer.timebase.snapshot.scheduled, let renderer,
            !soundIsLost, start.hostAnchor == pending.instant, start.hostAnchor > parts.clock.now,
            pending.changes < Self.mostChanges
        else {
            if state.phase != .buffering { pendingStart = nil }
            return
        }
        let status = renderer.status
        if !status.isReadyToStart {
            pendingStart?.changes += 1
            hold(at: start.mediaAnchor)
        } else if let earliest = status.earliestStart, earliest > start.hostAnchor {
            pendingStart?.changes += 1
            startTime(at: start.mediaAnchor)
            awaitStart()
        }
    }
}
