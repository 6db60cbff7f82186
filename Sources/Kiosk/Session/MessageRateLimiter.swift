internal import MediaCore

/// Limits repeated log sentences, such as a missing speaker, to one per interval instead of one per film, and counts
/// the others. A value; the caller provides the time.
struct MessageRateLimiter {
    /// The usual interval.
    static let rest = Duration.seconds(3600)
    /// The interval of changes, such as a speaker that is lost and returns.
    static let restOfChanges = Duration.seconds(60)
    private static let maxSentences = 256

    /// When a sentence was logged, and how often it was not since.
    private var lastMessages: [String: (at: HostInstant, left: Int)] = [:]

    /// Returns the line for a sentence; nil within `rest` of its last line. The line states how often the sentence was
    /// omitted since the last one.
    mutating func line(
        for sentence: String, rest: Duration = MessageRateLimiter.rest, at now: HostInstant
    ) -> String? {
        let last = lastMessages[sentence]
        if let last, now - last.at < rest {
            lastMessages[sentence]?.left += 1
            return nil
        }
        if lastMessages.count >= Self.maxSentences {
            lastMessages = lastMessages.filter { now - $0.value.at < Self.rest }
        }
        if lastMessages.count >= Self.maxSentences { lastMessages.removeAll() }
        lastMessages[sentence] = (now, 0)
        guard let left = last?.left, left > 0 else { return sentence }
        return "\(sentence) (\(left) more \(left == 1 ? "time" : "times") since the last line)"
    }

    /// Forgets a sentence after a recovery: its next occurrence is logged.
    mutating func forget(_ sentence: String) { lastMessages[sentence] = nil }
}
