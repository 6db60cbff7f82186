internal import MediaCore

/// Selects the notifications that the service manager receives. A value; the caller provides the time.
struct ServiceReport: Sendable {
    private var watchdog: Watchdog?
    private var isReady = false
    private var lastStatus = ""

    /// - Parameter watchdogTime: `ServiceManager.watchdogTime`.
    init(watchdogTime: Duration?, at now: HostInstant) { watchdog = Watchdog(timeout: watchdogTime, at: now) }

    /// When `notifications` must be called at the latest; nil without a watchdog.
    var nextDeadline: HostInstant? { watchdog?.next }

    /// Returns the notifications that are due.
    ///
    /// - Parameters:
    ///   - status: The state as one line; sent when it changes.
    ///   - isReady: Something is shown, or the reason why not is known; sent once.
    ///   - isAlive: Playback advances, or a restart would not help.
    mutating func notifications(
        status: String, isReady: Bool, isAlive: Bool, at now: HostInstant
    ) -> [ServiceManager.Event] {
        var due: [ServiceManager.Event] = []
        if status != lastStatus { due.append(.status(status)) }
        if isReady, !self.isReady { due.append(.ready) }
        if watchdog?.isSignDue(at: now, isAlive: isAlive) == true { due.append(.alive) }
        (lastStatus, self.isReady) = (status, self.isReady || isReady)
        return due
    }
}
