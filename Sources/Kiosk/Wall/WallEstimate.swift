package import MediaCore

/// The wall's time in terms of this computer's clock, from one reading to the next. A value; whoever reads brings the time.
///
/// The true time is what the system's clock shows and what chrony says must be added. While chrony steps or slews the clock, that sum runs
/// on; an administrator's step moves it until chrony has measured again. A reading that does not lie on the line is therefore doubted until
/// chrony has measured since, or, where nobody measures, until it has come three times.
package struct WallEstimate: Sendable {
    /// What a reading came to.
    package enum Change: Sendable, Hashable {
        /// It lies on the line, or is its first.
        case taken
        /// Off the line by so much; the line stays. Positive: the reading is ahead.
        case doubted(Duration)
        /// Believed: the line lies so much elsewhere from here on.
        case stepped(Duration)
    }

    private struct Sample {
        var host: HostInstant
        var wall: WallInstant
    }

    /// Off by more a reading is no noise: chrony's estimates of one reference differ by less from one poll to the next, and a bend makes
    /// up for it in a minute.
    package static let tolerance = Duration.milliseconds(5)
    /// Over so long the rate is drawn: long beside the noise of readings, short beside the hours in which a quartz changes.
    private static let span = Duration.seconds(64)
    /// Below that a rate would be noise alone.
    private static let shortestSpan = Duration.seconds(8)
    /// No clock that is of use runs faster or slower; twice what a bad quartz is off, and what chrony corrects at most by default (`maxdrift`) is far beyond it.
    private static let largestRate = 500e-6
    private static let readingsOfNobody = 3

    private var samples: [Sample] = []
    private var doubt: (measured: Int64?, offset: Duration, count: Int)?
    /// From this computer's clock to the wall's time; nil before the first reading.
    package private(set) var mapping: ClockMapping<HostInstant, WallInstant>?

    package init() {}

    /// - Parameter tracking: nil where nobody keeps the clock, or nobody says how well.
    @discardableResult
    package mutating func take(_ reading: SystemClockReading, _ tracking: ChronyTracking?) -> Change {
        let sample = Sample(host: reading.host, wall: reading.system.advanced(by: tracking?.correction ?? .zero))
        let uncertainty = (tracking?.uncertainty ?? .zero) + reading.width / 2
        guard let line = mapping else {
            take(sample, uncertainty)
            return .taken
        }
        let offset = line.target(at: sample.host).duration(to: sample.wall)
        guard max(offset, .zero - offset) > Self.tolerance else {
            doubt = nil
            take(sample, uncertainty)
            return .taken
        }
        let isSame = doubt.map { max($0.offset - offset, offset - $0.offset) <= Self.tolerance } ?? false
        guard isSame, var known = doubt else {
            doubt = (tracking?.measured, offset, 1)
            return .doubted(offset)
        }
        known.count += 1
        known.offset = offset
        doubt = known
        let hasBeenMeasured = tracking.map { $0.measured != known.measured } ?? (known.count >= Self.readingsOfNobody)
        guard hasBeenMeasured else { return .doubted(offset) }
        doubt = nil
        samples.removeAll()
        take(sample, uncertainty, keeping: line.rateOffset)
        return .stepped(offset)
    }

    private mutating func take(_ sample: Sample, _ uncertainty: Duration, keeping rate: Double = 0) {
        let first = samples.lastIndex { sample.host - $0.host >= Self.span } ?? 0
        samples.removeSubrange(..<first)
        samples.append(sample)
        var rate = samples.count == 1 ? rate : mapping?.rateOffset ?? rate
        let oldest = samples[0]
        let elapsed = sample.host - oldest.host
        if elapsed >= Self.shortestSpan {
            let drawn = oldest.wall.duration(to: sample.wall).inSeconds / elapsed.inSeconds - 1
            rate = max(-Self.largestRate, min(Self.largestRate, drawn))
        }
        mapping = ClockMapping(
            sourceAnchor: sample.host, targetAnchor: sample.wall, rateOffset: rate, uncertainty: uncertainty)
    }
}
