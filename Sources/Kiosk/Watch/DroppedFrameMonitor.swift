import MediaCore

/// Reports bursts of late video frames that were dropped, once frames are on time again. A value; the caller provides
/// the time.
struct DroppedFrameMonitor: Sendable {
    /// The minimum number of frames per observation that counts as a burst: a fifth of a second of film. Fewer per
    /// second are hardly visible. A burst may extend over two observations.
    static let fewest = 5
    /// The minimum interval between two reports, for a computer that is too slow for its films.
    static let rest = Duration.seconds(60)

    /// The total at the last observation.
    private var last: Int?
    /// Dropped frames that were not reported yet.
    private var open = 0
    /// Frames dropped at the last observation that are not part of a burst so far.
    private var pending = 0
    /// The time of the last report.
    private var lastReport: HostInstant?

    init() {}

    /// Processes one observation.
    ///
    /// - Parameters:
    ///   - total: The number of frames dropped so far. If it decreases, counting was restarted.
    ///   - isExpected: Whether a film should be visible; frames dropped otherwise are ignored.
    /// - Returns: The number of frames dropped since the last report, once a burst is over; nil without a report.
    mutating func observe(total: Int, isExpected: Bool, at now: HostInstant) -> Int? {
        defer { last = total }
        guard let last, isExpected else {
            (open, pending) = (0, 0)
            return nil
        }
        let new = total - last
        if new >= Self.fewest || pending > 0 && new + pending > Self.fewest {
            open += new + pending
            pending = 0
            return nil
        }
        pending = max(0, new)
        guard open > 0, lastReport.map({ now - $0 >= Self.rest }) ?? true else { return nil }
        defer { open = 0 }
        lastReport = now
        return open
    }
}
