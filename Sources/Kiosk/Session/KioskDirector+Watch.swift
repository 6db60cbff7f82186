internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import Storage
internal import Telemetry

// Detection of stalls, and repairs.
extension KioskDirector {
    /// Evaluates one observation and runs the repair that is due. Called once per `beat`.
    func watchOver(at now: HostInstant) {
        let beat = Liveness.Beat(
            of: stage.player, screen: stage.screen?.status, isExpected: isPlaying && !isWaiting && !isHeld,
            isAudible: sound?.places != nil, isWall: rules == .wall)
        let outcome = watch.observe(
            beat, droppedFrames: stage.distributor.statistics.droppedFrames, item: watchedItem, at: now)
        if let count = outcome.droppedFrames {
            stage.log.say(
                .warning, "\(count) pictures were late and dropped; the picture is in sync again",
                KioskNote(.fault))
        }
        if outcome.isHealthy, let current { exclusions.noteProgress(of: current, at: now) }
        if let repair = outcome.repair { run(repair) }
    }

    private var watchedItem: RepairLadder.Item? {
        guard let current else { return nil }
        let address = current.address
        let isListed = items.contains(address)
        let hasOther = rules.allowsSeeking && (items.count > 1 || !isListed || !configuration.loops)
        return RepairLadder.Item(
            address, isRemote: InputCheck.isAddress(address), hasOther: hasOther,
            hasFailed: exclusions.hasFailed(current))
    }

    private func run(_ repair: PlaybackWatch.Repair) {
        stage.log.say(
            .error,
            "\(repair.cause.rawValue) for \(Decimals.text(repair.duration.inSeconds, 0)) s: \(repair.stage.words)",
            KioskNote(.repair, item: repair.item, stage: repair.stage.name))
        let player = stage.player
        switch repair.stage {
        case .anchor:
            if repair.cause == .waiting || !rules.allowsSeeking {
                open()
            } else {
                player.seek(to: player.state.position)
            }
        case .route:
            sound?.reopen()
            open(at: repair.cause == .waiting ? nil : player.state.position)
        case .next: passOver(for: repair.cause)
        case .window:
            exclusions.forgiveStuck()
            stage.screen?.remake()
        case .exit:
            endsForFault = true
            end(.needsRestart(repair.cause.rawValue))
        }
    }
}
