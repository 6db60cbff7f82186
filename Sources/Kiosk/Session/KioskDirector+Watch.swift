internal import LocalOutput
internal import MediaCore
internal import Playback
internal import SyncRendering
internal import Telemetry

// Whether pictures and sound get where they should, and what is done where they do not.
extension KioskDirector {
    func watchOver(at now: HostInstant) {
        liveness.note(lookAtItself(), at: now)
        if let count = leftOut.note(
            total: stage.distributor.statistics.droppedFrames, isExpected: liveness.verdict == .alive, at: now)
        {
            stage.log.say(
                .warning, "\(count) pictures came too late and were left out; the picture is in step again",
                KioskNote(.fault))
        }
        guard case .stalled(let cause, let since) = liveness.verdict, let stage = ladder.next(for: cause, at: now)
        else {
            return
        }
        let time = Decimals.text((now - since).inSeconds, 0)
        self.stage.log.say(
            .error, "\(cause.rawValue) since \(time) s: \(stage.words)", KioskNote(.repair, stage: "\(stage)"))
        repairs[stage, default: 0] += 1
        repair(stage, because: cause)
        liveness.forgive(at: now)
    }

    private func lookAtItself() -> Liveness.Beat {
        let state = stage.player.state
        let layer = stage.player.layer
        let moment = stage.player.synchronizer.currentTime()
        var beat = Liveness.Beat()
        beat.isExpected = isPlaying && !isWaiting && state.phase != .paused
        beat.turns = state.turns
        beat.isCollecting = state.phase != .playing || stage.player.synchronizer.timebase.rate == 0
        beat.hasPicture = state.hasVideo && stage.screen?.status.isVisible == true
        beat.shown = stage.screen?.status.shown ?? 0
        beat.pictureOverdue = layer.nextTime.map { (moment - $0).duration }
        beat.isStarved = layer.count == 0 && !state.picturesAreRead
        beat.hasSound = state.hasAudio && sound?.places != nil && stage.player.outputs?.failure == nil
        if !state.soundIsRead { beat.soundAhead = ((state.handedUntil ?? .zero) - moment).duration }
        return beat
    }

    private func repair(_ stage: RepairLadder.Stage, because cause: Liveness.Cause) {
        let player = self.stage.player
        switch stage {
        case .anchor:
            if cause == .collecting || wall != nil { open() } else { player.seek(to: player.state.position) }
        case .route:
            sound?.reopen()
            open(at: cause == .collecting ? nil : player.state.position)
        case .window: remakeWindow()
        case .exit: end(.needsRestart(cause.rawValue))
        }
    }

    private func remakeWindow() { stage.screen?.remake() }
}
