internal import MediaCore

/// Flushes from a media time on: in the renderer's queue, in the converter and encoder, and in the output.
extension AudioFeeder {
    /// Starts the next pending partial flush, or completes the one that the output has decided.
    mutating func servePartialFlush() {
        if let request = partialFlush {
            guard let flushing = output as? any PartialFlushing, let result = flushing.partialFlushResult else {
                return
            }
            partialFlush = nil
            switch result {
            case .refused, .overtaken: answer(request, result)
            case .flushed where request.feedsAgain:
                feedAgain(from: request.time, truncated: flushing.truncatedPacket)
                answer(request, result)
            case .flushed:
                cutEverythingHere(
                    at: request.time, keptUntil: flushing.acceptedUntil, truncated: flushing.truncatedPacket)
                answer(request, .flushed(from: request.time))
            }
        }
        while partialFlush == nil, let request = renderer.state.withLock({ $0.beginPartialFlush() }) { begin(request) }
    }

    /// Cancels all partial flushes, because another operation discards the audio.
    mutating func overtakePartialFlush() {
        if let request = partialFlush {
            partialFlush = nil
            answer(request, .overtaken)
        }
        renderer.reportOvertakenFlushes()
    }

    private mutating func answer(_ request: PartialFlushRequest, _ result: PartialFlushResult) {
        steps &+= 1
        let result = renderer.state.withLock { $0.endPartialFlush(result) }
        request.completion(result)
        if request.feedsAgain { continueChange(after: result, of: request) }
        renderer.report(.progress)
    }

    private mutating func begin(_ request: PartialFlushRequest) {
        let time = request.time
        stopSharing()
        guard let output, delivery != nil else {
            if request.feedsAgain { return answer(request, .overtaken) }
            cutQueue(at: time, isLast: false)
            return answer(request, .flushed(from: time))
        }
        let takesBuffers = if case .sampleBuffers? = delivery { true } else { false }
        if !takesBuffers, output.acceptedUntil.map({ $0 <= time }) ?? true {
            if request.feedsAgain { feedAgain(from: time, truncated: nil) } else { cutInside(at: time) }
            return answer(request, .flushed(from: time))
        }
        guard let flushing = output as? any PartialFlushing, speed == 1 || !isEncoding else {
            return answer(request, .refused(leadNeeded: nil))
        }
        let lead = flushing.partialFlushLead
        let snapshot = renderer.timebase.snapshot
        let now = renderer.timebase.clock.now
        let due = snapshot.hostInstant(of: time, at: now)
        if time < snapshot.mediaTime(at: now) || due.map({ $0 - now < lead }) ?? false {
            return answer(request, .refused(leadNeeded: lead))
        }
        flushing.beginPartialFlush(from: time)
        partialFlush = request
        // Many outputs decide at once.
        if flushing.partialFlushResult != nil { servePartialFlush() }
    }

    var isEncoding: Bool { if case .encoded? = delivery { true } else { false } }

    // MARK: Audio that the output has not received

    /// Removes buffers that start at or after a time from the queue. A buffer that spans the time is trimmed to it.
    ///
    /// - Parameter isLast: Whether the audio taken by the feeder already ends at that time.
    private mutating func cutQueue(at time: MediaTime, isLast: Bool) {
        let isEmpty = renderer.state.withLock { $0.cut(at: time, takenUntil: takenUntil, isLast: isLast) }
        // The next buffer is different audio, even if it is contiguous.
        if isEmpty, converter != nil { limit = min(limit ?? time, time) }
        isFinishing = false
        isFinished = false
    }

    /// Flushes from a time after all audio that the output has accepted.
    private mutating func cutInside(at time: MediaTime) {
        if let waiting = nextFormat {
            let start = waiting.presentationTime ?? time
            if start >= time {
                nextFormat = nil
            } else {
                nextFormat?.heardUntil = min(waiting.heardUntil ?? time, time)
            }
        }
        passed.cut(at: time, isPassing: passesPackets)
        guard let takenUntil, takenUntil > time else { return cutQueue(at: time, isLast: false) }
        cutQueue(at: time, isLast: true)
        self.takenUntil = time
        if isEncoding { return cutEncoder(at: time) }
        pending.cut(at: time)
    }

    /// Drains the encoder. A packet that spans the time, or is not full, is decoded, trimmed and encoded again.
    private mutating func cutEncoder(at time: MediaTime) {
        var waiting: (packets: PacketBatch, offset: Int)?
        if case .packets(let packets, let offset) = pending { waiting = (packets, offset) }
        guard let cut = encoder.cut(at: time, waiting: waiting, held: block) else { return }
        pending = cut.kept.packets.isEmpty ? .nothing : .packets(cut.kept, 0)
        // The converter holds only later audio.
        if cut.passesCut { converter?.reset() }
        putBack(cut.truncated, until: time)
    }

    // MARK: Audio that the output had accepted

    /// Discards all audio from a time on in the feeder and the queue, after the output has flushed.
    private mutating func cutEverythingHere(at time: MediaTime, keptUntil end: MediaTime?, truncated: PacketBatch?) {
        let takesBuffers = if case .sampleBuffers? = delivery { true } else { false }
        if takesBuffers {
            cutQueue(at: time, isLast: false)
        } else {
            forget()
            // The end of a shared conversion, whose audio has been discarded.
            resume = ResumePoint()
            mustRenegotiate = false
            if passesPackets { passed.resume(after: end) }
            if let truncated { putBack(truncated, until: time) }
        }
        renderer.state.withLock { $0.cutAccepted(at: time, keptUntil: end, isQueueCut: takesBuffers) }
    }

    /// Encodes the part of severed packets before `time` again, on encoded delivery.
    private mutating func putBack(_ packets: PacketBatch, until time: MediaTime) {
        guard case .encoded(let format, let pcm)? = delivery else { return }
        encoder.putBack(packets, until: time, format: format, pcm: pcm, codecs: renderer.codecs)
    }

    // MARK: Changed processing of audio that the output had accepted

    /// Starts a pending change of the processing that is due.
    mutating func serveProcessingChange() {
        guard partialFlush == nil, change.isDue(at: renderer.timebase.clock.now) else { return }
        stopSharing()
        guard let output, delivery != nil, context != nil else { return change.finish() }
        // Such an output converts audio itself and has received the setting.
        if case .sampleBuffers? = delivery { return change.finish() }
        // Pass-through packets continue: the change would not affect them.
        if passesPackets, !renderer.mustDecode { return change.finish() }
        guard let until = output.acceptedUntil else {
            converter?.treat(change.processing, from: nil)
            mustRenegotiate = true
            return change.finish()
        }
        let timebase = renderer.timebase
        let moment = change.place(
            until: until, playhead: timebase.currentTime, rate: timebase.snapshot.segment(at: timebase.clock.now).rate,
            lead: (output as? any PartialFlushing)?.partialFlushLead)
        guard let moment else {
            change.finish()
            return restart()
        }
        let request = PartialFlushRequest(time: moment, feedsAgain: true) { _ in }
        change.begin(request)
        _ = renderer.state.withLock { $0.request(request, isFirst: true) }
    }

    /// Requests a full flush and redelivery from the playhead on.
    private func restart() {
        renderer.state.withLock { _ = $0.feedAgain() }
        renderer.wake.raise()
    }

    /// Handles the result of the partial flush for a change.
    private mutating func continueChange(after result: PartialFlushResult, of request: PartialFlushRequest) {
        let lead = (output as? any PartialFlushing)?.partialFlushLead ?? .zero
        let timebase = renderer.timebase
        let now = timebase.rate > 0 ? timebase.clock.now : nil
        switch change.handle(result, of: request, lead: lead, now: now) {
        case .nothing: break
        case .tryAgain: renderer.wake.raise()
        case .restart: restart()
        }
    }

    /// Moves retained audio from the end of the output's audio back into the queue and resets the converter.
    ///
    /// - Parameter truncated: The packet that the flush has cut, on encoded delivery.
    private mutating func feedAgain(from time: MediaTime, truncated: PacketBatch?) {
        let end = output?.acceptedUntil
        let before = converter?.processing ?? .none
        forget()
        mustRenegotiate = false
        if passesPackets {
            passed.resume(after: end)
            if renderer.mustDecode { format = nil }
        }
        if let truncated { putBack(truncated, until: time) }
        let place = encoder.end ?? end ?? time
        // The new processing starts at the end of the output's audio with a ramp from the old one.
        converter?.reset(to: before)
        converter?.treat(change.processing, from: place)
        resume = ResumePoint(place)
        renderer.state.withLock { $0.putBackKept(from: place, acceptedUntil: end) }
    }
}
