internal import MediaCore

/// "From `anchor` on, film moment `film` is heard there", as an output claimed it.
package struct HeardClaim {
    package var film: Double
    package var anchor: Int64
    package var route: Int64
}

extension TimelineReport {
    /// Claims that are kept; an anchor refers to one of the newest.
    private static let mostClaims = 64
    /// Instants on the wire are rounded to fractions of 2⁻⁶⁴ s, and by some senders to microseconds.
    private static let sameInstant: Int64 = 1000

    mutating func claim(film: Double, anchor: Int64, route: Int64) {
        if claims.count >= Self.mostClaims { claims.removeFirst() }
        claims.append(HeardClaim(film: film, anchor: anchor, route: route))
    }

    /// Takes in what the speaker heard up to an instant of the timeline.
    package mutating func listen(until instant: Int64) {
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
        // A bend of the line is the speaker's own clock: its sound lies by the speed that was commanded.
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
