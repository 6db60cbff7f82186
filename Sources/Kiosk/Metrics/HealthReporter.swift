internal import MediaCore
internal import SyncRendering
internal import Telemetry

/// Composes the health of a kiosk from observations. A value; the caller provides observations and the time.
struct HealthReporter: Sendable {
    /// What was observed.
    struct Observation: Sendable {
        var shown: KioskHealth.Shown
        /// Whether the window is on a display; nil if no window is wanted.
        var isWindowVisible: Bool?
        /// Whether an output has the audio; nil if no audio is expected.
        var isHeard: Bool?
        /// The stall that `PlaybackWatch` detected.
        var stall: (cause: Liveness.Cause, since: HostInstant)?
        /// Sentences about the wanted outputs that do not play.
        var outputProblems: [String] = []
        /// Sentences about items that are skipped.
        var skippedItems: [String] = []
        /// Sentences about items of which a part was missing the last time.
        var incompleteItems: [String] = []
        /// The number of playbacks that were missing or incomplete.
        var problemCount = 0
        var isWall = false
        var statistics = PlaybackStatistics()
        /// The names of the outputs, with their statistics if known.
        var outputs: [(name: String, statistics: OutputStatistics?)] = []
        var skew: Duration?
        /// When a connected output last accepted audio; nil without one.
        var lastAudio: HostInstant?
        var restarts = 0
        var repairs: [RepairLadder.Stage: Int] = [:]
        /// The media time of the item; nil unless it plays.
        var position: MediaTime?
    }

    /// When the kiosk was started.
    private let began: HostInstant
    private var presence = Presence()
    private var lastAudio: HostInstant?
    private var item: KioskHealth.Item?
    private var configuration: KioskHealth.Configuration

    /// Creates a reporter at the start of a kiosk, which has loaded its configuration.
    init(at now: HostInstant, wall: WallTime) {
        began = now
        configuration = KioskHealth.Configuration(loaded: wall)
    }

    /// Records the item that has started.
    mutating func setItem(_ item: KioskHealth.Item) { self.item = item }

    /// Records a configuration that is in force.
    mutating func recordConfiguration(at now: WallTime) { (configuration.loaded, configuration.refusal) = (now, nil) }

    /// Records a configuration with mistakes.
    mutating func recordRefusal(_ sentence: String?) {
        configuration.refusals += 1
        configuration.refusal = sentence
    }

    /// Processes one observation, about once per second, and returns the health.
    mutating func health(of seen: Observation, at now: HostInstant) -> KioskHealth {
        var health = KioskHealth(at: now, shown: seen.shown, uptime: now - began, configuration: configuration)
        presence.observe(
            shown: seen.statistics.shownFrames, lastShown: seen.statistics.lastShown, isVisible: seen.isWindowVisible,
            isHeard: seen.isHeard, at: now)
        health.fault =
            presence.fault(at: now)
            ?? seen.stall.map { "\($0.cause.rawValue) for \(Decimals.text((now - $0.since).inSeconds, 0)) s" }
        health.degradations = seen.outputProblems + seen.skippedItems + seen.incompleteItems
        health.problemCount = seen.problemCount
        if seen.isWall, !seen.skippedItems.isEmpty {
            health.degradations.append("this screen is out of sync with its wall while it skips films of the list")
        }
        health.skippedItems = seen.skippedItems.count
        health.sinceFrame = presence.lastFrame.map { max(.zero, now - $0) }
        lastAudio = seen.lastAudio ?? lastAudio
        health.sinceAudio = lastAudio.map { max(.zero, now - $0) }
        health.offset = seen.statistics.offset
        health.skew = seen.skew
        health.frames = presence.frames
        health.dropped = seen.statistics.droppedFrames
        health.outputs = seen.outputs.map { name, statistics in
            var output = KioskHealth.Output(name)
            guard let statistics else { return output }
            (output.isConnected, output.error) = (!statistics.isLost, statistics.error)
            // The amount buffered by a lost speaker is unknown.
            output.buffered = statistics.isLost ? nil : statistics.buffered
            (output.underruns, output.clock) = (statistics.underruns, statistics.clock)
            return output
        }
        health.restarts = seen.restarts
        health.repairs = Dictionary(uniqueKeysWithValues: seen.repairs.map { ($0.key.name, $0.value) })
        health.item = item
        if let position = seen.position { health.item?.position = position }
        return health
    }
}
