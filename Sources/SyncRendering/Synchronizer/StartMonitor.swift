import MediaCore

/// Monitors an announced start until it occurs. A speaker may be lost before its first audio, or may need longer to
/// synchronize its clock. The start is then withdrawn, so that neither the first sample nor the first video frame is
/// lost.
struct StartMonitor: Sendable {
    /// What to do with the announced start.
    enum Verdict: Equatable {
        /// No change.
        case leave
        /// Withdraw it and wait for the outputs again.
        case hold(at: MediaTime)
        /// Announce a later start.
        case putOff(at: MediaTime)
    }

    /// An output whose readiness fluctuates must not delay the start forever.
    private static let maxChanges = 5

    /// The instant of the monitored start; nil if there is none.
    private var instant: HostInstant?
    /// The number of withdrawals and delays so far.
    private var changes = 0
    /// Whether the last monitored start is an appointment.
    private(set) var isAppointed = false

    /// Creates a monitor without a start.
    init() {}

    /// Whether a start is monitored.
    var isWatching: Bool { instant != nil }

    /// Starts to monitor the scheduled start of a timeline.
    mutating func begin(_ snapshot: TimebaseSnapshot, isAppointed: Bool = false) {
        instant = snapshot.scheduled?.hostAnchor
        self.isAppointed = isAppointed
    }

    /// Ends the monitoring.
    mutating func end() { self = StartMonitor() }

    /// Checks the monitored start.
    ///
    /// - Parameters:
    ///   - isReady: Whether every output could meet a start.
    ///   - earliest: The latest `AudioOutput.earliestStart` of all outputs.
    mutating func verdict(
        _ snapshot: TimebaseSnapshot, isReady: Bool, earliest: HostInstant?, now: HostInstant
    ) -> Verdict {
        guard let instant else { return .leave }
        guard let start = snapshot.scheduled, start.hostAnchor == instant, instant > now, changes < Self.maxChanges
        else {
            end()
            return .leave
        }
        let isLate = earliest.map { $0 > instant } ?? false
        guard isLate || !isReady else { return .leave }
        changes += 1
        self.instant = nil
        return isReady ? .putOff(at: start.mediaAnchor) : .hold(at: start.mediaAnchor)
    }
}
