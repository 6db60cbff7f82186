internal import MediaCore

/// The store, and reports of the output's state to the renderer's owner and to the event log.
extension AudioFeeder {
    /// Whether the output pulls all subsequent audio itself.
    private var isTakenFrom: Bool { taker != nil && partialFlush == nil && pipeline.mayBePassed }

    /// Calls `pullAudio` on an output that pulls audio; returns true if it advanced.
    mutating func pullThroughOutput() -> Bool {
        guard let taker, pipeline.passesBuffers else { return false }
        let result = taker.pullAudio(isCut: isTakenFrom)
        takerDue = result.due
        if isTakenFrom { renderer.state.withLock { $0.noteReading(until: result.slowest) } }
        if result.hasNewAudio { pipeline.revokeEnd() }
        return result.hasMoved || result.hasNewAudio
    }

    /// Returns the next buffer to deliver, unless the output reads the store itself.
    mutating func takeNext() -> SampleBuffer? {
        if let waiting = pipeline.takeWaiting() { return waiting }
        guard !isTakenFrom else { return nil }
        return renderer.state.withLock { $0.takeNext(for: life) }
    }

    // MARK: Reports

    /// Reports the progress of an output that converts audio itself and therefore advances between deliveries.
    mutating func reportAcceptance() {
        guard let output else { return }
        pipeline.followFailure(of: output)
        guard pipeline.passesBuffers else { return }
        let until = output.acceptedUntil
        guard renderer.state.withLock({ $0.accept(until: until) }) else { return }
        renderer.report(.progress)
    }

    /// Logs `acceptedUntil` once per second of media and at each seek, which bounds the size of the event log.
    mutating func noteAcceptance(_ until: MediaTime?) {
        guard let until, let context, reports.logs(until) else { return }
        let ahead = (until - renderer.timebase.currentTime).duration
        renderer.events.append(.audioAccepted(until: until, ahead: ahead, output: context.id))
    }

    /// Reports `progress` when the output becomes able or unable to schedule a start.
    mutating func announceReadinessToStart() {
        if reports.noteReadiness(output?.isReadyToStart ?? true) { renderer.report(.progress) }
    }

    /// Requests more audio if the route has become ready since it was last full.
    func announceReadiness() {
        guard renderer.state.withLock({ $0.takeReadiness() }) else { return }
        renderer.report(.readyForMoreMediaData)
        renderer.demand.offer()
    }
}

extension HostInstant {
    /// Returns the earlier of two deadlines; nil if both are nil.
    static func first(_ one: HostInstant?, _ other: HostInstant?) -> HostInstant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }
}
