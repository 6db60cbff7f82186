internal import MediaCore

/// Flushes from a media time on: in the converter and encoder, and in the output.
extension OutputFeeder {
    /// Starts the next pending partial flush, or completes the one that the output has decided.
    mutating func servePartialFlush() {
        if let request = partialFlush {
            guard output != nil, let flushing = feed.abilities.flushing, let result = flushing.partialFlushResult else {
                return
            }
            partialFlush = nil
            switch result {
            case .refused, .overtaken: answer(request, result)
            case .flushed where request.feedsAgain:
                pipeline.feedAgain(
                    from: request.time, keptUntil: flushing.acceptedUntil, truncated: flushing.truncatedPacket)
                answer(request, result)
            case .flushed:
                pipeline.cutAccepted(
                    at: request.time, keptUntil: flushing.acceptedUntil, truncated: flushing.truncatedPacket)
                answer(request, .flushed(from: request.time))
            }
        }
        while partialFlush == nil, !pipeline.isPreparing,
            let request = feed.state.withLock({ $0.beginPartialFlush() })
        {
            begin(request)
        }
    }

    /// Cancels all partial flushes, because another operation discards the audio.
    mutating func overtakePartialFlush() {
        if let request = partialFlush {
            partialFlush = nil
            answer(request, .overtaken)
        }
        feed.partialFlushes.reportOvertaken()
    }

    private mutating func answer(_ request: PartialFlushRequest, _ result: PartialFlushResult) {
        steps &+= 1
        feed.partialFlushes.end()
        request.completion(result)
        if request.feedsAgain { continueChange(after: result, of: request) }
        feed.reportProgress()
    }

    private mutating func begin(_ request: PartialFlushRequest) {
        let time = request.time
        pipeline.stopSharing()
        guard let output, pipeline.delivery != nil else {
            if request.feedsAgain { return answer(request, .overtaken) }
            pipeline.cutStore(at: time, isLast: false)
            return answer(request, .flushed(from: time))
        }
        let end = output.acceptedUntil
        if end.map({ $0 <= time }) ?? true {
            if request.feedsAgain {
                pipeline.feedAgain(from: time, keptUntil: end, truncated: nil)
            } else {
                pipeline.cut(at: time)
            }
            return answer(request, .flushed(from: time))
        }
        guard let flushing = feed.abilities.flushing, pipeline.canCutAccepted else {
            return answer(request, .refused(leadNeeded: nil))
        }
        let lead = flushing.partialFlushLead
        guard feed.timebase.isFlushInTime(from: time, lead: lead) else {
            return answer(request, .refused(leadNeeded: lead))
        }
        flushing.beginPartialFlush(from: time)
        partialFlush = request
        // Many outputs decide at once.
        if flushing.partialFlushResult != nil { servePartialFlush() }
    }

    // MARK: Changed processing of audio that the output had accepted

    /// Starts a pending change of the processing that is due.
    mutating func serveProcessingChange() {
        guard partialFlush == nil, !pipeline.isPreparing, change.isDue(at: feed.timebase.clock.now) else { return }
        pipeline.stopSharing()
        guard let output, pipeline.delivery != nil else { return change.finish() }
        // Pass-through packets continue: the change would not affect them.
        if pipeline.passesPackets, !feed.mustDecode { return change.finish() }
        guard let until = output.acceptedUntil else {
            pipeline.applyProcessing()
            return change.finish()
        }
        let timebase = feed.timebase
        let time = change.restartTime(
            until: until, playhead: timebase.currentTime, rate: timebase.snapshot.segment(at: timebase.clock.now).rate,
            lead: feed.abilities.flushing?.partialFlushLead)
        guard let time else {
            change.finish()
            return restart()
        }
        let request = PartialFlushRequest(time: time, feedsAgain: true) { _ in }
        change.begin(request)
        feed.partialFlushes.append(request, isFirst: true)
    }

    /// Requests a full flush and redelivery from the playhead on.
    private func restart() { feed.change { $0.restartAtPlayhead() } }

    /// Handles the result of the partial flush for a change.
    private mutating func continueChange(after result: PartialFlushResult, of request: PartialFlushRequest) {
        let lead = feed.abilities.flushing?.partialFlushLead ?? .zero
        let timebase = feed.timebase
        let now = timebase.rate > 0 ? timebase.clock.now : nil
        switch change.handle(result, of: request, lead: lead, now: now) {
        case .nothing: break
        case .tryAgain: feed.wake.raise()
        case .restart: restart()
        }
    }
}
