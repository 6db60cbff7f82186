internal import MediaCore

/// Estimates offset and rate of a remote PTP clock against the host clock by a robust linear fit.
///
/// A Sync sent at T (remote clock) and received at H (host clock) yields the offset `T - H`, which includes the path
/// delay. Queueing only adds delay, so of each window only its fastest message enters the fit, and points below the
/// line weigh less. The second fastest is used: a master preempted before reading its clock sends a timestamp that is
/// too late, and its message seems too fast. Half the round trip of Delay_Req and Delay_Resp gives the path delay, if
/// the master answers.
///
/// Bounds for any input: the rate stays within ±200 ppm. A contradicting timestamp is rejected until the contradiction
/// is consistent and nothing supports the line. Nothing allocates after `init`.
struct MasterClockFilter: Sendable {
    /// The result of `observe(origin:received:)`.
    enum Verdict: Equatable, Sendable {
        case taken
        /// Received earlier than a message already used; discarded.
        case stale
        /// Contradicts the line; discarded. No continuously running clock produces this timestamp.
        case refused
        /// The estimate restarts at this message: the first one, or the master's time has stepped.
        case begun
    }

    /// Limit of the rate, as a ratio; above the frequency error of any quartz oscillator.
    static let largestRate = 200e-6
    /// Standard deviation of the rate between two quartz oscillators. As the prior's width it holds the rate near
    /// `priorRate` while there are few points.
    private static let rateSpread = 40e-6
    /// Messages and nanoseconds until the estimate is usable. Other implementations accept a HomePod's time after
    /// 0.4 s. Waiting 0.6 s halves the error that a busy computer's first timestamps leave to playback.
    private static let lockMessages = 6
    private static let lockTime: Int64 = 600_000_000
    /// Window lengths in nanoseconds; the short one applies for the first 4 s, so that an estimate is available early.
    private static let stretches: (early: Int64, late: Int64, earlyFor: Int64) =
        (250_000_000, 1_000_000_000, 4_000_000_000)
    /// The number of points in the fit: about one minute of windows.
    private static let capacity = 64
    /// The number of round trips in the path delay estimate.
    private static let tripCapacity = 64
    /// Maximum lateness of an accepted message in nanoseconds (queueing delay).
    private static let slowest = 250e6
    /// Maximum earliness of an accepted message in nanoseconds, beyond noise and drift.
    private static let quickest = 2e6
    /// Longest accepted round trip in nanoseconds; longer ones in a local network are errors.
    private static let longestTrip = 200e6
    /// The estimate restarts after this many contradicting messages that agree with each other, and this many
    /// nanoseconds without support. It also restarts after this many consecutive windows with late messages only.
    private static let rebels = 12
    private static let support: Int64 = 1_500_000_000
    private static let sunkenStretches = 4
    /// Contradicting messages within this many nanoseconds agree with each other.
    private static let agreement = 5e6
    /// Lower bound of `scatter`, in nanoseconds.
    private static let minScatter = 20e3

    /// The selected message of a window: nanoseconds since `base.host`, and offset relative to `base.offset`.
    private struct Point {
        var time: Double
        var offset: Double
    }

    /// Host time and offset of the first message, in nanoseconds.
    private var base: (host: Int64, offset: Int64)?
    /// Ring buffer of closed windows; `oldest` is the index of its first point.
    private var points: [Point]
    private var pointCount = 0
    private var oldest = 0
    /// The two fastest messages of the current window; `openCount` is the number of its messages.
    private var open: Point?
    private var second: Point?
    private var openCount = 0
    private var openSince = 0.0
    /// Ring buffer of round trips in nanoseconds.
    private var trips: [Double]
    private var tripCount = 0
    private var newestTrip = 0
    /// Scratch memory of `measurePath`, so that it does not allocate.
    private var sorted: [Double]
    /// The line: `height + rate × (time - centre)`; nanoseconds in the coordinates of `Point`.
    private var centre = 0.0
    private var height = 0.0
    /// The rate before the last restart: the mean of the prior.
    private var priorRate = 0.0
    /// Rate of the remote clock minus 1.
    private(set) var rate = 0.0
    /// Standard deviation of the points around the line, estimated from the mean absolute residual; nanoseconds.
    private var scatter = 0.0
    /// Consecutive windows that contain late messages only.
    private var sunken = 0
    private var messages = 0
    /// Nanoseconds since `base.host`: the last message that was accepted, and the last that supported the line.
    private var last = 0.0
    private var supported = 0.0
    /// Consecutive contradicting messages that agree with each other; `since` is the time of the first.
    private var rebel: (offset: Double, since: Double, count: Int)?
    /// Path delay in nanoseconds; nil if the master has answered no Delay_Req.
    private var path: Double?

    init() {
        points = Array(repeating: Point(time: 0, offset: 0), count: Self.capacity)
        trips = Array(repeating: 0, count: Self.tripCapacity)
        sorted = Array(repeating: 0, count: Self.tripCapacity)
    }

    /// True if enough messages were received to schedule audio by the estimate.
    var isLocked: Bool { messages >= Self.lockMessages && last >= Double(Self.lockTime) }

    /// The measured path delay from the master; nil if the master has answered no Delay_Req.
    var measuredPath: Duration? { path.map { .nanoseconds(Int64($0)) } }

    /// Adds one Sync to the estimate.
    ///
    /// - Parameters:
    ///   - origin: departure of the Sync on the master's clock.
    ///   - received: its arrival on the host clock.
    mutating func observe(origin: PTPInstant, received: HostInstant) -> Verdict {
        let offset = origin.nanoseconds &- received.nanoseconds
        guard let base else {
            begin(offset: offset, at: received)
            return .begun
        }
        let time = Double(received.nanoseconds &- base.host)
        let seen = Double(offset &- base.offset)
        // Datagrams of one socket arrive in order; an older timestamp is no evidence.
        guard time >= last else { return .stale }
        let residual = seen - value(at: time)
        let quickest = Self.quickest + 4 * scatter + Self.largestRate * (time - supported)
        guard residual <= quickest, residual >= -Self.slowest else {
            return contradict(seen, at: time) ? restart(offset, received) : .refused
        }
        messages += 1
        (last, supported) = (time, time)
        // Contradictions received while the line was supported do not count later.
        rebel = nil
        let length = time < Double(Self.stretches.earlyFor) ? Self.stretches.early : Self.stretches.late
        if let point = quick, time - openSince >= Double(length) {
            close(point)
            open = nil
            if sunken >= Self.sunkenStretches { return restart(offset, received) }
        }
        gather(Point(time: time, offset: seen))
        fit()
        return .taken
    }

    /// Adds one Delay_Req and its Delay_Resp to the path delay estimate. Ignored until `isLocked`.
    ///
    /// - Parameters:
    ///   - sent: departure of the Delay_Req on the host clock.
    ///   - received: its arrival on the master's clock.
    mutating func observeAnswer(sent: HostInstant, received: PTPInstant) {
        guard let base, isLocked else { return }
        let seen = Double(received.nanoseconds &- sent.nanoseconds &- base.offset)
        let trip = seen - value(at: Double(sent.nanoseconds &- base.host))
        guard trip > -500e3, trip < Self.longestTrip else { return }
        trips[newestTrip] = trip
        newestTrip = (newestTrip + 1) % Self.tripCapacity
        tripCount = min(tripCount + 1, Self.tripCapacity)
        measurePath()
    }

    /// Returns the estimate, anchored at `now`; nil before the first Sync.
    ///
    /// - Parameter fallback: the path delay to assume if the master answers no Delay_Req.
    func mapping(at now: HostInstant, fallbackPath fallback: Duration) -> ClockMapping<HostInstant, PTPInstant>? {
        guard let base else { return nil }
        let way = path ?? Double(fallback.wholeNanoseconds)
        let offset = value(at: Double(now.nanoseconds &- base.host)) + way
        let noise = scatter / Double(max(1, pointCount)).squareRoot()
        // A measured path is uncertain by its asymmetry, an assumed one entirely.
        let doubt = path == nil ? way : way / 4
        return ClockMapping(
            sourceAnchor: now,
            targetAnchor: PTPInstant(nanoseconds: now.nanoseconds &+ base.offset &+ Self.clampedNanoseconds(offset)),
            rateOffset: rate,
            uncertainty: .nanoseconds(Self.clampedNanoseconds((noise * noise + doubt * doubt).squareRoot())))
    }

    private static func clampedNanoseconds(_ nanoseconds: Double) -> Int64 {
        Int64(clamping: nanoseconds, in: .min ... .max)
    }

    // MARK: Inside

    /// Returns the offset of the line, in the coordinates of `Point`.
    private func value(at time: Double) -> Double { height + rate * (time - centre) }

    /// Restarts the estimate. The rate is kept, because the oscillator is the same.
    private mutating func begin(offset: Int64, at received: HostInstant) {
        base = (received.nanoseconds, offset)
        (pointCount, oldest, tripCount, newestTrip) = (0, 0, 0, 0)
        (centre, height, scatter, sunken) = (0, 0, 0, 0)
        (messages, last, supported, rebel) = (1, 0, 0, nil)
        priorRate = rate
        open = nil
        gather(Point(time: 0, offset: 0))
    }

    private mutating func gather(_ point: Point) {
        guard let best = open else {
            (open, second, openCount, openSince) = (point, nil, 1, point.time)
            return
        }
        // Compared along the line, because the later message has drifted.
        func height(_ point: Point) -> Double { point.offset - rate * point.time }
        openCount += 1
        if height(point) > height(best) {
            (open, second) = (point, best)
        } else if second.map({ height(point) > height($0) }) ?? true {
            second = point
        }
    }

    /// The representative of the current window. The second fastest is used from three messages on: of two it is
    /// unknown which one is wrong.
    private var quick: Point? { openCount >= 3 ? second : open }

    private mutating func restart(_ offset: Int64, _ received: HostInstant) -> Verdict {
        begin(offset: offset, at: received)
        return .begun
    }

    /// Counts a message that contradicts the line. Returns true if the estimate must restart.
    private mutating func contradict(_ seen: Double, at time: Double) -> Bool {
        if let known = rebel, abs(seen - known.offset) <= Self.agreement {
            rebel?.count += 1
        } else {
            rebel = (seen, time, 1)
        }
        // An estimate from one message has no support against the next.
        if messages == 1 { return true }
        guard let rebel, rebel.count >= Self.rebels else { return false }
        return time - supported >= Double(Self.support)
    }

    /// Adds the point of a completed window to the ring.
    private mutating func close(_ point: Point) {
        let below = value(at: point.time) - point.offset
        sunken = pointCount >= 4 && below > 1.5e6 + 6 * scatter ? sunken + 1 : 0
        let slot = (oldest + pointCount) % Self.capacity
        points[slot] = point
        if pointCount < Self.capacity { pointCount += 1 } else { oldest = (oldest + 1) % Self.capacity }
    }

    /// Fits a line by iteratively reweighted least squares: three iterations with Cauchy weights.
    private mutating func fit() {
        for round in 0..<3 {
            var (weights, times, offsets) = (0.0, 0.0, 0.0)
            forEachPoint { point in
                let weight = weight(of: point, round)
                weights += weight
                times += weight * point.time
                offsets += weight * point.offset
            }
            guard weights > 0 else { return }
            let (middle, mean) = (times / weights, offsets / weights)
            var (square, product) = (0.0, 0.0)
            forEachPoint { point in
                let weight = weight(of: point, round)
                let away = point.time - middle
                square += weight * away * away
                product += weight * away * (point.offset - mean)
            }
            let noise = max(Self.minScatter, scatter) / Self.rateSpread
            let prior = noise * noise
            let slope = (product + priorRate * prior) / (square + prior)
            rate = max(-Self.largestRate, min(Self.largestRate, slope))
            (centre, height) = (middle, mean)
            var (distances, count) = (0.0, 0.0)
            forEachPoint { point in
                let weight = weight(of: point, round)
                distances += weight * abs(point.offset - value(at: point.time))
                count += weight
            }
            scatter = 1.25 * distances / count
        }
    }

    private func weight(of point: Point, _ round: Int) -> Double {
        guard round > 0 else { return 1 }
        let scale = max(Self.minScatter, scatter)
        let away = (point.offset - value(at: point.time)) / (point.offset < value(at: point.time) ? scale : 4 * scale)
        return 1 / (1 + away * away)
    }

    private func forEachPoint(_ body: (Point) -> Void) {
        for index in 0..<pointCount { body(points[(oldest + index) % Self.capacity]) }
        if let quick { body(quick) }
    }

    /// Sets `path` to half the mean of the shortest quarter of the round trips.
    private mutating func measurePath() {
        let count = tripCount
        for index in 0..<count {
            var slot = index
            while slot > 0, sorted[slot - 1] > trips[index] {
                sorted[slot] = sorted[slot - 1]
                slot -= 1
            }
            sorted[slot] = trips[index]
        }
        let quarter = max(1, count / 4)
        var sum = 0.0
        for index in 0..<quarter { sum += sorted[index] }
        path = max(0, sum / Double(quarter) / 2)
    }
}
