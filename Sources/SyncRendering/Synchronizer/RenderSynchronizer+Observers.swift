public import Dispatch
public import MediaCore

extension RenderSynchronizer {
    /// Calls `body` whenever film time has passed a multiple of `interval`, whenever it jumps, and whenever it begins or
    /// ceases to run. A change of speed alone is none of these.
    ///
    /// Calls that were due while one was under way are made as one; intervals below a millisecond of film, or below 5 ms of
    /// real time, are told less often. The time told is that of the call. A closure may call anything of the synchronizer.
    /// When it throws, the error is kept in `TimeObserver.failure` and it is not called again; film goes on.
    ///
    /// - Parameters:
    ///   - interval: film time; zero and negative are taken as the shortest.
    ///   - queue: nil is a thread of the synchronizer's own, where `body` must return soon for the other observers' sake.
    /// - Returns: what must be kept for as long as `body` is to be called.
    public func addPeriodicTimeObserver(
        forInterval interval: MediaTime, queue: (any MediaRequestQueue)? = nil,
        using body: @escaping @Sendable (MediaTime) throws -> Void
    ) -> TimeObserver {
        let period = max(TimeObserver.shortestInterval, interval.nanoseconds)
        return observe(TimeObserver(.periodic(period, body), queue: queue))
    }

    /// The same on a dispatch queue: `.main`, for instance, which `ScreenLoop.run` serves. Nil is a thread of the
    /// synchronizer's own.
    @preconcurrency
    public func addPeriodicTimeObserver(
        forInterval interval: MediaTime, queue: DispatchQueue?,
        using body: @escaping @Sendable (MediaTime) throws -> Void
    ) -> TimeObserver {
        addPeriodicTimeObserver(forInterval: interval, queue: queue as (any MediaRequestQueue)?, using: body)
    }

    /// Calls `body` each time film passes one of `times` while it runs, once for each, also where it begins to run at that
    /// very moment after a jump. A jump over a moment is none past it, and a pause at a moment does not repeat it.
    ///
    /// What is said of closures at `addPeriodicTimeObserver` holds here, too, but calls are never made as one. No times
    /// are no mistake: nothing is ever called.
    public func addBoundaryTimeObserver(
        forTimes times: [MediaTime], queue: (any MediaRequestQueue)? = nil,
        using body: @escaping @Sendable () throws -> Void
    ) -> TimeObserver {
        let moments = Set(times.map(\.nanoseconds)).sorted()
        return observe(TimeObserver(.boundary(moments, body), queue: queue))
    }

    /// The same on a dispatch queue. Nil is a thread of the synchronizer's own.
    @preconcurrency
    public func addBoundaryTimeObserver(
        forTimes times: [MediaTime], queue: DispatchQueue?, using body: @escaping @Sendable () throws -> Void
    ) -> TimeObserver {
        addBoundaryTimeObserver(forTimes: times, queue: queue as (any MediaRequestQueue)?, using: body)
    }

    /// Ends an observation: no call begins after this has returned; one under way elsewhere goes on to its end.
    public func removeTimeObserver(_ observer: TimeObserver) { observation.remove(observer) }

    private func observe(_ observer: TimeObserver) -> TimeObserver {
        observation.add(observer, startsThread: runsByItself)
        return observer
    }
}
