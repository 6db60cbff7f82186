import MediaCore

/// The commanded timeline reconstructed from recorded anchors: the rate and the position at an instant.
struct CommandedTimeline {
    /// A timebase segment: media seconds `film` at host instant `host`.
    struct Stretch {
        var film: Double
        var host: HostInstant
        var rate: Double
        /// The commanded rate; `rate` also contains the correction for a followed clock.
        var speed: Double
    }

    private var current: Stretch?
    private var scheduled: Stretch?
    /// The number of commands so far.
    private(set) var count = 0

    /// Adds a command recorded at `instant`: media time `film` (seconds) is due at `host`, from where `rate` applies.
    mutating func command(film: Double, host: HostInstant, rate: Double, at instant: HostInstant) {
        count += 1
        if let scheduled, scheduled.host <= instant { current = scheduled }
        scheduled = nil
        let stretch = Stretch(film: film, host: host, rate: rate, speed: rate)
        if host > instant { scheduled = stretch } else { current = stretch }
    }

    /// Replaces the segment after a rate correction towards a followed clock.
    mutating func bend(film: Double, host: HostInstant, rate: Double, speed: Double) {
        scheduled = nil
        current = Stretch(film: film, host: host, rate: rate, speed: speed)
    }

    private func stretch(at instant: HostInstant) -> Stretch? {
        if let scheduled, scheduled.host <= instant { return scheduled }
        return current
    }

    /// Returns media seconds per second; 0 while paused or unknown.
    func rate(at instant: HostInstant) -> Double { stretch(at: instant)?.rate ?? 0 }

    /// Returns the commanded rate, without clock correction; 0 while paused or unknown.
    func speed(at instant: HostInstant) -> Double { stretch(at: instant)?.speed ?? 0 }

    /// Returns the due time of a media time on the scheduled or else the current segment; nil while paused.
    func instant(ofFilm film: Double) -> HostInstant? {
        guard let segment = scheduled ?? current, segment.rate > 0 else { return nil }
        let elapsed = (film - segment.film) / segment.rate * 1e9
        guard elapsed.magnitude < 9e18 else { return nil }
        return HostInstant(nanoseconds: segment.host.nanoseconds &+ Int64(elapsed))
    }
}
