public import MediaCore

/// Watches a sound card's position against the host clock and says when a frame is heard: a latency monitor.
///
/// Readings lie in unfriendly ways. A sound server's figure is made up of guesses while a stream starts; later it is
/// smoothed by the server's client library, and on a busy machine wanders by many milliseconds for seconds on end
/// (PulseAudio's, measured: 25 ms), while the frames themselves keep leaving as steadily as quartz makes them.
/// Hardware pointers advance in bursts, and a thread preempted between reading and stamping is late.
///
/// So readings are gathered into buckets whose medians count; a bucket is believed as much as the figure was steady
/// around it, for no quartz gains milliseconds in a second; and a straight line is fitted whose rate is held near
/// that of the host clock until long evidence says otherwise. A figure that moves and then stays is followed.
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

    /// Constants of the estimate, in nanoseconds unless they are ratios.
    struct Tuning {
        /// For so long after a start only the newest few readings count.
        var settling: Int64 = 120_000_000
        /// Readings are believed once they agreed to `agreement` for this long, or after `steadyAtLast` in any case
        /// (a card whose figure moves in large steps). PulseAudio's first 35 ms of a stream that its server resamples
        /// agree with each other and are 47 ms wrong; then its position stands still until it is true (measured).
        var steadyAfter: Int64 = 40_000_000
        var agreement = 1e6
        var steadyAtLast: Int64 = 250_000_000
        /// Readings that lie further apart while a stream starts do not speak of the same line.
        var jump = 5e6
        /// A position that stands still for longer while a stream starts tells that what went before was no position.
        var stillness: Int64 = 12_000_000
        /// The line is drawn through buckets once there are this many.
        var leastBuckets = 4
        /// Buckets of the first second, of the first five seconds, and of later.
        var buckets: (Int64, Int64, Int64) = (40_000_000, 250_000_000, 500_000_000)
        /// Older buckets count less: by 1/e per this time.
        var memory = 60e9
        /// Standard deviation of real cards' rates against the host clock, as a ratio.
        var rateSpread = 40e-6
        /// Medians are believed no better than this: neighbouring readings share their errors.
        var leastNoise = 300e3
        /// What the first buckets are believed to.
        var firstNoise = 200e3
        /// How much worse than its unsteadiness over a second a figure may be.
        var noisePerUnsteadiness = 3.0
        /// Unsteadiness is remembered: it fades by 1/e in this time.
        var unsteadyFor = 10e9
        /// A move larger than `step` that stays within `flat` is the truth.
        var step = 2e6
        var flat = 500e3
        /// … for this long; less in the first seconds, and less for a move that no smoothing makes: a server that was
        /// not scheduled for a while leaves a hole in the sound of which nobody tells (PulseAudio stopped for 150 ms: 90 ms
        /// of silence), and until it is followed everything is late by it.
        var stepAfter = 4e9
        var firstStepAfter = 500e6
        var largeStep = 10e6
        var largeStepAfter = 2.4e9
        var hugeStep = 40e6
        var hugeStepAfter = 1.4e9
        /// Such moves may vary by this share of their size.
        var largeStepFlatness = 0.125
        var firstSeconds = 3e9
    }

    private struct Bucket {
        /// Nominal stream time of the reading in the middle, nanoseconds since the first frame of the run.
        var stream: Double
        /// Host instant minus that, relative to the run's base.
        var offset: Double
        /// Standard deviation it is believed to have.
        var noise = 0.0
    }

    private static let capacity = 128
    private static let readingsPerBucket = 64

    private let nominal: Double
    private var tuning = Tuning()
    private var buckets: [Bucket]
    private var bucketCount = 0
    private var newest = 0
    private var readings: [Bucket]
    private var readingCount = 0
    private static let latestCapacity = 5
    private var latest: [Bucket]
    private var latestCount = 0
    private var unsteadiness = 0.0
    private var scatter = 0.0
    private var sorted: [Double]
    private var bucketStart: Int64 = 0
    private var base: Int64 = 0
    private var runStart: Int64 = 0
    private var hasBase = false
    private var lastPosition: Int64 = .min
    private var movedAt: Int64 = 0
    private var agreedOffset = 0.0
    private var agreedSince: Int64 = 0
    /// The rate found before a reset: the same quartz goes on.
    private var rate = 0.0
    private var rateVariance: Double
    private var priorRate = 0.0
    private var priorVariance: Double
    /// Whether the estimate is good enough to place a first sound by.
    public private(set) var isSteady = false
    /// Whether the estimate rests on more than the first few readings.
    public private(set) var isSettled = false
    /// The newest estimate; nil until a first reading after a start.
    public private(set) var estimate: Estimate?

    /// - Parameter sampleRate: what the card is set to, in frames per second.
    public init(sampleRate: Int) {
        nominal = 1e9 / Double(max(1, sampleRate))
        buckets = Array(repeating: Bucket(stream: 0, offset: 0), count: Self.capacity)
        readings = Array(repeating: Bucket(stream: 0, offset: 0), count: Self.readingsPerBucket)
        latest = Array(repeating: Bucket(stream: 0, offset: 0), count: Self.latestCapacity)
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
        latestCount = 0
        unsteadiness = 0
        isSettled = false
        isSteady = false
        hasBase = false
        lastPosition = .min
        estimate = nil
    }

    /// Takes one reading: the frame leaving the card at an instant. Both must come from one look at the device.
    public mutating func add(position: DeviceFrame, at instant: HostInstant) {
        if !hasBase {
            hasBase = true
            base = instant.nanoseconds - Int64((Double(position.index) * nominal).rounded())
            runStart = instant.nanoseconds
            bucketStart = instant.nanoseconds
            movedAt = instant.nanoseconds
            agreedSince = instant.nanoseconds
            agreedOffset = 0
        }
        // A position that stands still is no news.
        guard position.index != lastPosition else {
            if !isSteady, instant.nanoseconds - movedAt > tuning.stillness {
                agreedSince = instant.nanoseconds
                forgetLatest()
            }
            return
        }
        lastPosition = position.index
        movedAt = instant.nanoseconds
        let stream = Double(position.index) * nominal
        let reading = Bucket(stream: stream, offset: Double(instant.nanoseconds - base) - stream)
        if !isSteady { watchStart(reading, at: instant) }
        noteScatter(reading)
        latest[latestCount % Self.latestCapacity] = reading
        latestCount += 1
        let age = instant.nanoseconds - runStart
        guard age >= tuning.settling else {
            followLatest(reading)
            bucketStart = instant.nanoseconds
            return
        }
        if readingCount < Self.readingsPerBucket {
            readings[readingCount] = reading
            readingCount += 1
        }
        let span =
            age < 1_000_000_000 ? tuning.buckets.0 : age < 5_000_000_000 ? tuning.buckets.1 : tuning.buckets.2
        if instant.nanoseconds - bucketStart >= span {
            closeBucket()
            bucketStart = instant.nanoseconds
        }
        if bucketCount < tuning.leastBuckets { followLatest(reading) } else { isSettled = true }
    }

    /// While a stream starts: whether readings have begun to agree.
    private mutating func watchStart(_ reading: Bucket, at instant: HostInstant) {
        let away = abs(reading.offset - agreedOffset)
        if away > tuning.agreement {
            agreedSince = instant.nanoseconds
            agreedOffset = reading.offset
        }
        if away > tuning.jump { forgetLatest() }
        isSteady =
            instant.nanoseconds - agreedSince >= tuning.steadyAfter
            || instant.nanoseconds - runStart >= tuning.steadyAtLast
    }

    /// What was read so far is worth nothing.
    private mutating func forgetLatest() {
        latestCount = 0
        readingCount = 0
    }

    /// How far readings lie from their neighbours: noise that medians average away, unlike a figure that wanders.
    private mutating func noteScatter(_ reading: Bucket) {
        guard latestCount > 0 else { return }
        let before = latest[(latestCount - 1) % Self.latestCapacity]
        let away = min(abs(reading.offset - before.offset), 4 * scatter + tuning.leastNoise)
        // The mean distance of two normal values is 2/√π = 1.128 standard deviations.
        scatter += (away / 1.128 - scatter) / 16
    }

    /// While a stream starts, the newest few readings are the only ones worth anything.
    private mutating func followLatest(_ reading: Bucket) {
        let count = min(latestCount, Self.latestCapacity)
        for index in 0..<count { sorted[index] = latest[index].offset - rate * (latest[index].stream - reading.stream) }
        publish(last: reading, level: medianOfSorted(count), slope: -rate, uncertainty: 2e6)
    }

    private mutating func closeBucket() {
        guard readingCount > 0 else { return }
        for index in 0..<readingCount { sorted[index] = readings[index].offset }
        let median = medianOfSorted(readingCount)
        var middle = readings[0]
        for index in 0..<readingCount where abs(readings[index].offset - median) < abs(middle.offset - median) {
            middle = readings[index]
        }
        // The median of n normal values scatters by 1.25/√n of one.
        let scatter = 1.25 * scatter / Double(readingCount).squareRoot()
        readingCount = 0
        newest = bucketCount == 0 ? 0 : (newest + 1) % Self.capacity
        buckets[newest] = Bucket(stream: middle.stream, offset: median)
        bucketCount = min(bucketCount + 1, Self.capacity)
        let noise = noiseOfNewest(scatter: scatter)
        buckets[newest].noise = (noise * noise + scatter * scatter).squareRoot()
        dropBeforeStep()
        if bucketCount >= tuning.leastBuckets { fit() }
    }

    /// How far the figure moved within the last second, beyond what the card's rate explains; remembered for a while.
    private mutating func noiseOfNewest(scatter: Double) -> Double {
        let last = bucket(0)
        var age = 1
        while age < bucketCount - 1, last.stream - bucket(age).stream < 1e9 { age += 1 }
        guard bucketCount > 1, age < bucketCount else {
            unsteadiness = tuning.firstNoise / tuning.noisePerUnsteadiness
            return tuning.firstNoise
        }
        let before = bucket(age)
        // Two medians may lie apart by this without anything having moved: two standard deviations of a difference.
        let chance = 2.8 * scatter
        let moved = max(0, abs(last.offset - before.offset + rate * (last.stream - before.stream)) - chance)
        let elapsed = last.stream - bucket(1).stream
        unsteadiness = max(moved, unsteadiness * max(0, 1 - elapsed / tuning.unsteadyFor))
        return max(tuning.leastNoise, tuning.noisePerUnsteadiness * unsteadiness)
    }

    /// A figure that moved for good: what lay before the move speaks of another line.
    private mutating func dropBeforeStep() {
        guard bucketCount > tuning.leastBuckets, let estimate else { return }
        let last = bucket(0)
        let started = last.stream - Double(runStart - base) < tuning.firstSeconds
        let size = abs(last.offset - predictedOffset(at: last.stream, estimate))
        let usual =
            size > tuning.hugeStep
            ? tuning.hugeStepAfter : size > tuning.largeStep ? tuning.largeStepAfter : tuning.stepAfter
        let needed = started ? tuning.firstStepAfter : usual
        let flat = size > tuning.largeStep ? max(tuning.flat, size * tuning.largeStepFlatness) : tuning.flat
        var (low, high) = (Double.infinity, -Double.infinity)
        var (least, most) = (Double.infinity, -Double.infinity)
        var age = 0
        while age < bucketCount {
            let past = bucket(age)
            let level = past.offset - rate * (last.stream - past.stream)
            (low, high) = (min(low, level), max(high, level))
            let residual = past.offset - predictedOffset(at: past.stream, estimate)
            (least, most) = (min(least, residual), max(most, residual))
            guard high - low < flat, least > tuning.step || most < -tuning.step else { return }
            age += 1
            if last.stream - past.stream >= needed { break }
        }
        guard age < bucketCount, age >= tuning.leastBuckets else { return }
        bucketCount = age
        unsteadiness = tuning.firstNoise / tuning.noisePerUnsteadiness
        for age in 0..<bucketCount { buckets[(newest - age + Self.capacity) % Self.capacity].noise = tuning.firstNoise }
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
        var slope = -rate
        var level = estimate.map { predictedOffset(at: last.stream, $0) } ?? last.offset
        var slopeVariance = priorVariance
        var levelVariance = tuning.firstNoise * tuning.firstNoise
        for _ in 0..<3 {
            var (sw, sx, sy, sxx, sxy) = (0.0, 0.0, 0.0, 0.0, 0.0)
            for age in 0..<count {
                let bucket = bucket(age)
                let x = bucket.stream - last.stream
                let y = bucket.offset - level
                let residual = abs(y - slope * x)
                let huber = residual <= 1.5 * bucket.noise ? 1 : 1.5 * bucket.noise / residual
                let weight = huber * fading(x) / (bucket.noise * bucket.noise)
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
        publish(last: last, level: level, slope: slope, uncertainty: max(0, levelVariance).squareRoot())
    }

    private mutating func publish(last: Bucket, level: Double, slope: Double, uncertainty: Double) {
        let frame = DeviceFrame(Int64((last.stream / nominal).rounded()))
        estimate = Estimate(
            frame: frame,
            instant: HostInstant(nanoseconds: base + Int64((Double(frame.index) * nominal + level).rounded())),
            rateOffsetPPM: -slope * 1e6,
            uncertainty: .nanoseconds(Int64(uncertainty)),
            nanosecondsPerFrame: nominal * (1 + slope))
    }

    /// Weight by age without `exp`: 1 / (1 + a + a²/2 + a³/6 + a⁴/24), which follows e⁻ᵃ closely enough.
    private func fading(_ x: Double) -> Double {
        let a = -x / tuning.memory
        return 1 / (1 + a * (1 + a / 2 * (1 + a / 3 * (1 + a / 4))))
    }
}
