internal import MediaCore

/// Limits the log lines about commands. A value; the caller provides the time.
struct CommandLog: Sendable {
    /// The maximum number of lines per interval.
    static let maxLines = 10
    static let interval = Duration.seconds(60)

    private var began: HostInstant?
    private var count = 0
    private var left = 0

    /// Returns the line for a command; nil at the limit. The first line of an interval states the number of commands
    /// without a line.
    mutating func line(for words: String, at now: HostInstant) -> String? {
        if began.map({ now - $0 >= Self.interval }) ?? true { (began, count) = (now, 0) }
        guard count < Self.maxLines else {
            left += 1
            return nil
        }
        count += 1
        defer { left = 0 }
        let suffix = left > 0 ? " (\(left) more commands since the last line)" : ""
        return "command: \(words)\(suffix)"
    }
}
