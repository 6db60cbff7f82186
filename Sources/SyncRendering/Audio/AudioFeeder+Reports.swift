internal import MediaCore

/// Reports of the output's state to the renderer's owner and to the event log.
extension AudioFeeder {
    /// Reports the progress of an output that converts audio itself and therefore advances between deliveries.
    mutating func reportAcceptance() {
        guard let output else { return }
        followFailure(of: output)
        guard case .sampleBuffers = delivery else { return }
        let until = output.acceptedUntil
        let hasMoved = renderer.state.withLock { state -> Bool in
            guard !state.flushRequested, state.status.acceptedUntil != until else { return false }
            state.status.acceptedUntil = until
            return true
        }
        guard hasMoved else { return }
        noteAcceptance(until)
        renderer.tell(.progress)
    }

    /// Reports a failure of the output, and its recovery or its replacement inside a group.
    private mutating func followFailure(of output: any AudioOutput) {
        guard let failure = delivery == nil ? nil : output.failure else {
            guard isSilent else { return }
            isSilent = false
            // Audio dropped meanwhile is delivered again if it is still due.
            return renderer.recover(feedsAgain: isRefused)
        }
        guard !isSilent, !isRefused else { return }
        isSilent = true
        // The output skips audio that it cannot decode; the next format may be decodable.
        isRefused = failure.code != .unsupportedFormat
        renderer.fail(.outputFailed(failure))
    }

    /// Logs `acceptedUntil` once per second of media and at each seek, which bounds the size of the event log.
    mutating func noteAcceptance(_ until: MediaTime?) {
        guard let until, let context else { return }
        if let notedUntil, until >= notedUntil, (until - notedUntil).duration < .seconds(1) { return }
        notedUntil = until
        let ahead = (until - renderer.timebase.currentTime).duration
        renderer.events.note(.audioAccepted(until: until, ahead: ahead, output: context.id))
    }

    /// Reports `progress` when the output becomes able or unable to schedule a start.
    mutating func announceReadinessToStart() {
        let isReady = output?.isReadyToStart ?? true
        guard isReady != wasReadyToStart else { return }
        wasReadyToStart = isReady
        renderer.tell(.progress)
    }

    /// Requests more audio if the route has become ready since it was last full.
    func announceReadiness() {
        let ready = renderer.state.withLock { state -> Bool in
            guard state.wasFull, renderer.isReady(state) else { return false }
            state.wasFull = false
            return true
        }
        guard ready else { return }
        renderer.tell(.readyForMoreMediaData)
        renderer.demand.offer()
    }
}

extension AudioRenderer {
    /// Records a failure in `state.failure` and calls the event handler. Any thread.
    func tell(_ news: News) {
        let handler = state.withLock { state in
            switch news {
            case .cannotDecode(let error): state.failure = error
            case .outputFailed(let error): state.failure = error
            case .readyForMoreMediaData, .progress: break
            }
            return state.news
        }
        handler?.call(news)
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
        tell(.progress)
    }

    /// Marks the renderer as failed and reports the event.
    func fail(_ news: News) {
        state.withLock { $0.status.hasFailed = true }
        tell(news)
    }
}
