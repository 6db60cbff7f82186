internal import MediaCore

/// What the feeder needs of the renderer.
extension AudioRenderer {
    /// Polling interval for manually driven clocks, which do not signal their changes.
    private static let handTurnedLook: Duration = .milliseconds(20)

    /// Blocks until the signal is raised or `due`; nil: no deadline.
    func awaitWork(until due: HostInstant?) {
        let clock = timebase.clock
        if !clock.isRealTime {
            wake.wait(until: .now.advanced(by: Self.handTurnedLook))
        } else if let due {
            wake.wait(until: clock.machineInstant(of: due))
        } else {
            wake.wait()
        }
        wake.clear()
    }

    /// Records a failure and calls the event handler. Any thread.
    ///
    /// - Parameter isFailed: Whether the renderer is marked as failed.
    func report(_ event: Event, isFailed: Bool = false) {
        state.withLock { $0.record(event, isFailed: isFailed) }?.call(event)
    }

    /// Calls the handler of automatic flushes.
    func reportAutomaticFlush(from moment: MediaTime) { state.withLock { $0.onAutomaticFlush }?.call(moment) }

    /// Clears the failure after the output has recovered without a flush.
    ///
    /// - Parameter feedsAgain: Whether the retained audio is delivered again from the playhead on.
    func recover(feedsAgain: Bool) {
        let moment = state.withLock { state in
            state.clearFailure()
            return feedsAgain ? state.feedAgain() : nil
        }
        wake.raise()
        if let moment { reportAutomaticFlush(from: moment) }
        report(.progress)
    }
}
