internal import MediaCore

/// Estimates when a frame is audible from the sound card's positions and the host clock: a latency monitor.
///
/// Readings have several errors. A sound server's position is an estimate while a stream starts. Later its client
/// library smooths it, and on a busy machine it wanders by many milliseconds for seconds (PulseAudio's, measured:
/// 25 ms), although frames leave at a steady rate. Hardware pointers advance in bursts, and a thread preempted between
/// reading and timestamp is late.
///
/// Readings are therefore grouped into buckets, represented by their medians. A bucket's weight follows from its length
/// and from the stability of the readings before and after it, because no quartz gains milliseconds in a second. A
/// straight line is fitted whose rate stays near the host clock's until long evidence contradicts it. A persistent step
/// is followed.
///
/// Confined to one thread. Allocates nothing after `init`.
struct DeviceClock {
    /// The state of the card's clock at the last reading.
    struct Estimate: Sendable, BitwiseCopyable {
        /// The reference frame.
        var frame: DeviceFrame
        /// When the reference frame is audible.
        var instant: HostInstant
        /// The card's rate against the host clock, in parts per million; positive is fast.
        var rateOffsetPPM: Double
        /// Standard uncertainty of `instant`.
        var uncertainty: Duration
        /// Host nanoseconds per frame.
        var nanosecondsPerFrame: Double

        /// Returns when a frame is audible.
        func instant(of frame: DeviceFrame) -> HostInstant {
            let frames = Double(self.frame.distance(to: frame))
            return HostInstant(
                nanoseconds: instant.nanoseconds + Int64((frames * nanosecondsPerFrame).rounded()))
        }
    }

    /// The parameters of the estimate, in nanoseconds unless they are ratios.
    struct Tuning {
        /// For this long after a start only the newest readings count.
        var settling: Int64 = 120_000_000
        /// Readings are steady after they agreed to `agreement` for this long, or after `steadyAtLast` in any case (a
        /// card whose position moves in large steps). PulseAudio's first 35 ms of a server-resampled stream agree with
        /// each other and are 47 ms wrong. Its position then stops until it is correct (measured).
        var steadyAfter: Int64 = 40_000_000
        var agreement = 1e6
        var steadyAtLast: Int64 = 250_000_000
        /// While a stream starts, readings that differ by more belong to another line.
        var jump = 5e6
        /// A position that stops for longer while a stream starts invalidates the readings before.
        var stillness: Int64 = 12_000_000
        /// The line is fitted from this number of buckets on.
        var minBuckets = 4
        /// The bucket lengths within the first second, within the first five seconds, and later.
        var buckets: (Int64, Int64, Int64) = (40_000_000, 250_000_000, 500_000_000)
        /// The weight of old buckets decays by 1/e in this time.
        var memory = 60e9
        /// The standard deviation of card rates against the host clock, as a ratio.
        var rateSpread = 40e-6
        /// The minimum noise of a median: adjacent readings share their errors.
        var minNoise = 300e3
        /// The noise of the first buckets.
        var firstNoise = 200e3
        /// The ratio of a bucket's noise to its instability over a second.
        var noisePerUnsteadiness = 3.0
        /// Instability decays by 1/e in this time.
        var unsteadyFor = 4e9
        /// Instability also counts against the readings of this time before, less the older they are. If PulseAudio's
        /// server or client is stalled for 30 ms during a start, the readings agree for half a second. They are up to
        /// 13 ms wrong, and then move for seconds (measured).
        var unsteadyBefore = 10e9
        /// A move larger than `step` that stays within `flat` is a true step.
        var step = 2e6
        var flat = 500e3
        /// How long a step must persist. The time is shorter in the first seconds, and for steps that no smoothing
        /// causes. A server that was not scheduled leaves an unreported hole in the audio (PulseAudio stopped for
        /// 150 ms: 90 ms of silence). Until the step is followed all audio is late by it.
        var stepAfter = 4e9
        var firstStepAfter = 500e6
        var largeStep = 10e6
        var largeStepAfter = 2.4e9
        var hugeStep = 40e6
        var hugeStepAfter = 1.4e9
        /// The permitted variation of such steps, relative to their size.
        var largeStepFlatness = 0.125
        /// The duration of the first seconds, in which `firstStepAfter` applies.
        var firstSeconds = 3e9
    }

    /// A reading, or the median of a bucket of readings.
    private struct Bucket {
        /// Nominal stream time of the middle reading, in nanoseconds since the first frame of the run.
        var stream: Double
        /// The host instant minus `stream`, relative to `base`, in nanoseconds.
        var offset: Double
        /// The assumed standard deviation, in nanoseconds.
        var noise = 0.0
    }

    private static let capacity = 128
    private static let readingsPerBucket = 64

    /// Nominal nanoseconds per frame.
    private let nominal: Double
    private var tuning = Tuning()
    /// A ring of buckets.
    private var buckets: [Bucket]
    private var bucketCount = 0
    /// The index of the newest bucket.
    private var newest = 0
    /// The readings of the open bucket.
    private var readings: [Bucket]
    private var readingCount = 0
    private static let latestCapacity = 5
    /// A ring of the newest readings.
    private var latest: [Bucket]
    private var latestCount = 0
    /// The movement of the position within a second that the rate does not explain, in nanoseconds; decays.
    private var unsteadiness = 0.0
    /// The standard deviation of readings against their neighbours, in nanoseconds.
    private var scatter = 0.0
    /// Scratch memory for medians.
    private var sorted: [Double]
    /// When the open bucket began, in nanoseconds of the host clock.
    private var bucketStart: Int64 = 0
    /// The host instant of frame 0 by the first reading, in nanoseconds.
    private var base: Int64 = 0
    /// When the run began, in nanoseconds of the host clock.
    private var runStart: Int64 = 0
    private var hasBase = false
    private var lastPosition: Int64 = .min
    /// When the position last moved, in nanoseconds of the host clock.
    private var movedAt: Int64 = 0
    /// The offset with which starting readings have agreed since `agreedSince`.
    private var agreedOffset = 0.0
    private var agreedSince: Int64 = 0
    /// The rate against the host clock as a ratio; retained across a reset, because the quartz is the same.
    private var rate = 0.0
    private var rateVariance: Double
    private var priorRate = 0.0
    private var priorVariance: Double
    /// Whether the estimate is accurate enough to schedule the first audio.
    private(set) var isSteady = false
    /// Whether the estimate rests on a fitted line instead of the newest readings.
    private(set) var isSettled = false
    /// The newest estimate; nil until a first reading after a start.
    private(set) var estimate: Estimate?

    /// Creates an estimator.
    ///
    /// - Parameter sampleRate: The card's configured rate in frames per second.
    init(sampleRate: Int) {
        nominal = 1e9 / Double(max(1, sampleRate))
        buckets = Array(repeating: Bucket(stream: 0, offset: 0), count: Self.capacity)
        readings = Array(repeating: Bucket(stream: 0, offset: 0), count: Self.readingsPerBucket)
        latest = Array(repeating: Bucket(stream: 0, offset: 0), count: Self.latestCapacity)
        sorted = Array(repeating: 0, count: Self.capacity)
        rateVariance = tuning.rateSpread * tuning.rateSpread
        priorVariance = rateVariance
    }

    /// Discards all positions after an underrun, a restart or a suspend; the rate is retained.
    mutating func reset() {
        if rateVariance < priorVariance {
            priorRate = rate
            // 5 ppm: the drift of a quartz with temperature while it is not measured.
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

    /// Adds a reading: the frame that leaves the card at an instant. Both must come from the same status query.
    mutating func add(position: DeviceFrame, at instant: HostInstant) {
        if !hasBase {
            hasBase = true
            base = instant.nanoseconds - Int64((Double(position.index) * nominal).rounded())
            runStart = instant.nanoseconds
            bucketStart = instant.nanoseconds
            movedAt = instant.nanoseconds
            agreedSince = instant.nanoseconds
            agreedOffset = 0
        }
        // An unchanged position carries no information.
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
        updateScatter(reading)
        latest[latestCount % Self.latestCapacity] = reading
        latestCount += 1
        let age = instant.nanoseconds - runStart
        guard age >= tuning.settling else {
            publishLatest(reading)
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
            closeBucket(span: span)
            bucketStart = instant.nanoseconds
        }
        if bucketCount < tuning.minBuckets { publishLatest(reading) } else { isSettled = true }
    }

    /// Checks whether the readings of a starting stream agree.
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

    /// Discards the readings of the start.
    private mutating func forgetLatest() {
        latestCount = 0
        readingCount = 0
    }

    /// Updates the scatter of adjacent readings: noise that medians average out, unlike a wandering position.
    private mutating func updateScatter(_ reading: Bucket) {
        guard latestCount > 0 else { return }
        let before = latest[(latestCount - 1) % Self.latestCapacity]
        let away = min(abs(reading.offset - before.offset), 4 * scatter + tuning.minNoise)
        // The mean distance of two normal values is 2/√π = 1.128 standard deviations.
        scatter += (away / 1.128 - scatter) / 16
    }

    /// Publishes an estimate from the newest readings, the only reliable ones while a stream starts.
    private mutating func publishLatest(_ reading: Bucket) {
        let count = min(latestCount, Self.latestCapacity)
        for index in 0..<count { sorted[index] = latest[index].offset - rate * (latest[index].stream - reading.stream) }
        publish(last: reading, level: medianOfSorted(count), slope: -rate, uncertainty: 2e6)
    }

    /// Reduces the open bucket to its median and fits the line.
    ///
    /// Readings share errors that outlast a bucket (PulseAudio's client updates its estimate every 1.5 s), so a short
    /// bucket weighs less.
    private mutating func closeBucket(span: Int64) {
        guard readingCount > 0 else { return }
        for index in 0..<readingCount { sorted[index] = readings[index].offset }
        let median = medianOfSorted(readingCount)
        var middle = readings[0]
        for index in 0..<readingCount where abs(readings[index].offset - median) < abs(middle.offset - median) {
            middle = readings[index]
        }
        // The standard error of the median of n normal values is 1.25/√n of their standard deviation.
        let scatter = 1.25 * scatter / Double(readingCount).squareRoot()
        readingCount = 0
        newest = bucketCount == 0 ? 0 : (newest + 1) % Self.capacity
        buckets[newest] = Bucket(stream: middle.stream, offset: median)
        bucketCount = min(bucketCount + 1, Self.capacity)
        let noise = noiseOfNewest(scatter: scatter)
        let shortness = Double(tuning.buckets.2) / Double(span)
        buckets[newest].noise = (noise * noise * shortness + scatter * scatter).squareRoot()
        dropBeforeStep()
        if bucketCount >= tuning.minBuckets { fit() }
    }

    /// Returns the noise of the newest bucket: its movement within the last second beyond the card's rate, which decays
    /// slowly. Raises the noise of the buckets before.
    private mutating func noiseOfNewest(scatter: Double) -> Double {
        let last = bucket(0)
        var age = 1
        while age < bucketCount - 1, last.stream - bucket(age).stream < 1e9 { age += 1 }
        guard bucketCount > 1, age < bucketCount else {
            unsteadiness = tuning.firstNoise / tuning.noisePerUnsteadiness
            return tuning.firstNoise
        }
        let before = bucket(age)
        // The chance difference of two medians: two standard deviations of a difference.
        let chance = 2.8 * scatter
        let moved = max(0, abs(last.offset - before.offset + rate * (last.stream - before.stream)) - chance)
        let elapsed = last.stream - bucket(1).stream
        unsteadiness = max(moved, unsteadiness * max(0, 1 - elapsed / tuning.unsteadyFor))
        for age in 1..<bucketCount {
            let index = (newest - age + Self.capacity) % Self.capacity
            let nearness = max(0, 1 - (last.stream - buckets[index].stream) / tuning.unsteadyBefore)
            buckets[index].noise = max(buckets[index].noise, tuning.noisePerUnsteadiness * moved * nearness)
        }
        return max(tuning.minNoise, tuning.noisePerUnsteadiness * unsteadiness)
    }

    /// Drops the buckets before a persistent step, because they belong to another line.
    private mutating func dropBeforeStep() {
        guard bucketCount > tuning.minBuckets, let estimate else { return }
        let last = bucket(0)
        let started = last.stream - Double(runStart - base) < tuning.firstSeconds
        let size = abs(last.offset - predictedOffset(at: last.stream, estimate))
        let usual =
            size > tuning.hugeStep
            ? tuning.hugeStepAfter : size > tuning.largeStep ? tuning.largeStepAfter : tuning.stepAfter
        let needed = started ? tuning.firstStepAfter : usual
        let flat = size > tuning.largeStep ? max(tuning.flat, size * tuning.largeStepFlatness) : tuning.flat
        var (low, high) = (Double.infinity, -Double.infinity)
        var (lowest, highest) = (Double.infinity, -Double.infinity)
        var age = 0
        while age < bucketCount {
            let past = bucket(age)
            let level = past.offset - rate * (last.stream - past.stream)
            (low, high) = (min(low, level), max(high, level))
            let residual = past.offset - predictedOffset(at: past.stream, estimate)
            (lowest, highest) = (min(lowest, residual), max(highest, residual))
            guard high - low < flat, lowest > tuning.step || highest < -tuning.step else { return }
            age += 1
            if last.stream - past.stream >= needed { break }
        }
        guard age < bucketCount, age >= tuning.minBuckets else { return }
        bucketCount = age
        unsteadiness = tuning.firstNoise / tuning.noisePerUnsteadiness
        for age in 0..<bucketCount { buckets[(newest - age + Self.capacity) % Self.capacity].noise = tuning.firstNoise }
    }

    /// Returns the offset that an estimate predicts at a stream time, in nanoseconds.
    private func predictedOffset(at stream: Double, _ estimate: Estimate) -> Double {
        let frame = Double(estimate.frame.index)
        let instant = Double(estimate.instant.nanoseconds - base)
        return instant + (stream / nominal - frame) * estimate.nanosecondsPerFrame - stream
    }

    /// Returns a bucket by its age; 0 is the newest.
    private func bucket(_ age: Int) -> Bucket { buckets[(newest - age + Self.capacity) % Self.capacity] }

    /// Sorts the first `count` values of `sorted` in place and returns their median.
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

    /// Fits offset and rate by weighted least squares around the newest bucket, with a prior on the rate. Outliers are
    /// weighted down in three iterations (P. J. Huber's function, 1.5 standard deviations).
    private mutating func fit() {
        let last = bucket(0)
        let count = bucketCount
        // offset = level + slope × (stream − last.stream); slope = −rate, because a fast card takes less host time.
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
            // The prior on the slope acts as another observation.
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

    /// Returns the weight of an age without `exp`: 1 / (1 + a + a²/2 + a³/6 + a⁴/24), a close approximation of e⁻ᵃ.
    private func fading(_ x: Double) -> Double {
        let a = -x / tuning.memory
        return 1 / (1 + a * (1 + a / 2 * (1 + a / 3 * (1 + a / 4))))
    }
}
