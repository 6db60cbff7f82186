import MediaCore

/// Schedules watchdog notifications: at half the timeout of the service manager (sd_watchdog_enabled(3)), and only
/// while playback is alive, so that a stalled kiosk is restarted. A value; the caller provides the time.
struct Watchdog: Sendable, Equatable {
    /// The timeout of the service manager.
    private let timeout: Duration
    private var lastSign: HostInstant
    /// When `isSignDue` must be called at the latest.
    private(set) var next: HostInstant

    /// Creates a watchdog; nil without a timeout.
    ///
    /// - Parameter timeout: `ServiceManager.watchdogTime`.
    init?(timeout: Duration?, at now: HostInstant) {
        guard let timeout, timeout > .zero else { return nil }
        self.timeout = timeout
        (lastSign, next) = (now, now.advanced(by: timeout / 2))
    }

    /// When the manager ends this process without a further notification.
    var end: HostInstant { lastSign.advanced(by: timeout) }

    /// Returns true if a notification is due, and records it as sent.
    ///
    /// - Parameter isAlive: Whether playback was alive lately, or is off as configured.
    mutating func isSignDue(at now: HostInstant, isAlive: Bool) -> Bool {
        guard now >= next else { return false }
        guard isAlive else {
            // Shorter delay: a recovery is reported before the timeout.
            next = now.advanced(by: timeout / 8)
            return false
        }
        (lastSign, next) = (now, now.advanced(by: timeout / 2))
        return true
    }
}
