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

    /// Records a failure in `state.failure` and calls the event handler. Any thread.
    func report(_ event: Event) {
        let handler = state.withLock { state in
            switch event {
            case .cannotDecode(let error): state.failure = error
            case .outputFailed(let error): state.failure = error
            case .readyForMoreMediaData, .progress: break
            }
            return state.eventHandler
        }
        handler?.call(event)
    }

    /// Clears the failure after the output has recovered without a flush.
    ///
    /// - Parameter feedsAgain: Whether the retained audio is delivered again from the playhead on.
    func recover(feedsAgain: Bool) {
        let (moment, handler) = state.withLock { state -> (MediaTime, AutomaticFlushHandler?) in
            state.failure = nil
            state.status.hasFailed = false
            let moment = state.timebase.currentTime
            guard feedsAgain else { return (moment, nil) }
            feedAgain(&state, from: moment)
            return (moment, state.onAutomaticFlush)
        }
        wake.raise()
        handler?.call(moment)
        report(.progress)
    }

    /// Marks the renderer as failed and reports the event.
    func fail(_ event: Event) {
        state.withLock { $0.status.hasFailed = true }
        report(event)
    }
}
