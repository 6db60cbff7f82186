internal import MediaCore

/// An observer of the timeline. Observation ends with `RenderSynchronizer.removeTimeObserver`, or when the last
/// reference to this object goes.
public final class TimeObserver: Sendable {
    enum Kind: Sendable {
        /// At every multiple of so many nanoseconds of film.
        case periodic(Int64, @Sendable (MediaTime) throws -> Void)
        /// At each of these nanoseconds of film, ascending.
        case boundary([Int64], @Sendable () throws -> Void)
    }

    private struct State {
        /// Calls that are due; a periodic observer's are one.
        var due = 0
        var isScheduled = false
        var isCancelled = false
        var failure: (any Error)?
    }

    /// Film intervals shorter than this are taken as this: nobody sees an interface change a thousand times a second.
    static let shortestInterval: Int64 = 1_000_000

    let kind: Kind
    private let queue: (any MediaRequestQueue)?
    private let state = Lock(State())

    init(_ kind: Kind, queue: (any MediaRequestQueue)?) {
        self.kind = kind
        self.queue = queue
    }

    /// What the observer's closure threw; it is not called any more then. Nil while all is well.
    public var failure: (any Error)? { state.withLock { $0.failure } }

    func cancel() { state.withLock { $0.isCancelled = true } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    // MARK: Due

    /// Film went from one moment to another without a jump.
    ///
    /// - Parameter includesStart: the first moment counts as passed, because film began to run there.
    func traverse(from start: Int64, to end: Int64, includesStart: Bool) {
        switch kind {
        case .periodic(let interval, _):
            let first = includesStart ? start - 1 : start
            if Self.multiples(of: interval, upTo: end) > Self.multiples(of: interval, upTo: first) { noteDue(1) }
        case .boundary(let times, _):
            let count = times.count { ($0 > start || (includesStart && $0 == start)) && $0 <= end }
            if count > 0 { noteDue(count) }
        }
    }

    /// Time jumped, or began or ceased to run.
    func noteChange() { if case .periodic = kind { noteDue(1) } }

    private func noteDue(_ count: Int) {
        state.withLock { state in
            guard !state.isCancelled else { return }
            if case .periodic = kind { state.due = 1 } else { state.due += count }
        }
    }

    /// The next film moment of interest after this one; nil when there is none.
    func next(after moment: Int64) -> Int64? {
        switch kind {
        case .periodic(let interval, _): (Self.multiples(of: interval, upTo: moment) + 1) &* interval
        case .boundary(let times, _): times.first { $0 > moment }
        }
    }

    private static func multiples(of interval: Int64, upTo moment: Int64) -> Int64 {
        moment >= 0 ? moment / interval : (moment - interval + 1) / interval
    }

    // MARK: Calling

    /// Makes the calls that are due, on the observer's queue or here.
    func deliver(_ timebase: Timebase) {
        let mustCall = state.withLock { state -> Bool in
            guard state.due > 0, !state.isScheduled, !state.isCancelled else { return false }
            state.isScheduled = true
            return true
        }
        guard mustCall else { return }
        guard let queue else { return call(timebase) }
        queue.run { self.call(timebase) }
    }

    /// Whether calls wait that a delivery would make.
    var isDue: Bool { state.withLock { $0.due > 0 && !$0.isScheduled && !$0.isCancelled } }

    /// Calls as often as was due when it began; what its own calls bring about is for the next delivery, so that an
    /// observer which jumps whenever it is told of a jump keeps nobody else waiting.
    private func call(_ timebase: Timebase) {
        var left = state.withLock { state in
            defer { state.due = 0 }
            return state.due
        }
        while left > 0, !isCancelled {
            left -= 1
            do {
                switch kind {
                case .periodic(_, let body): try body(timebase.currentTime)
                case .boundary(_, let body): try body()
                }
            } catch {
                state.withLock {
                    $0.failure = error
                    $0.isCancelled = true
                }
            }
        }
        let more = state.withLock { state in
            state.isScheduled = false
            return state.due > 0 && !state.isCancelled
        }
        if more, queue != nil { deliver(timebase) }
    }
}
