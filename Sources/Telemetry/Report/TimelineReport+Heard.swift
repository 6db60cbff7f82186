internal import MediaCore

/// A reported anchor of an output: media time `film` is audible at `anchor`.
struct HeardClaim {
    /// Media time in seconds.
    var film: Double
    /// Host time in nanoseconds, or the time on the speaker's clock.
    var anchor: Int64
    /// The index of the output.
    var route: Int64
}

extension TimelineReport {
    /// Maximum number of claims; anchors of a speaker's record refer to the newest.
    private static let maxClaims = 64
    /// Tolerance in nanoseconds: wire timestamps are rounded to 2⁻⁶⁴ s, by some senders to microseconds.
    private static let sameInstant: Int64 = 1000

    /// Adds a claim.
    mutating func claim(film: Double, anchor: Int64, route: Int64) {
        if claims.count >= Self.maxClaims { claims.removeFirst() }
        claims.append(HeardClaim(film: film, anchor: anchor, route: route))
    }

    /// Adds the samples of the speaker's record up to an instant of the timeline.
    mutating func listen(until instant: Int64) {
        guard var record = heard else { return }
        while let point = record.next(until: instant) { add(point) }
        while record.takesUnderrun(until: instant) {
            if let route = claims.last?.route { _ = with(route: route) { $0.underruns += 1 } }
        }
        heard = record
    }

    private mutating func add(_ point: HeardRecord.Point) {
        let claim = claims.last {
            let (difference, overflow) = $0.anchor.subtractingReportingOverflow(point.anchoredAt)
            return !overflow && difference.magnitude <= Self.sameInstant
        }
        // The commanded speed without clock correction: the speaker's sound follows its own clock.
        let speed = line.speed(at: HostInstant(nanoseconds: point.instant))
        guard let claim, speed > 0,
            let due = line.instant(ofFilm: claim.film + point.seconds * speed)?.nanoseconds
        else { return }
        let (late, overflow) = point.instant.subtractingReportingOverflow(due)
        let now = seconds(of: point.instant)
        guard !overflow, now.magnitude < 1e8 else { return }
        heardMoments += 1
        let error = Double(late) / 1e6 - delayWanted * 1000
        _ = with(route: claim.route) { $0.heard(error: error - $0.calibration * 1000, at: now) }
    }
}
