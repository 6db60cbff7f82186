/// Matches the chirps of a recording with the events of a run.
struct EventPattern {
    /// An event of the run at its expected time.
    struct Expected: Equatable {
        /// Seconds on the recording's timeline.
        var time: Double
        var code: ChirpCode
    }

    /// The best match of all events.
    struct Fit: Equatable {
        /// Delay of the chirps relative to the expected times, in seconds.
        var lag: Double
        /// The matching peak per expected event; nil if none.
        var peaks: [ChirpFinder.Peak?]
        /// Whether a clearly different lag matches almost as well.
        var isAmbiguous: Bool

        var count: Int { peaks.count { $0 != nil } }
    }

    /// Maximum lag in seconds. Uncompensated speakers have 2 s; a larger lag belongs to another run.
    static let longestLag = 3.0
    /// Maximum distance of an event from the common lag in seconds: drift within a run, and scheduling delays.
    static let tolerance = 0.03
    /// Minimum share of detected events.
    static let minShare = 0.6
    private static let maxCandidates = 4000

    /// Returns the best fit, or nil if no lag matches at least two events.
    ///
    /// - Parameter limit: The maximum lag in seconds; nil: any, if the recording's clock is unusable.
    static func fit(
        _ events: [Expected], to peaks: [ChirpCode: [ChirpFinder.Peak]], rate: Double, limit: Double? = longestLag
    ) -> Fit? {
        var candidates: [(lag: Double, likeness: Double)] = []
        for event in events {
            for peak in peaks[event.code] ?? [] {
                let lag = peak.frame / rate - event.time
                if let limit, lag.magnitude > limit { continue }
                candidates.append((lag, peak.likeness))
            }
        }
        if candidates.count > maxCandidates {
            candidates.sort { $0.likeness > $1.likeness }
            candidates.removeLast(candidates.count - maxCandidates)
        }
        var scored: [(lag: Double, score: Double)] = []
        for candidate in candidates {
            var score = 0.0
            for event in events {
                score += nearest(to: event, lag: candidate.lag, in: peaks, rate: rate)?.likeness ?? 0
            }
            scored.append((candidate.lag, score))
        }
        guard let best = scored.max(by: { $0.score < $1.score }) else { return nil }
        // The median of the matches is more exact than the lag of a single candidate.
        let agreeing = events.compactMap { event in
            nearest(to: event, lag: best.lag, in: peaks, rate: rate).map { $0.frame / rate - event.time }
        }
        let lag = OffsetStatistics.median(agreeing)
        let matched = events.map { nearest(to: $0, lag: lag, in: peaks, rate: rate) }
        guard matched.count(where: { $0 != nil }) >= 2 else { return nil }
        let rival = scored.filter { ($0.lag - lag).magnitude > 4 * tolerance }.map(\.score).max() ?? 0
        return Fit(lag: lag, peaks: matched, isAmbiguous: rival > 0.7 * best.score)
    }

    private static func nearest(
        to event: Expected, lag: Double, in peaks: [ChirpCode: [ChirpFinder.Peak]], rate: Double
    ) -> ChirpFinder.Peak? {
        guard let all = peaks[event.code], !all.isEmpty else { return nil }
        let wanted = (event.time + lag) * rate
        // Peaks are in order of time.
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].frame < wanted { low = middle + 1 } else { high = middle }
        }
        let near = [low - 1, low].filter { all.indices.contains($0) }.map { all[$0] }
        return near.filter { ($0.frame - wanted).magnitude <= tolerance * rate }.max { $0.likeness < $1.likeness }
    }
}
