import MediaCore

/// An estimate of the wall's time relative to this computer's clock, updated by readings. A value; the caller provides
/// the readings.
///
/// True time is the system clock plus chrony's correction. The sum is continuous while chrony steps or slews the clock.
/// An administrator's step shifts it until chrony measures again. A reading off the timeline is therefore doubted until
/// chrony has measured again; without chrony, until three readings agree.
struct WallEstimate: Sendable {
    /// The result of a reading.
    enum Change: Sendable, Hashable {
        /// The reading matches the timeline, or is the first.
        case taken
        /// The reading deviates by this offset, positive if ahead; the timeline is unchanged.
        case doubted(Duration)
        /// The deviation is accepted: the timeline is shifted by this offset.
        case stepped(Duration)
    }

    private struct Sample {
        var host: HostInstant
        var wall: WallInstant
    }

    /// The maximum deviation that counts as noise. chrony's estimates of one reference differ by less between polls;
    /// steering compensates this deviation within a minute.
    static let tolerance = Duration.milliseconds(5)
    /// The time over which the rate is calculated: long relative to the noise of readings, short relative to the hours
    /// in which a quartz drifts.
    private static let span = Duration.seconds(64)
    /// The minimum time over which a rate is above the noise.
    private static let shortestSpan = Duration.seconds(8)
    /// The maximum rate error of a usable clock: twice that of a bad quartz. chrony's default limit (`maxdrift`) is far
    /// higher.
    private static let largestRate = 500e-6
    /// The number of readings that confirm a step without chrony.
    private static let readingsWithoutChrony = 3

    private var samples: [Sample] = []
    /// The doubted deviation, chrony's measurement at its first reading, and the number of readings.
    private var doubt: (measured: Int64?, offset: Duration, count: Int)?
    /// The mapping from this computer's clock to the wall's time; nil before the first reading.
    private(set) var mapping: ClockMapping<HostInstant, WallInstant>?

    init() {}

    /// Processes a reading.
    ///
    /// - Parameter tracking: chrony's report; nil without chrony.
    @discardableResult
    mutating func update(_ reading: SystemClockReading, _ tracking: ChronyTracking?) -> Change {
        let sample = Sample(host: reading.host, wall: reading.system.advanced(by: tracking?.correction ?? .zero))
        let uncertainty = (tracking?.uncertainty ?? .zero) + reading.width / 2
        guard let mappingNow = mapping else {
            adopt(sample, uncertainty)
            return .taken
        }
        let offset = mappingNow.target(at: sample.host).duration(to: sample.wall)
        guard max(offset, .zero - offset) > Self.tolerance else {
            doubt = nil
            adopt(sample, uncertainty)
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
        let hasBeenMeasured =
            tracking.map { $0.measured != known.measured } ?? (known.count >= Self.readingsWithoutChrony)
        guard hasBeenMeasured else { return .doubted(offset) }
        doubt = nil
        samples.removeAll()
        adopt(sample, uncertainty, keeping: mappingNow.rateOffset)
        return .stepped(offset)
    }

    private mutating func adopt(_ sample: Sample, _ uncertainty: Duration, keeping rate: Double = 0) {
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
