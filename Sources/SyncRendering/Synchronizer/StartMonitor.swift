package import MediaCore

/// Watches a start that was announced until it is perceived: a speaker may be lost before its first sound, or may need
/// longer for the clock than it seemed. Then everything is held again, so that neither the first sample nor the first
/// picture is lost.
package struct StartMonitor: Sendable {
    /// What is to be done about the announced start.
    package enum Verdict: Equatable {
        case leave
        /// Taken back: the outputs have to be waited for once more.
        case hold(at: MediaTime)
        /// Announced anew, later.
        case putOff(at: MediaTime)
    }

    /// An output whose readiness comes and goes shall not hold a film for ever.
    private static let mostChanges = 5

    private var instant: HostInstant?
    private var changes = 0
    /// The start that is watched, or was last, is an appointment.
    private(set) var isAppointed = false

    package init() {}

    package var isWatching: Bool { instant != nil }

    /// From here on the start that lies ahead is watched.
    package mutating func begin(_ snapshot: TimebaseSnapshot, isAppointed: Bool = false) {
        instant = snapshot.scheduled?.hostAnchor
        self.isAppointed = isAppointed
    }

    /// There is nothing to watch any more.
    package mutating func end() { self = StartMonitor() }

    /// Looks at the start once more.
    ///
    /// - Parameters:
    ///   - isReady: every output could keep a start.
    ///   - earliest: the latest `AudioOutput.earliestStart` of all.
    package mutating func verdict(
        _ snapshot: TimebaseSnapshot, isReady: Bool, earliest: HostInstant?, now: HostInstant
    ) -> Verdict {
        guard let instant else { return .leave }
        guard let start = snapshot.scheduled, start.hostAnchor == instant, instant > now, changes < Self.mostChanges
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
