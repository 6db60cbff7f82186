internal import MediaCore
internal import SyncRendering

extension PlaybackEngine {
    /// Lets the film pass from this moment on, as soon as the slowest output can.
    func startTime(at moment: MediaTime) {
        synchronizer.setRate(Float(speed), time: moment, atHostTime: synchronizer.earliestStart)
        hasBegun = true
        noteReturn()
        enter(.playing)
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

    /// See `StartMonitor`.
    func keepStart() {
        guard startMonitor.isWatching else { return }
        guard state.phase == .playing, let renderer, !soundIsLost else { return startMonitor.end() }
        let status = renderer.progress
        let verdict = startMonitor.verdict(
            synchronizer.timebase.snapshot, isReady: status.isReadyToStart, earliest: status.earliestStart,
            now: parts.clock.now)
        switch verdict {
        case .leave: break
        case .hold(let moment): hold(at: moment)
        case .putOff(let moment):
            startTime(at: moment)
            startMonitor.begin(synchronizer.timebase.snapshot)
        }
    }
}
