package import MediaCore

/// The synchronizer's line as the recorded anchors tell it: whether film time was running at an instant, and where.
package struct CommandedLine {
    struct Stretch {
        var film: Double
        var host: HostInstant
        var rate: Double
        /// As commanded: film seconds per second of sound.
        var speed: Double
    }

    private var current: Stretch?
    private var scheduled: Stretch?
    /// Anchors so far.
    package private(set) var count = 0

    /// A command noted at `instant`: from `host` on, `film` seconds are perceived there at `rate`.
    package mutating func command(film: Double, host: HostInstant, rate: Double, at instant: HostInstant) {
        count += 1
        if let scheduled, scheduled.host <= instant { current = scheduled }
        scheduled = nil
        let stretch = Stretch(film: film, host: host, rate: rate, speed: rate)
        if host > instant { scheduled = stretch } else { current = stretch }
    }

    /// The line goes on at a slightly different rate: it was bent towards a clock that is followed.
    mutating func bend(film: Double, host: HostInstant, rate: Double, speed: Double) {
        scheduled = nil
        current = Stretch(film: film, host: host, rate: rate, speed: speed)
    }

    private func stretch(at instant: HostInstant) -> Stretch? {
        if let scheduled, scheduled.host <= instant { return scheduled }
        return current
    }

    /// 0 while time stands still or nothing is known.
    package func rate(at instant: HostInstant) -> Double { stretch(at: instant)?.rate ?? 0 }

    /// Film seconds per second of sound; 0 as `rate`.
    package func speed(at instant: HostInstant) -> Double { stretch(at: instant)?.speed ?? 0 }

    /// When a film moment is perceived on the stretch that is or comes into force; nil while that stands still.
    package func instant(ofFilm film: Double) -> HostInstant? {
        guard let line = scheduled ?? current, line.rate > 0 else { return nil }
        let elapsed = (film - line.film) / line.rate * 1e9
        guard elapsed.magnitude < 9e18 else { return nil }
        return HostInstant(nanoseconds: line.host.nanoseconds &+ Int64(elapsed))
    }
}
