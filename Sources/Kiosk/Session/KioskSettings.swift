/// The configuration of a kiosk, and the values of its start that remain in force. Used on the kiosk's thread only.
final class KioskSettings {
    /// A change of the configuration that is to be applied.
    enum Change: Sendable {
        case loops
        /// A start that has not come yet.
        case start
        case imageDuration
        case mode
        case slate
    }

    /// The current configuration.
    private(set) var configuration: KioskConfiguration
    /// The configuration of the start: the values in force of keys that change at the next start only.
    private var inForce: KioskConfiguration

    init(_ configuration: KioskConfiguration) { (self.configuration, inForce) = (configuration, configuration) }

    /// The configured start in force. A wall counts its time from it.
    var start: KioskConfiguration.Start { inForce.start }
    /// Whether the kiosk was started with an operator's dashboard.
    var hasOperatorScreen: Bool { inForce.operatorScreen != nil }

    /// Replaces the configuration. Returns the changes to apply, in this order.
    ///
    /// - Parameter movesStart: Whether a changed start takes effect at once.
    func replace(with fresh: KioskConfiguration, movesStart: Bool) -> [Change] {
        let old = configuration
        configuration = fresh
        let isStartChanged = movesStart && fresh.start != old.start && fresh.start != inForce.start
        if isStartChanged { inForce.start = fresh.start }
        let changes: [(change: Change, isMade: Bool)] = [
            (.loops, fresh.loops != old.loops), (.start, isStartChanged),
            (.imageDuration, fresh.imageDuration != old.imageDuration), (.mode, fresh.mode != old.mode),
            (.slate, fresh.slate != old.slate),
        ]
        return changes.filter(\.isMade).map(\.change)
    }

    /// Returns the changed keys that take effect at the next start, in the order of the guide.
    ///
    /// - Parameter hasAudioOutputs: False for a kiosk that started silent.
    func keysThatWait(hasAudioOutputs: Bool) -> [String] {
        let fresh = configuration
        let isChanged: [(key: String, waits: Bool)] = [
            ("speakers", !hasAudioOutputs && fresh.hasAudio),
            ("screen", fresh.screen != inForce.screen),
            ("operator_screen", fresh.operatorScreen != inForce.operatorScreen),
            ("start_at", fresh.start != inForce.start),
            ("metrics", fresh.metrics != inForce.metrics),
            ("control", fresh.controlGroup != inForce.controlGroup), ("remote", fresh.remote != inForce.remote),
            ("timeline", fresh.timeline != inForce.timeline),
            ("wall", fresh.wall != inForce.wall), ("fleet", fresh.fleet != inForce.fleet),
        ]
        return isChanged.filter(\.waits).map(\.key)
    }
}
