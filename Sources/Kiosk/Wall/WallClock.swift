import MediaCore

/// The source of a wall's time.
enum WallStanding: String, Sendable, Hashable {
    /// Not known yet: chrony has no reference so far.
    case unknown = "unknown"
    /// chrony synchronises the system clock and states its error.
    case synchronised = "synchronised"
    /// chrony no longer responds or has lost its reference; the last mapping continues.
    case remembered = "remembered"
    /// chrony is not available; the system clock is used as it is.
    case system = "system"
}

/// The state of a wall's clock, for log and metrics.
struct WallClockState: Sendable {
    /// The source of the time.
    var standing = WallStanding.unknown
    /// The mapping from this computer's clock to the wall's time; nil while unknown.
    var mapping: ClockMapping<HostInstant, WallInstant>?
    /// The last evaluated report; `correction`, `frequency` and `skew` are chrony's values.
    var tracking: ChronyTracking?
    /// When the system clock was last read and the reading evaluated.
    var readAt: HostInstant?

    init() {}
}

/// The common time of the screens of a wall, read from chrony every few seconds.
///
/// Any thread. `refresh` blocks and must be called by one thread at a time; after `start`, that is the clock's thread.
final class WallClock: Sendable {
    typealias Ask = @Sendable (_ isCancelled: () -> Bool) -> ChronyAnswer

    private struct State {
        var estimate = WallEstimate()
        var shown = WallClockState()
        /// When the first reading was made.
        var began: HostInstant?
        /// The number of evaluated readings.
        var good = 0
        var isStopping = false
        /// The last reported sentence.
        var lastReported: String?
    }

    /// The interval between readings, shorter for the first ones. A rate needs some seconds between readings; drift
    /// must be corrected before it accumulates.
    private static let pause = Duration.seconds(16)
    private static let firstPause = Duration.seconds(4)
    private static let firstReadings = 4
    /// A chronyd that was just started has its reference within seconds (`iburst`, chrony.conf(5)). Without a reference
    /// after this time, the system clock is used.
    private static let timeout = Duration.seconds(60)

    /// The clock of host instants.
    let clock: any HostClock
    private let ask: Ask
    private let read: @Sendable () -> SystemClockReading
    private let report: @Sendable (String) -> Void
    private let state = Lock(State())
    private let signal = Signal()
    private let thread = Lock<WorkerThread?>(nil)

    /// Creates a clock; `start` starts its thread.
    ///
    /// - Parameters:
    ///   - ask: Queries chrony.
    ///   - read: Reads the system clock.
    ///   - report: Called with sentences for the user, without consecutive duplicates, on the thread of `refresh`.
    init(
        clock: any HostClock = MonotonicClock(), ask: @escaping Ask, read: (@Sendable () -> SystemClockReading)? = nil,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.clock, self.ask, self.report) = (clock, ask, report)
        self.read = read ?? { SystemClockReading.sample(by: clock) }
    }

    /// Creates a clock that queries chronyd.
    convenience init(
        clock: any HostClock = MonotonicClock(), chrony: ChronyReader, report: @escaping @Sendable (String) -> Void
    ) {
        self.init(clock: clock, ask: { chrony.read(isCancelled: $0) }, report: report)
    }

    /// The current state. The lock is held for nanoseconds.
    var shown: WallClockState { state.withLock { $0.shown } }

    /// The mapping from this computer's clock to the wall's time; nil while unknown.
    var mapping: ClockMapping<HostInstant, WallInstant>? { state.withLock { $0.shown.mapping } }

    // MARK: Thread

    /// Starts a thread that reads the clock until `stop`.
    ///
    /// - Throws: `ExhaustionError` if the system provides no thread.
    func start() throws(ExhaustionError) {
        let worker = try WorkerThread.start(name: "wall clock") { [self] in
            while !state.withLock({ $0.isStopping }) {
                let pause = refresh()
                signal.wait(until: .now.advanced(by: pause))
            }
        }
        thread.withLock { $0 = worker }
    }

    /// Ends and joins the thread; a running chronyc is cancelled.
    func stop() {
        state.withLock { $0.isStopping = true }
        signal.raise()
        thread.withLock { $0.take() }?.join()
    }

    /// Reads both clocks once. Blocks while chrony responds.
    ///
    /// - Returns: The delay until the next reading.
    @discardableResult
    func refresh() -> Duration {
        let answer = ask { state.withLock { $0.isStopping } }
        let reading = read()
        let sentences = state.withLock { state in Self.applyReading(answer, reading, &state) }
        for sentence in sentences { report(sentence) }
        return state.withLock { $0.good < Self.firstReadings ? Self.firstPause : Self.pause }
    }

    private static func applyReading(_ answer: ChronyAnswer, _ reading: SystemClockReading, _ state: inout State)
        -> [String]
    {
        let began = state.began ?? reading.host
        state.began = began
        var sentences: [String] = []
        let before = state.shown.standing
        var believed: ChronyTracking??
        switch answer {
        case .report(let tracking) where tracking.isSynchronised:
            believed = .some(tracking)
            state.shown.standing = .synchronised
        case .report where before == .unknown && reading.host - began < timeout: break
        case .report, .absent:
            if before == .synchronised || before == .remembered {
                state.shown.standing = .remembered
            } else {
                believed = .some(nil)
                state.shown.standing = .system
            }
        }
        if let tracking = believed {
            switch state.estimate.update(reading, tracking) {
            case .taken: break
            case .doubted(let offset):
                sentences.append(
                    "The clock of this computer was set \(text(offset)); the wall keeps its previous time until the new time is confirmed."
                )
            case .stepped(let offset): sentences.append("The wall's time is \(text(offset)) from now on.")
            }
            (state.shown.mapping, state.shown.tracking, state.shown.readAt) = (
                state.estimate.mapping, tracking, reading.host
            )
            state.good += 1
        }
        if state.shown.standing != before { sentences += event(of: state.shown, answer, before) }
        // A doubt recurs with each reading and is reported once.
        sentences.removeAll { $0 == state.lastReported }
        if let last = sentences.last { state.lastReported = last }
        return sentences
    }

    private static func event(of shown: WallClockState, _ answer: ChronyAnswer, _ before: WallStanding) -> [String] {
        let why = if case .absent(let why) = answer { why } else { "chrony has lost its reference" }
        switch shown.standing {
        case .unknown: return []
        case .synchronised:
            let server = shown.tracking.map { $0.server.isEmpty ? $0.reference : $0.server } ?? ""
            return ["The wall uses chrony's time from \(server)."]
        case .remembered: return ["\(why). The wall continues with its last known time.".capitalizedFirst]
        case .system:
            let cause = if case .absent(let why) = answer { why } else { "chrony has found no reference" }
            return ["\(cause). The wall uses this computer's time.".capitalizedFirst]
        }
    }

    private static func text(_ offset: Duration) -> String {
        let seconds = Decimals.text(max(offset, .zero - offset).inSeconds, 3)
        return "\(seconds) s \(offset < .zero ? "earlier" : "later")"
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
