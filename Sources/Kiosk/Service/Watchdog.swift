package import MediaCore

/// When a service manager is given a sign of life: at half of the time that it waits for one (sd_watchdog_enabled(3)), and only by who has seen
/// life, so that a kiosk which stands still is started anew. A value; time is passed in.
package struct Watchdog: Sendable, Equatable {
    /// How long the manager waits.
    private let patience: Duration
    private var lastSign: HostInstant
    /// Ask again no later than this.
    package private(set) var next: HostInstant

    /// - Parameter patience: `ServiceManager.watchdogTime`; nil makes no watchdog.
    package init?(patience: Duration?, at now: HostInstant) {
        guard let patience, patience > .zero else { return nil }
        self.patience = patience
        (lastSign, next) = (now, now.advanced(by: patience / 2))
    }

    /// When the manager ends this process, should there be no further sign.
    package var end: HostInstant { lastSign.advanced(by: patience) }

    /// Whether a sign is due now; it counts as given.
    ///
    /// - Parameter isAlive: what is to be shown was shown and heard lately, or is off on purpose.
    package mutating func isSignDue(at now: HostInstant, isAlive: Bool) -> Bool {
        guard now >= next else { return false }
        guard isAlive else {
            // Who comes back to life is in time.
            next = now.advanced(by: patience / 8)
            return false
        }
        (lastSign, next) = (now, now.advanced(by: patience / 2))
        return true
    }
}
