internal import MediaCore

/// The log messages of a kiosk's thread. Repeated warnings and errors, such as a missing speaker, are logged once per
/// hour instead of once per film. Used on the kiosk's thread only.
final class KioskMessages {
    private static let rest = Duration.seconds(3600)
    private static let maxEntries = 256

    private let log: KioskLog
    private let clock: any HostClock
    private var logged: [String: HostInstant] = [:]

    /// - Parameter clock: The clock of the intervals.
    init(_ log: KioskLog, clock: any HostClock) { (self.log, self.clock) = (log, clock) }

    /// Logs a message; warnings and errors at most once per hour.
    func say(_ level: LogLevel, _ text: String, _ note: KioskNote = KioskNote()) {
        if level <= .warning, !isNew(text, at: clock.now) { return }
        log.say(level, text, note)
    }

    /// Logs a message, also if it repeats.
    func sayAlways(_ level: LogLevel, _ text: String, _ note: KioskNote) { log.say(level, text, note) }

    /// Forgets a message after a recovery: its next occurrence is logged.
    func forget(_ text: String) { logged[text] = nil }

    private func isNew(_ text: String, at now: HostInstant) -> Bool {
        if let last = logged[text], now - last < Self.rest { return false }
        if logged.count >= Self.maxEntries { logged = logged.filter { now - $0.value < Self.rest } }
        if logged.count >= Self.maxEntries { logged.removeAll() }
        logged[text] = now
        return true
    }
}
