internal import MediaCore

/// Limits repeated log sentences, such as a missing speaker, to one per hour instead of one per film. A value.
struct MessageRateLimiter {
    private static let rest = Duration.seconds(3600)
    private static let maxSentences = 256

    private var lastLogged: [String: HostInstant] = [:]

    /// Returns true if a sentence must be logged, and records it as logged.
    mutating func shouldLog(_ sentence: String, at now: HostInstant) -> Bool {
        if let last = lastLogged[sentence], now - last < Self.rest { return false }
        if lastLogged.count >= Self.maxSentences { lastLogged = lastLogged.filter { now - $0.value < Self.rest } }
        if lastLogged.count >= Self.maxSentences { lastLogged.removeAll() }
        lastLogged[sentence] = now
        return true
    }

    /// Forgets a sentence after a recovery: its next occurrence is logged.
    mutating func forget(_ sentence: String) { lastLogged[sentence] = nil }
}
