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
        var seen = HealthReporter.Observation(shown: situation.shown)
        let player = stage.player
        let outputs = stage.distributor.outputs
        seen.isWindowVisible = isWaiting ? nil : screen.isVisible
        seen.isHeard = isHeard
        seen.stall = watch.fault
        (seen.outputProblems, seen.skippedItems) = (sound?.problems ?? [], exclusions.sentences)
        seen.isWall = rules == .wall
        seen.statistics = stage.distributor.statistics
        let known = Dictionary(outputs.all.map { ($0.output.index, $0) }) { first, _ in first }
        seen.outputs = player.audioOutputs.map { output in
            (output.name, player.outputs?.number(of: output).flatMap { known[$0] })
        }
        seen.skew = outputs.skew
        // The buffer of a lost output is still filled.
        seen.lastSound = outputs.all.filter { !$0.isLost }.compactMap(\.accepted).max()
        seen.restarts = resume.restarts
        seen.repairs = watch.repairs
        if isPlaying { seen.position = player.state.position }
        let health = reporter.health(of: seen, at: now)
        stage.health.withLock { $0 = health }
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
        guard isPlaying, rules.allowsWaiting, let current, let since = watch.waitingSince,
            now - since >= Presence.tolerance
        else { return nil }
        return InputCheck.isAddress(current.address) ? "the network" : "the disk"
    }
}
