internal import MediaCore

/// Limits repeated log sentences, such as a missing speaker, to one per hour instead of one per film. A value.
struct MessageRateLimiter {
    private static let rest = Duration.seconds(3600)
    private static let most = 256

    private var told: [String: HostInstant] = [:]

    /// Returns true if a sentence must be logged, and records it as logged.
    mutating func isNews(_ sentence: String, at now: HostInstant) -> Bool {
        if let last = told[sentence], now - last < Self.rest { return false }
        if told.count >= Self.most { told = told.filter { now - $0.value < Self.rest } }
        if told.count >= Self.most { told.removeAll() }
        told[sentence] = now
        return true
    }

    /// Forgets a sentence after a recovery: its next occurrence is logged.
    mutating func forget(_ sentence: String) { told[sentence] = nil }
}
