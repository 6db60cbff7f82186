internal import MediaCore

/// What the feeder tells of the output to the renderer's owner and to the timeline.
extension AudioFeeder {
    /// An output that converts by itself gets on between hand-overs.
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

    /// An output that has fallen silent by itself, and one that came back, or whose place another has taken inside a group.
    private mutating func followFailure(of output: any AudioOutput) {
        guard let failure = delivery == nil ? nil : output.failure else {
            guard isSilent else { return }
            isSilent = false
            // What was left out meanwhile is fed again, as far as it is still to be heard.
            return renderer.recover(feedsAgain: isRefused)
        }
        guard !isSilent, !isRefused else { return }
        isSilent = true
        // What an output cannot decode it leaves out by itself; the next format may be another matter.
        isRefused = failure.code != .unsupportedFormat
        renderer.fail(.outputFailed(failure))
    }

    /// Once for each second of film and at each jump, so that the timeline of a long evening stays small.
    mutating func noteAcceptance(_ until: MediaTime?) {
        guard let until, let context else { return }
        if let notedUntil, until >= notedUntil, (until - notedUntil).duration < .seconds(1) { return }
        notedUntil = until
        let ahead = (until - renderer.timebase.currentTime).duration
        renderer.events.note(.audioAccepted(until: until, ahead: ahead, output: context.id))
    }

    /// Tells when the output has found out its own delay, or has to find it out again.
    mutating func announceReadinessToStart() {
        let isReady = output?.isReadyToStart ?? true
        guard isReady != wasReadyToStart else { return }
        wasReadyToStart = isReady
        renderer.tell(.progress)
    }

    /// Asks for more when the route has become ready since it was last full.
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

    /// The output is heard again although nobody flushed, and no failure is left to be told.
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

    func fail(_ news: News) {
        state.withLock { $0.status.hasFailed = true }
        tell(news)
    }
}
