internal import LocalOutput
internal import MediaCore
internal import Playback
internal import SyncRendering
internal import Telemetry

// What whoever watches over it is told.
extension KioskDirector {
    func tellHealth(at now: HostInstant) {
        var health = KioskHealth(at: now, shown: whatIsShown, uptime: now - began, configuration: loaded)
        let player = stage.player
        let statistics = stage.distributor.statistics
        let outputs = stage.distributor.outputs
        if case .stalled(let cause, let since) = liveness.verdict {
            health.fault = "\(cause.rawValue) since \(Decimals.text((now - since).inSeconds, 0)) s"
        }
        health.sincePicture = statistics.lastShown.map { max(.zero, now - $0) }
        health.sinceSound = outputs.all.compactMap(\.accepted).max().map { max(.zero, now - $0) }
        health.offset = statistics.offset
        health.skew = outputs.skew
        health.pictures = statistics.shownFrames
        health.dropped = statistics.droppedFrames
        let known = Dictionary(outputs.all.map { ($0.output.index, $0) }) { first, _ in first }
        health.outputs = player.audioOutputs.map { output in
            var told = KioskHealth.Output(output.name)
            guard let heard = player.outputs?.number(of: output).flatMap({ known[$0] }) else { return told }
            (told.isConnected, told.error, told.buffered) = (!heard.isLost, heard.error, heard.buffered)
            (told.underruns, told.clock) = (heard.underruns, heard.clock)
            return told
        }
        health.restarts = max(0, kept.starts - 1)
        health.repairs = Dictionary(uniqueKeysWithValues: repairs.map { ("\($0.key)", $0.value) })
        health.item = item
        if isPlaying { health.item?.position = player.state.position }
        let made = health
        stage.health.withLock { $0 = made }
    }

    private var whatIsShown: KioskHealth.Shown {
        if shown.isQuiet { return .off("quiet hours") }
        if let beginsAt { return .off("it begins at \(stage.calendar.local(beginsAt).time.words)") }
        if case .nothing(let reason)? = slate { return .nothing(reason ?? "no films were found yet") }
        return isPlaying ? .playing : .nothing("no films were found yet")
    }
}
