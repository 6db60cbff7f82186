internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import Storage
internal import SyncRendering
internal import Telemetry

// Health, as published to metrics, fleet and operator.
extension KioskDirector {
    /// Publishes the health.
    func tellHealth(at now: HostInstant) {
        var health = KioskHealth(at: now, shown: whatIsShown, uptime: now - began, configuration: loaded)
        let player = stage.player
        let statistics = stage.distributor.statistics
        let outputs = stage.distributor.outputs
        presence.note(
            shown: statistics.shownFrames, lastShown: statistics.lastShown,
            isVisible: isScreenAttached && !isWaiting ? stage.screen?.status.isVisible : nil, isHeard: isHeard, at: now)
        health.fault = presence.fault(at: now)
        if health.fault == nil, let (cause, since) = liveness.fault {
            health.fault = "\(cause.rawValue) for \(Decimals.text((now - since).inSeconds, 0)) s"
        }
        health.degradations = (sound?.problems ?? []) + exclusions.sentences
        if wall != nil, !exclusions.sentences.isEmpty {
            health.degradations.append("this screen is out of sync with its wall while it skips films of the list")
        }
        health.skippedItems = exclusions.sentences.count
        health.sincePicture = presence.lastPicture.map { max(.zero, now - $0) }
        health.sinceSound = outputs.all.compactMap(\.accepted).max().map { max(.zero, now - $0) }
        health.offset = statistics.offset
        health.skew = outputs.skew
        health.pictures = presence.pictures
        health.dropped = statistics.droppedFrames
        let known = Dictionary(outputs.all.map { ($0.output.index, $0) }) { first, _ in first }
        health.outputs = player.audioOutputs.map { output in
            var told = KioskHealth.Output(output.name)
            guard let heard = player.outputs?.number(of: output).flatMap({ known[$0] }) else { return told }
            (told.isConnected, told.error) = (!heard.isLost, heard.error)
            // The amount buffered by a lost speaker is unknown.
            told.buffered = heard.isLost ? nil : heard.buffered
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

    /// Whether an output receives the audio of the current film; nil if no audio is expected.
    private var isHeard: Bool? {
        let state = stage.player.state
        guard isPlaying, !isWaiting, !isHeld, state.phase == .playing, state.hasAudio, let sound,
            !shown.programme.speakers.isEmpty
        else { return nil }
        return sound.places != nil && stage.player.outputs?.failure == nil
    }

    /// The source that playback waits for; nil while it does not wait, or for less than `Presence.tolerance`.
    var awaitedSource: String? {
        guard isPlaying, wall == nil, let queue, let since = liveness.waitingSince, now - since >= Presence.tolerance
        else { return nil }
        return InputCheck.isAddress(queue.current.address) ? "the network" : "the disk"
    }

    private var whatIsShown: KioskHealth.Shown {
        if shown.isQuiet { return .off("quiet hours\(quietEnd)") }
        if let beginsAt { return .off("starts at \(stage.calendar.local(beginsAt).time.words)") }
        if case .asked? = slate { return .slate }
        if case .nothing(let reason)? = slate { return .nothing(reason ?? "no films have been found yet") }
        if isHeld { return .paused }
        if let source = awaitedSource, let queue { return .waiting("\(source): '\(Self.name(of: queue.current))'") }
        return isPlaying ? .playing : .nothing("no films have been found yet")
    }
}
