public import MediaCore

/// Watches a sound card's position against the host clock and says when a frame is heard: a latency monitor.
///
/// Readings are noisy in unfriendly ways: sound servers report positions that wander by milliseconds while a stream
/// starts and later move in steps, hardware pointers advance in jumps, and a thread that is preempted between
/// reading and stamping is late. So readings are gathered into buckets whose medians count, and a straight line is
/// fitted through the buckets with outliers given less weight. The rate is held near zero until enough time has
/// passed to know it: quartz is good to ±100 ppm, a guess from one second of readings is not.
///
/// Used by one thread. Nothing allocates after `init`.
public struct DeviceClock {
    /// What is known of the card at the last reading.
    public struct Estimate: Sendable, BitwiseCopyable {
        /// This frame …
        public var frame: DeviceFrame
        /// … is heard at this moment.
        public var instant: HostInstant
        /// How fast the card runs against the host clock, in parts per million; positive is fast.
        public var rateOffsetPPM: Double
        /// Standard uncertainty of `instant`.
        public var uncertainty: Duration
        /// Host nanoseconds from frame to frame.
        public var nanosecondsPerFrame: Double

        /// When a frame is heard.
        public func instant(of frame: DeviceFrame) -> HostInstant {
            let frames = Double(self.frame.distance(to: frame))
            return HostInstant(
                nanoseconds: instant.nanoseconds + Int64((frames * nanosecondsPerFrame).rounded()))
        }
    }

    /// Constants of the estimate; see `DeviceClock` for why they exist.
    struct Tuning {
        /// Readings closer than this belong to one bucket. The first buckets are shorter, to be ready early.
        var bucket: Int64 = 250_000_000
        var firstBuckets: Int64 = 40_000_000
        /// Older buckets count less: by 1/e per this time.
        var memory = 15e9
        /// Standard deviation of real cards' rates, as a ratio.
        var rateSpread = 50e-6
        /// Medians are believed no better than this, in nanoseconds. Far more than real cards scatter, because the
        /// errors of a sound server's smoothed figures last for seconds: neighbours are not independent.
        var leastNoise = 150_000.0
        /// A move this large that lasts is the truth, not noise.
        var step = 1_500_000.0
    }

    private struct Bucket {
        /// Nominal stream time of the reading in the middle, nanoseconds since the first frame of the run.
        var stream: Double
        /// Host instant minus that, relative to the run's base.
        var offset: Double
    }

    private static let capacity = 96
    private static let readingsPerBucket = 64

    private let nominal: Double
    private var tuning = Tuning()
    private var buckets: [Bucket]
    private var bucketCount = 0
    private var newest = 0
    private var readings: [Bucket]
    private var readingCount = 0
    private var sorted: [Double]
    private var bucketStart: Int64 = 0
    private var base: Int64 = 0
    private var runStart: Int64 = 0
    private var hasBase = false
    private var lastPosition: Int64 = .min
    /// The rate found before a reset: the same quartz goes on.
    private var rate = 0.0
    private var rateVariance: Double
    private var priorRate = 0.0
    private var priorVariance: Double
    /// The newest estimate; nil until a first reading after a start.
    public private(set) var estimate: Estimate?

    /// - Parameter sampleRate: what the card is set to, in frames per second.
    public init(sampleRate: Int) {
        nominal = 1e9 / Double(max(1, sampleRate))
        buckets = Array(repeating: Bucket(stream: 0, offset: 0), count: Self.capacity)
        readings = Array(repeating: Bucket(stream: 0, offset: 0), count: Self.readingsPerBucket)
        sorted = Array(repeating: 0, count: Self.capacity)
        rateVariance = tuning.rateSpread * tuning.rateSpread
        priorVariance = rateVariance
    }

    /// Forgets positions: after an underrun, a restart, a suspend. What is known of the rate is kept.
    public mutating func reset() {
        if rateVariance < priorVariance {
            priorRate = rate
            // Five parts per million: what temperature moves quartz by while nobody looks.
            priorVariance = max(rateVariance, 5e-6 * 5e-6)
        }
        rate = priorRate
        bucketCount = 0
        newest = 0
        readingCount = 0
        hasBase = false
        lastPosition = .min
        estimate = nil
    }

    /// Time since the first reading after the last reset.
    public func age(at instant: HostInstant) -> Duration {
        hasBase ? .nanoseconds(max(0, instant.nanoseconds - runStart)) : .zero
    }

    /// Takes one reading: the frame leaving the card at an instant. Both must come from one look at the device.
    public mutating func add(position: DeviceFrame, at instant: HostInstant) {
        if !hasBase {
            hasBase = true
            base = instant.nanoseconds - Int64((Double(position.index) * nominal).rounded())
            runStart = instant.nanoseconds
            bucketStart = instant.nanoseconds
        }
        // A position that stands still or runs back is no news of a running card.
        guard position.index > lastPosition else { return }
        lastPosition = position.index
        let stream = Double(position.index) * nominal
        let reading = Bucket(stream: stream, offset: Double(instant.nanoseconds - base) - stream)
        if readingCount < Self.readingsPerBucket {
            readings[readingCount] = reading
            readingCount += 1
        }
        // The very first reading makes an estimate of its own, so that something is known at once.
        let span = instant.nanoseconds - runStart < 600_000_000 ? tuning.firstBuckets : tuning.bucket
        if bucketCount == 0 || instant.nanoseconds - bucketStart >= span {
            closeBucket()
            bucketStart = instant.nanoseconds
        }
    }

    private mutating func closeBucket() {
        guard readingCount > 0 else { return }
        for index in 0..<readingCount { sorted[index] = readings[index].offset }
        let median = medianOfSorted(readingCount)
        var middle = readings[0]
        for index in 0..<readingCount where abs(readings[index].offset - median) < abs(middle.offset - median) {
            middle = readings[index]
        }
        readingCount = 0
        newest = bucketCount == 0 ? 0 : (newest + 1) % Self.capacity
        buckets[newest] = Bucket(stream: middle.stream, offset: median)
        bucketCount = min(bucketCount + 1, Self.capacity)
        dropBeforeStep()
        fit()
    }

    /// A server that moved its figure for good: what lay before the move speaks of another line.
    private mutating func dropBeforeStep() {
        // Early figures are the least to be trusted, and early buckets are short.
        let recent = bucketCount < 16 ? 3 : 5
        guard bucketCount > recent, let estimate else { return }
        var above = 0
        var below = 0
        for age in 0..<recent {
            let residual = bucket(age).offset - predictedOffset(at: bucket(age).stream, estimate)
            if residual > tuning.step { above += 1 }
            if residual < -tuning.step { below += 1 }
        }
        if above == recent || below == recent { bucketCount = recent }
    }

    private func predictedOffset(at stream: Double, _ estimate: Estimate) -> Double {
        let frame = Double(estimate.frame.index)
        let instant = Double(estimate.instant.nanoseconds - base)
        return instant + (stream / nominal - frame) * estimate.nanosecondsPerFrame - stream
    }

    private func bucket(_ age: Int) -> Bucket { buckets[(newest - age + Self.capacity) % Self.capacity] }

    private mutating func medianOfSorted(_ count: Int) -> Double {
        for index in 1..<max(1, count) {
            let value = sorted[index]
            var hole = index
            while hole > 0, sorted[hole - 1] > value {
                sorted[hole] = sorted[hole - 1]
                hole -= 1
            }
            sorted[hole] = value
        }
        return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2
    }

    /// Weighted least squares for offset and rate around the newest bucket, the rate drawn to its prior, weights
    /// reduced for outliers (P. J. Huber's function, 1.5 standard deviations) in three rounds.
    private mutating func fit() {
        let last = bucket(0)
        let count = bucketCount
        // offset = level + slope × (stream − last.stream); slope = −rate as cards that gain take less host time.
        var level = last.offset
        var slope = -rate
        for age in 0..<min(count, 9) { sorted[age] = bucket(age).offset + slope * (last.stream - bucket(age).stream) }
        level = medianOfSorted(min(count, 9))
        var noise = tuning.leastNoise
        var slopeVariance = priorVariance
        var levelVariance = noise * noise
        for _ in 0..<3 {
            for age in 0..<count {
                sorted[age] = abs(bucket(age).offset - level - slope * (bucket(age).stream - last.stream))
            }
            // The median of |x| is 0.6745 standard deviations of a normal distribution.
            noise = max(tuning.leastNoise, medianOfSorted(count) / 0.6745)
            var (sw, sx, sy, sxx, sxy) = (0.0, 0.0, 0.0, 0.0, 0.0)
            for age in 0..<count {
                let x = bucket(age).stream - last.stream
                let y = bucket(age).offset - level
                let residual = abs(y - slope * x)
                let huber = residual <= 1.5 * noise ? 1 : 1.5 * noise / residual
                let weight = huber * fading(x) / (noise * noise)
                sw += weight
                sx += weight * x
                sy += weight * y
                sxx += weight * x * x
                sxy += weight * x * y
            }
            // The prior on the slope is one more observation of it.
            let prior = 1 / priorVariance
            let determinant = sw * (sxx + prior) - sx * sx
            guard determinant > 0, determinant.isFinite else { break }
            let slopeEvidence = sxy - prior * priorRate
            level += (sy * (sxx + prior) - sx * slopeEvidence) / determinant
            slope = (sw * slopeEvidence - sx * sy) / determinant
            slopeVariance = sw / determinant
            levelVariance = (sxx + prior) / determinant
        }
        rate = -slope
        rateVariance = slopeVariance
        let frame = DeviceFrame(Int64((last.stream / nominal).rounded()))
        estimate = Estimate(
            frame: frame,
            instant: HostInstant(nanoseconds: base + Int64((Double(frame.index) * nominal + level).rounded())),
            rateOffsetPPM: -slope * 1e6,
            uncertainty: .nanoseconds(Int64(max(0, levelVariance).squareRoot())),
            nanosecondsPerFrame: nominal * (1 + slope))
    }

    /// Weight by age without `exp`: 1 / (1 + a + a²/2 + a³/6 + a⁴/24), which follows e⁻ᵃ closely enough.
    private func fading(_ x: Double) -> Double {
        let a = -x / tuning.memory
        return 1 / (1 + a * (1 + a / 2 * (1 + a / 3 * (1 + a / 4))))
    }
}
