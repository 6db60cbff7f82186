package import MediaCore

/// How the wall's time is known.
package enum WallStanding: String, Sendable, Hashable {
    /// Not yet: chrony has not found its reference.
    case unknown
    /// chrony keeps the clock, and says how well.
    case synchronised
    /// chrony did, and is silent or has lost its reference: the line goes on as it was.
    case remembered
    /// Nobody says: the system's clock is taken at its word.
    case system
}

/// What is known of the wall's time at present; for people, records and metrics.
package struct WallClockState: Sendable {
    package var standing = WallStanding.unknown
    package var mapping: ClockMapping<HostInstant, WallInstant>?
    /// The last report that counted; `correction`, `frequency`, `skew` and the like are chrony's own.
    package var tracking: ChronyTracking?
    /// When the clock was last read so that it counted.
    package var readAt: HostInstant?

    package init() {}

    /// How far the wall's time may be off (chrony's bound); nil while nobody knows.
    package var uncertainty: Duration? { standing == .unknown ? nil : mapping?.uncertainty }
}

/// The time that the screens of a wall agree on, read from chrony every few seconds. Threads: any; `refresh` blocks, and is called by one
/// thread at a time, its own if `start` gave it one.
package final class WallClock: Sendable {
    package typealias Ask = @Sendable (_ isCancelled: () -> Bool) -> ChronyAnswer

    private struct State {
        var estimate = WallEstimate()
        var shown = WallClockState()
        var began: HostInstant?
        var good = 0
        var isStopping = false
        var hasTold: String?
    }

    /// Between two readings, and the first few: a rate wants some seconds between them, a line wants news before it has gone astray.
    private static let pause = Duration.seconds(16)
    private static let firstPause = Duration.seconds(4)
    private static let firstReadings = 4
    /// A chronyd that was just started has its reference within seconds (`iburst`, chrony.conf(5)); one that has none after this long is
    /// not waited for.
    private static let patience = Duration.seconds(60)

    package let clock: any HostClock
    private let ask: Ask
    private let read: @Sendable () -> SystemClockReading
    private let tell: @Sendable (String) -> Void
    private let state = Lock(State())
    private let signal = Signal()
    private let thread = Lock<WorkerThread?>(nil)

    /// - Parameters:
    ///   - ask: chrony, as a rule.
    ///   - read: the system's clock.
    ///   - tell: what a person should know, once each; on the thread that refreshes.
    package init(
        clock: any HostClock = MonotonicClock(), ask: @escaping Ask, read: (@Sendable () -> SystemClockReading)? = nil,
        tell: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.clock, self.ask, self.tell) = (clock, ask, tell)
        self.read = read ?? { SystemClockReading.take(by: clock) }
    }

    package convenience init(
        clock: any HostClock = MonotonicClock(), chrony: ChronyReader, tell: @escaping @Sendable (String) -> Void
    ) {
        self.init(clock: clock, ask: { chrony.read(isCancelled: $0) }, tell: tell)
    }

    /// What is known now. Lock held for nanoseconds.
    package var shown: WallClockState { state.withLock { $0.shown } }

    /// From this computer's clock to the wall's time; nil while nobody knows.
    package var mapping: ClockMapping<HostInstant, WallInstant>? { state.withLock { $0.shown.mapping } }

    // MARK: The thread

    /// Gives it a thread of its own, which reads the clock until `stop`.
    package func start() throws(ExhaustionError) {
        let worker = try WorkerThread.start(name: "wall clock") { [self] in
            while !state.withLock({ $0.isStopping }) {
                let pause = refresh()
                signal.wait(until: .now.advanced(by: pause))
            }
        }
        thread.withLock { $0 = worker }
    }

    /// Ends the thread and waits for it; chronyc is not waited for.
    package func stop() {
        state.withLock { $0.isStopping = true }
        signal.raise()
        let worker = thread.withLock { thread -> WorkerThread? in
            defer { thread = nil }
            return thread
        }
        worker?.join()
    }

    /// Reads both clocks once. Blocks while chrony answers.
    ///
    /// - Returns: when it is worth doing again.
    @discardableResult
    package func refresh() -> Duration {
        let answer = ask { state.withLock { $0.isStopping } }
        let reading = read()
        let sentences = state.withLock { state in Self.take(answer, reading, &state) }
        for sentence in sentences { tell(sentence) }
        return state.withLock { $0.good < Self.firstReadings ? Self.firstPause : Self.pause }
    }

    private static func take(_ answer: ChronyAnswer, _ reading: SystemClockReading, _ state: inout State) -> [String] {
        let began = state.began ?? reading.host
        state.began = began
        var sentences: [String] = []
        let before = state.shown.standing
        var believed: ChronyTracking??
        switch answer {
        case .report(let tracking) where tracking.isSynchronised:
            believed = .some(tracking)
            state.shown.standing = .synchronised
        case .report where before == .unknown && reading.host - began < patience: break
        case .report, .absent:
            if before == .synchronised || before == .remembered {
                state.shown.standing = .remembered
            } else {
                believed = .some(nil)
                state.shown.standing = .system
            }
        }
        if let tracking = believed {
            switch state.estimate.take(reading, tracking) {
            case .taken: break
            case .doubted(let offset):
                sentences.append(
                    "The clock of this computer was set \(words(offset)); the wall goes on by its own until it is confirmed."
                )
            case .stepped(let offset): sentences.append("The wall's time is \(words(offset)) from here on.")
            }
            (state.shown.mapping, state.shown.tracking, state.shown.readAt) = (
                state.estimate.mapping, tracking, reading.host
            )
            state.good += 1
        }
        if state.shown.standing != before { sentences += news(of: state.shown, answer, before) }
        // A doubt comes with each reading; once is enough.
        sentences.removeAll { $0 == state.hasTold }
        if let last = sentences.last { state.hasTold = last }
        return sentences
    }

    private static func news(of shown: WallClockState, _ answer: ChronyAnswer, _ before: WallStanding) -> [String] {
        let why = if case .absent(let why) = answer { why } else { "chrony has lost its reference" }
        switch shown.standing {
        case .unknown: return []
        case .synchronised:
            let server = shown.tracking.map { $0.server.isEmpty ? $0.reference : $0.server } ?? ""
            return ["The wall's time is chrony's, by \(server)."]
        case .remembered: return ["\(why). The wall's time goes on as it was.".capitalizedFirst]
        case .system:
            let cause = if case .absent(let why) = answer { why } else { "chrony has found no reference" }
            return ["\(cause). The wall keeps the time of this computer as it is.".capitalizedFirst]
        }
    }

    private static func words(_ offset: Duration) -> String {
        let seconds = Decimals.text(max(offset, .zero - offset).inSeconds, 3)
        return "\(seconds) s \(offset < .zero ? "earlier" : "later")"
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
