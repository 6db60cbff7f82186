internal import MediaCore

/// A foreign clock as a straight line against ours, drawn through what its messages say: offset and rate.
///
/// A Sync that left at T and came at H says "T minus H, less the way it took". Most ways are longer than the shortest,
/// none is shorter, so of each stretch of time only a quick message counts, and those that lie below the line count
/// little. The second quickest is taken: a master that was interrupted before it read its clock makes one that seems
/// too quick. The way itself is half of what question and answer take together, as far as the master answers.
///
/// Whatever messages say, the line stays bounded: its rate is held to ±200 ppm, a time that contradicts it is left out
/// until the contradiction is steady and nothing supports the line any more. Nothing allocates after `init`.
struct MasterLine: Sendable {
    /// What became of a message's time.
    enum Verdict: Equatable, Sendable {
        case taken
        /// Older than what is known; was left out.
        case stale
        /// Contradicts the line and was left out: no clock that ran on makes such a time.
        case refused
        /// The line begins anew here: the master's time has stepped.
        case begun
    }

    /// More than any quartz is off.
    static let largestRate = 200e-6
    /// Standard deviation of a quartz against another; a rate is held near zero until there is evidence.
    private static let rateSpread = 40e-6
    /// Usable after so many messages over so long. Others take a HomePod's time after 0.4 s; half as much again halves
    /// what the first stamps of a busy computer leave to be corrected while sound plays.
    private static let lockMessages = 6
    private static let lockTime: Int64 = 600_000_000
    /// Each stretch gives its quickest message: short stretches at first, so that there is a line soon.
    private static let stretches: (early: Int64, late: Int64, earlyFor: Int64) =
        (250_000_000, 1_000_000_000, 4_000_000_000)
    /// A minute of stretches.
    private static let capacity = 64
    /// Questions whose answers count.
    private static let tripCapacity = 64
    /// A message that comes later than the line says by up to this was on its way for long.
    private static let slowest = 250e6
    /// A message that comes earlier than the line says by more, and by more than its noise explains, is no message of
    /// this line.
    private static let quickest = 2e6
    /// The longest way to and fro that is believed; others in a local network are errors.
    private static let longestTrip = 200e6
    /// A line is given up after so many messages that agree with each other and not with it, and so long without
    /// support; and after so many stretches of late messages only.
    private static let rebels = 12
    private static let support: Int64 = 1_500_000_000
    private static let sunkenStretches = 4
    /// Messages that agree with each other to this speak of one line.
    private static let agreement = 5e6
    private static let leastScatter = 20e3

    /// The quickest message of a stretch: nanoseconds since `base`, and offset beyond the base's.
    private struct Point {
        var time: Double
        var offset: Double
    }

    private var base: (host: Int64, offset: Int64)?
    private var points: [Point]
    private var pointCount = 0
    private var oldest = 0
    /// The quickest two of the present stretch, and how many it has.
    private var open: Point?
    private var second: Point?
    private var openCount = 0
    private var openSince = 0.0
    private var trips: [Double]
    private var tripCount = 0
    private var newestTrip = 0
    private var sorted: [Double]
    private var centre = 0.0
    private var height = 0.0
    private var priorRate = 0.0
    private(set) var rate = 0.0
    /// How far quickest messages lie from the line, on average, nanoseconds.
    private var scatter = 0.0
    private var sunken = 0
    private var messages = 0
    private var last = 0.0
    private var supported = 0.0
    private var rebel: (offset: Double, since: Double, count: Int)?
    /// Half the way to and fro, nanoseconds; nil while the master has answered nothing.
    private var path: Double?

    init() {
        points = Array(repeating: Point(time: 0, offset: 0), count: Self.capacity)
        trips = Array(repeating: 0, count: Self.tripCapacity)
        sorted = Array(repeating: 0, count: Self.tripCapacity)
    }

    /// Whether the line is good enough to place sound by.
    var isLocked: Bool { messages >= Self.lockMessages && last >= Double(Self.lockTime) }

    /// The way from the master to here as measured; nil while it has answered no question.
    var measuredPath: Duration? { path.map { .nanoseconds(Int64($0)) } }

    /// - Parameters:
    ///   - origin: when the Sync left, on the master's clock.
    ///   - received: when it came, on ours.
    mutating func observe(origin: PTPInstant, received: HostInstant) -> Verdict {
        let offset = origin.nanoseconds &- received.nanoseconds
        guard let base else {
            begin(offset: offset, at: received)
            return .begun
        }
        let time = Double(received.nanoseconds &- base.host)
        let seen = Double(offset &- base.offset)
        // Datagrams of one socket come in order; one from the past is no evidence.
        guard time >= last else { return .stale }
        let residual = seen - value(at: time)
        let quickest = Self.quickest + 4 * scatter + Self.largestRate * (time - supported)
        guard residual <= quickest, residual >= -Self.slowest else {
            return contradict(seen, at: time) ? restart(offset, received) : .refused
        }
        messages += 1
        (last, supported) = (time, time)
        // What contradicts the line beside its support does not count once that fails.
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

    /// - Parameters:
    ///   - sent: when our question left.
    ///   - received: when the master received it, on its clock.
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

    /// The line at a moment of our clock.
    ///
    /// - Parameter fallback: the way to here where the master answers no questions.
    func mapping(at now: HostInstant, fallbackPath fallback: Duration) -> ClockMapping<HostInstant, PTPInstant>? {
        guard let base else { return nil }
        let way = path ?? Double(fallback.wholeNanoseconds)
        let offset = value(at: Double(now.nanoseconds &- base.host)) + way
        let noise = scatter / Double(max(1, pointCount)).squareRoot()
        // A way that was measured is unknown by how much there and back differ; one that was not, altogether.
        let doubt = path == nil ? way : way / 4
        return ClockMapping(
            sourceAnchor: now,
            targetAnchor: PTPInstant(nanoseconds: now.nanoseconds &+ base.offset &+ Self.whole(offset)),
            rateOffset: rate, uncertainty: .nanoseconds(Self.whole((noise * noise + doubt * doubt).squareRoot())))
    }

    private static func whole(_ nanoseconds: Double) -> Int64 { Int64(clamping: nanoseconds, in: .min ... .max) }

    // MARK: Inside

    private func value(at time: Double) -> Double { height + rate * (time - centre) }

    /// The same quartz goes on, so its rate is kept.
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
        // Compared along the line: the later one has drifted.
        func height(_ point: Point) -> Double { point.offset - rate * point.time }
        openCount += 1
        if height(point) > height(best) {
            (open, second) = (point, best)
        } else if second.map({ height(point) > height($0) }) ?? true {
            second = point
        }
    }

    /// What speaks for the present stretch: of two messages nobody knows which one is wrong.
    private var quick: Point? { openCount >= 3 ? second : open }

    private mutating func restart(_ offset: Int64, _ received: HostInstant) -> Verdict {
        begin(offset: offset, at: received)
        return .begun
    }

    /// A message that does not fit the line; true when the line is no longer believed.
    private mutating func contradict(_ seen: Double, at time: Double) -> Bool {
        if let known = rebel, abs(seen - known.offset) <= Self.agreement {
            rebel?.count += 1
        } else {
            rebel = (seen, time, 1)
        }
        // A line of one message has no more right than the next.
        if messages == 1 { return true }
        guard let rebel, rebel.count >= Self.rebels else { return false }
        return time - supported >= Double(Self.support)
    }

    private mutating func close(_ point: Point) {
        let below = value(at: point.time) - point.offset
        sunken = pointCount >= 4 && below > 1.5e6 + 6 * scatter ? sunken + 1 : 0
        let place = (oldest + pointCount) % Self.capacity
        points[place] = point
        if pointCount < Self.capacity { pointCount += 1 } else { oldest = (oldest + 1) % Self.capacity }
    }

    /// A weighted line, drawn again while late messages lose their weight.
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
            let noise = max(Self.leastScatter, scatter) / Self.rateSpread
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
        let scale = max(Self.leastScatter, scatter)
        let away = (point.offset - value(at: point.time)) / (point.offset < value(at: point.time) ? scale : 4 * scale)
        return 1 / (1 + away * away)
    }

    private func forEachPoint(_ body: (Point) -> Void) {
        for index in 0..<pointCount { body(points[(oldest + index) % Self.capacity]) }
        if let quick { body(quick) }
    }

    /// Half of what the quickest quarter of the questions took.
    private mutating func measurePath() {
        let count = tripCount
        for index in 0..<count {
            var place = index
            while place > 0, sorted[place - 1] > trips[index] {
                sorted[place] = sorted[place - 1]
                place -= 1
            }
            sorted[place] = trips[index]
        }
        let quarter = max(1, count / 4)
        var sum = 0.0
        for index in 0..<quarter { sum += sorted[index] }
        path = max(0, sum / Double(quarter) / 2)
    }
}
