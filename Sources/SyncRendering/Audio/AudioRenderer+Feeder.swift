internal import MediaCore

/// What the feeder needs of the renderer.
extension AudioRenderer {
    /// Records a failure and calls the event handler. Any thread.
    ///
    /// - Parameter isFailed: Whether the renderer is marked as failed.
    func report(_ event: Event, isFailed: Bool = false) {
        state.withLock { $0.record(event, isFailed: isFailed) }?.call(event)
    }

    /// Calls the handler of automatic flushes.
    func reportAutomaticFlush(from moment: MediaTime) { state.withLock { $0.onAutomaticFlush }?.call(moment) }

    /// Clears the failure after an output has recovered without a flush.
    ///
    /// - Parameter isFedAgain: Whether it receives the stored audio again from the playhead on.
    func recover(isFedAgain: Bool) {
        let playhead = state.withLock { state in
            state.clearFailure()
            return state.timebase.currentTime
        }
        if isFedAgain { reportAutomaticFlush(from: playhead) }
        report(.progress)
    }
}
