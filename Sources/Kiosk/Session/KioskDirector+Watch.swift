internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import Storage
internal import SyncRendering
internal import Telemetry

// Detection of stalls, and repairs.
extension KioskDirector {
    /// Evaluates one observation and runs the repair that is due. Called once per `beat`.
    func watchOver(at now: HostInstant) {
        liveness.note(observe(), at: now)
        if let count = leftOut.note(
            total: stage.distributor.statistics.droppedFrames, isExpected: liveness.verdict == .alive, at: now)
        {
            stage.log.say(
                .warning, "\(count) pictures were late and dropped; the picture is in sync again",
                KioskNote(.fault))
        }
        if liveness.verdict == .alive {
            ladder.noteAlive(at: now)
            if liveness.fault == nil, let queue { exclusions.noteProgress(of: queue.current, at: now) }
        }
        guard let (cause, since) = stall(at: now), let item = itemAtFault(at: now),
            let stage = ladder.next(for: cause, of: item, isOverdue: liveness.isOverdue(at: now), at: now)
        else { return }
        let time = Decimals.text((now - since).inSeconds, 0)
        self.stage.log.say(
            .error, "\(cause.rawValue) for \(time) s: \(stage.words)",
            KioskNote(.repair, item: item.address, stage: "\(stage)"))
        repairs[stage, default: 0] += 1
        liveness.forgive(at: now)
        repair(stage, because: cause)
    }

    /// Returns the cause to repair and since when it is present; nil without a stall.
    private func stall(at now: HostInstant) -> (cause: Liveness.Cause, since: HostInstant)? {
        if case .stalled(let cause, let since) = liveness.verdict { return (cause, since) }
        return liveness.isOverdue(at: now) ? liveness.fault.map { ($0.cause, $0.since) } : nil
    }

    private func itemAtFault(at now: HostInstant) -> RepairLadder.Item? {
        guard let queue else { return nil }
        let address = queue.current.address
        let hasOther = wall == nil && (queue.count > 1 || queue.item(at: address) == nil || !configuration.loops)
        return RepairLadder.Item(
            address, isRemote: InputCheck.isAddress(address),
            isArriving: liveness.hasArrived(within: RepairLadder.serverPause, at: now), hasOther: hasOther)
    }

    private func observe() -> Liveness.Beat {
        let state = stage.player.state
        let status = stage.screen?.status
        let layer = stage.player.layer
        let moment = stage.player.synchronizer.currentTime()
        let rate = stage.player.synchronizer.timebase.rate
        var beat = Liveness.Beat()
        beat.isExpected = isPlaying && !isWaiting && !isHeld && state.phase != .paused
        beat.turns = state.turns
        beat.position = state.position
        beat.isStill = state.isStill
        beat.isWaiting = state.phase != .playing || rate == 0 && (wall != nil || state.reason != nil)
        if wall != nil { beat.waitingTimeout = Self.early + Liveness.waitingTimeout }
        beat.hasPicture = state.hasVideo && status?.isVisible == true
        beat.shown = status?.shown ?? 0
        beat.picturePeriod = state.pictureFormat?.frameRate.flatMap {
            $0.numerator > 0 ? .seconds(Double($0.denominator) / Double($0.numerator)) : nil
        }
        beat.pictureOverdue = layer.nextTime.map { (moment - $0).duration }
        beat.isStarved = layer.count == 0 && !state.picturesAreRead
        beat.hasSound = state.hasAudio && sound?.places != nil && stage.player.outputs?.failure == nil
        let soundAhead = ((state.handedUntil ?? .zero) - moment).duration
        if state.soundIsRead {
            beat.isSoundPlayingOut = beat.hasSound && soundAhead > .zero
        } else {
            beat.soundAhead = soundAhead
        }
        beat.readUntil = state.soundReadUntil ?? state.loadedUntil
        beat.soundRead = beat.hasSound ? beat.readUntil : nil
        return beat
    }

    private func repair(_ stage: RepairLadder.Stage, because cause: Liveness.Cause) {
        let player = self.stage.player
        switch stage {
        case .anchor:
            if cause == .waiting || wall != nil { open() } else { player.seek(to: player.state.position) }
        case .route:
            sound?.reopen()
            open(at: cause == .waiting ? nil : player.state.position)
        case .next: passOver(for: cause)
        case .window:
            exclusions.forgiveStuck()
            remakeWindow()
        case .exit:
            endsForFault = true
            end(.needsRestart(cause.rawValue))
        }
    }

    private func remakeWindow() { stage.screen?.remake() }
}
