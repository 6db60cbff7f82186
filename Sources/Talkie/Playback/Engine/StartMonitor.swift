internal import MediaCore
internal import SyncRendering

/// Watches a start that was announced until it is perceived: a speaker may be lost before its first sound, or may need
/// longer for the clock than it seemed. Then everything is held again, so that neither the first sample nor the first
/// picture is lost.
struct StartMonitor {
    /// What is to be done about the announced start.
    enum Verdict: Equatable {
        case leave
        /// Taken back: the sound has to be waited for once more.
        case hold(at: MediaTime)
        /// Announced anew, later.
        case putOff(at: MediaTime)
    }

    /// An output whose readiness comes and goes shall not hold a film for ever.
    private static let mostChanges = 5

    private var instant: HostInstant?
    private var changes = 0

    var isWatching: Bool { instant != nil }

    /// From here on the start that lies ahead is watched.
    mutating func begin(_ snapshot: TimebaseSnapshot) { instant = snapshot.scheduled?.hostAnchor }

    /// There is nothing to watch any more.
    mutating func end() { self = StartMonitor() }

    /// Looks at the start once more; while film is about to pass or passes.
    mutating func verdict(_ snapshot: TimebaseSnapshot, _ status: AudioRenderer.Status, now: HostInstant) -> Verdict {
        guard let instant else { return .leave }
        guard let start = snapshot.scheduled, start.hostAnchor == instant, instant > now, changes < Self.mostChanges
        else {
            end()
            return .leave
        }
        let isLate = status.earliestStart.map { $0 > instant } ?? false
        guard isLate || !status.isReadyToStart else { return .leave }
        changes += 1
        self.instant = nil
        return status.isReadyToStart ? .putOff(at: start.mediaAnchor) : .hold(at: start.mediaAnchor)
    }
}
