public import Dispatch
public import MediaCore

extension RenderSynchronizer {
    /// Calls `body` whenever media time has passed a multiple of `interval`, at each discontinuity, and at each start
    /// and stop. A change of speed alone causes no call.
    ///
    /// Calls that become due during a call are merged into one. Intervals below a millisecond of media time or 5 ms of
    /// host time are not resolved. The argument is the media time of the call. The closure may call all methods of the
    /// synchronizer. If it throws, the error is stored in `TimeObserver.failure` and it is not called again; the
    /// timeline continues.
    ///
    /// - Parameters:
    ///   - interval: Media time; zero and negative values select the shortest interval.
    ///   - queue: Nil: a thread of the synchronizer, where `body` must return soon because observers share it.
    /// - Returns: The observation, which lasts as long as the caller retains it.
    public func addPeriodicTimeObserver(
        forInterval interval: MediaTime, queue: (any MediaRequestQueue)? = nil,
        using body: @escaping @Sendable (MediaTime) throws -> Void
    ) -> TimeObserver {
        let period = max(TimeObserver.shortestInterval, interval.nanoseconds)
        return observe(TimeObserver(.periodic(period, body), queue: queue))
    }

    /// Same on a dispatch queue, such as `.main`, which `ScreenLoop.run` serves. Nil: a thread of the synchronizer.
    @preconcurrency
    public func addPeriodicTimeObserver(
        forInterval interval: MediaTime, queue: DispatchQueue?,
        using body: @escaping @Sendable (MediaTime) throws -> Void
    ) -> TimeObserver {
        addPeriodicTimeObserver(forInterval: interval, queue: queue as (any MediaRequestQueue)?, using: body)
    }

    /// Calls `body` each time the running timeline passes one of `times`, once for each, including a start exactly at
    /// that time after a seek. A seek across a time causes no call, and a pause at a time does not repeat it.
    ///
    /// The rules for closures of `addPeriodicTimeObserver` apply, except that calls are never merged. With an empty
    /// list nothing is ever called.
    public func addBoundaryTimeObserver(
        forTimes times: [MediaTime], queue: (any MediaRequestQueue)? = nil,
        using body: @escaping @Sendable () throws -> Void
    ) -> TimeObserver {
        let sortedTimes = Set(times.map(\.nanoseconds)).sorted()
        return observe(TimeObserver(.boundary(sortedTimes, body), queue: queue))
    }

    /// Same on a dispatch queue. Nil: a thread of the synchronizer.
    @preconcurrency
    public func addBoundaryTimeObserver(
        forTimes times: [MediaTime], queue: DispatchQueue?, using body: @escaping @Sendable () throws -> Void
    ) -> TimeObserver {
        addBoundaryTimeObserver(forTimes: times, queue: queue as (any MediaRequestQueue)?, using: body)
    }

    /// Ends an observation: no call starts after this returns; a call on another thread may still be running.
    public func removeTimeObserver(_ observer: TimeObserver) { observation.remove(observer) }

    private func observe(_ observer: TimeObserver) -> TimeObserver {
        observation.add(observer, startsThread: isRealTime)
        return observer
    }
}
