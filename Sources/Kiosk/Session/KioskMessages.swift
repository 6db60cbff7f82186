internal import MediaCore

/// The log messages of a kiosk's thread. Repeated warnings and errors are limited. Used on the kiosk's thread only.
final class KioskMessages {
    private let log: KioskLog
    private let clock: any HostClock
    private var limiter = MessageRateLimiter()

    /// - Parameter clock: The clock of the intervals.
    init(_ log: KioskLog, clock: any HostClock) { (self.log, self.clock) = (log, clock) }

    /// Logs a message; warnings and errors that repeat with every film at most once per `rest`.
    func say(
        _ level: LogLevel, _ text: String, _ note: KioskNote = KioskNote(), rest: Duration = MessageRateLimiter.rest
    ) {
        guard level <= .warning else { return log.say(level, text, note) }
        if let line = limiter.line(for: text, rest: rest, at: clock.now) { log.say(level, line, note) }
    }

    /// Logs a message, also if it repeats.
    func sayAlways(_ level: LogLevel, _ text: String, _ note: KioskNote) { log.say(level, text, note) }

    /// Forgets a message after a recovery: its next occurrence is logged.
    func forget(_ text: String) { limiter.forget(text) }
}
