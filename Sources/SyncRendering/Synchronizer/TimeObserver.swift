internal import MediaCore

/// An observation of the timeline. It ends with `RenderSynchronizer.removeTimeObserver`, or when the last reference to
/// this object is released. Any thread.
public final class TimeObserver: Sendable {
    enum Kind: Sendable {
        /// At every multiple of this number of nanoseconds of media time.
        case periodic(Int64, @Sendable (MediaTime) throws -> Void)
        /// At each of these media times in nanoseconds, ascending.
        case boundary([Int64], @Sendable () throws -> Void)
    }

    /// Guarded by the lock `state`.
    private struct State {
        /// The number of due calls; at most one for a periodic observer.
        var due = 0
        var isScheduled = false
        var isCancelled = false
        var failure: (any Error)?
    }

    /// The minimum interval in nanoseconds of media time: updates above 1 kHz are invisible.
    static let shortestInterval: Int64 = 1_000_000

    let kind: Kind
    private let queue: (any MediaRequestQueue)?
    private let state = Lock(State())

    init(_ kind: Kind, queue: (any MediaRequestQueue)?) {
        self.kind = kind
        self.queue = queue
    }

    /// The error thrown by the closure, which is then not called again; nil otherwise. Any thread.
    public var failure: (any Error)? { state.withLock { $0.failure } }

    func cancel() { state.withLock { $0.isCancelled = true } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    // MARK: Due

    /// Records that media time has advanced over a range without a discontinuity.
    ///
    /// - Parameter includesStart: Whether the start counts as passed, because the timeline started there.
    func traverse(from start: Int64, to end: Int64, includesStart: Bool) {
        switch kind {
        case .periodic(let interval, _):
            let first = includesStart ? start.subtractingClamped(1) : start
            if Self.multiples(of: interval, upTo: end) > Self.multiples(of: interval, upTo: first) { recordDue(1) }
        case .boundary(let times, _):
            let count = times.count { ($0 > start || (includesStart && $0 == start)) && $0 <= end }
            if count > 0 { recordDue(count) }
        }
    }

    /// Records a discontinuity, a start or a stop.
    func recordChange() { if case .periodic = kind { recordDue(1) } }

    private func recordDue(_ count: Int) {
        state.withLock { state in
            guard !state.isCancelled else { return }
            if case .periodic = kind { state.due = 1 } else { state.due += count }
        }
    }

    /// Returns the next relevant media time; nil if there is none.
    func next(after time: Int64) -> Int64? {
        switch kind {
        case .periodic(let interval, _): (Self.multiples(of: interval, upTo: time) + 1) &* interval
        case .boundary(let times, _): times.first { $0 > time }
        }
    }

    private static func multiples(of interval: Int64, upTo time: Int64) -> Int64 {
        time / interval - (time % interval < 0 ? 1 : 0)
    }

    // MARK: Calling

    /// Makes the due calls, on the observer's queue or on the calling thread.
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

    /// Whether a call of `deliver` would make calls.
    var isDue: Bool { state.withLock { $0.due > 0 && !$0.isScheduled && !$0.isCancelled } }

    /// Makes the calls that were due at the beginning. Calls caused by them are left for the next delivery, so that an
    /// observer that seeks on every seek does not block others.
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
