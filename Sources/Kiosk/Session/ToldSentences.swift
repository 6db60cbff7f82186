internal import MediaCore

/// What was said lately: a kiosk that misses a speaker for weeks says so once an hour, not with every film. A value.
struct ToldSentences {
    private static let rest = Duration.seconds(3600)
    private static let most = 256

    private var told: [String: HostInstant] = [:]

    /// Whether a sentence is to be said; then it counts as said.
    mutating func isNews(_ sentence: String, at now: HostInstant) -> Bool {
        if let last = told[sentence], now - last < Self.rest { return false }
        if told.count >= Self.most { told = told.filter { now - $0.value < Self.rest } }
        if told.count >= Self.most { told.removeAll() }
        told[sentence] = now
        return true
    }

    /// What was wrong is mended: should it come back, that is news.
    mutating func forget(_ sentence: String) { told[sentence] = nil }
}
