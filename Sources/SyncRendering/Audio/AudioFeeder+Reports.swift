internal import MediaCore

/// What the feeder tells of the output to the renderer's owner and to the timeline.
extension AudioFeeder {
    /// An output that converts by itself gets on between hand-overs.
    mutating func reportAcceptance() {
        guard let output else { return }
        if let failure = output.failure, !isRefused, delivery != nil {
            isRefused = true
            renderer.fail(.outputFailed(failure))
        }
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

    func fail(_ news: News) {
        state.withLock { $0.status.hasFailed = true }
        tell(news)
    }
}
