internal import MediaCore

/// A change of the audio processing in progress. Audio that the output has buffered is flushed from a media time on and
/// delivered again with the new processing.
struct TreatmentChange {
    /// The number of refusals because the flush came too late.
    var attempts = 0
    /// The earliest instant of the next change: outputs record only a limited number of flush positions.
    var due: HostInstant?
    /// The partial flush that the output has to decide.
    var request: PartialFlushRequest?
}

/// Applies changed audio processing to delivered but unplayed audio, without a gap.
extension AudioFeeder {
    /// Margin beyond the output's lead, so that a second attempt still finds the position ahead of the playhead.
    private static let margin: Duration = .milliseconds(60)
    private static let mostAttempts = 5
    /// Maximum delay of a change that avoids an interruption.
    private static let patience: Duration = .seconds(2)

    /// When a pending change is due; nil if there is none or its flush is in progress.
    var treatmentDue: HostInstant? {
        guard treatmentChange?.request == nil else { return nil }
        return treatmentChange?.due
    }

    /// Records the requested processing.
    mutating func note(_ wanted: SoundTreatment) {
        guard wanted != treatment else { return }
        treatment = wanted
        if treatmentChange == nil { treatmentChange = TreatmentChange() }
        isTreatmentNew = true
    }

    /// Starts a pending change that is due.
    mutating func serveTreatment() {
        guard isTreatmentNew, let change = treatmentChange, change.request == nil, partialFlush == nil else { return }
        let clock = renderer.timebase.clock
        if let due = change.due, due > clock.now { return }
        guard let output, delivery != nil, context != nil else { return settleTreatment() }
        // Such an output converts audio itself and has received the setting.
        if case .sampleBuffers? = delivery { return settleTreatment() }
        // Pass-through packets continue: the change would not affect them.
        if passesPackets, !renderer.mustDecode { return settleTreatment() }
        guard let until = output.acceptedUntil else {
            converter?.treat(treatment, from: nil)
            agreesAnew = true
            return settleTreatment()
        }
        guard let moment = placeOfChange(output, until: until, attempts: change.attempts) else {
            settleTreatment()
            return beginAnew()
        }
        isTreatmentNew = false
        let request = PartialFlushRequest(time: moment, feedsAgain: true) { _ in }
        treatmentChange?.request = request
        // Inserted first: partial flushes requested meanwhile take precedence over this one and run after it.
        renderer.state.withLock { $0.partialFlushes.insert(request, at: 0) }
    }

    /// Returns the media time from which audio is delivered again, as close to the playhead as the output permits. Nil
    /// if the output cannot flush and buffers more than `patience`.
    private func placeOfChange(_ output: any AudioOutput, until: MediaTime, attempts: Int) -> MediaTime? {
        let playhead = renderer.timebase.currentTime
        let segment = renderer.timebase.snapshot.segment(at: renderer.timebase.clock.now)
        let isMoving = segment.rate > 0 || attempts > 0
        let rate = segment.rate > 0 ? segment.rate : 1
        let margin = Self.margin * (attempts + 1)
        if let lead = (output as? any PartialFlushing)?.partialFlushLead {
            let moment = isMoving ? playhead.advanced(by: (lead + margin) * rate) : playhead
            if moment < until || lead <= Self.patience { return min(moment, until) }
        }
        return (until - playhead).duration <= Self.patience * rate ? until : nil
    }

    /// Requests a full flush and redelivery from the playhead on.
    private func beginAnew() {
        renderer.state.withLock { renderer.feedAgain(&$0, from: $0.timebase.currentTime) }
        renderer.wake.raise()
    }

    /// Ends the change.
    mutating func settleTreatment() {
        isTreatmentNew = false
        treatmentChange = nil
    }

    /// Handles the result of the partial flush for a change.
    mutating func hear(_ result: PartialFlushResult, of request: PartialFlushRequest) {
        guard var change = treatmentChange, change.request === request else { return }
        change.request = nil
        switch result {
        case .flushed:
            change.attempts = 0
            let lead = min(.seconds(1), (output as? any PartialFlushing)?.partialFlushLead ?? .zero)
            change.due = renderer.timebase.rate > 0 ? renderer.timebase.clock.now.advanced(by: lead) : nil
            treatmentChange = isTreatmentNew || change.due != nil ? change : nil
        case .refused(.some) where change.attempts < Self.mostAttempts:
            change.attempts += 1
            (treatmentChange, isTreatmentNew) = (change, true)
            renderer.wake.raise()
        case .refused:
            settleTreatment()
            beginAnew()
        case .overtaken:
            // The operation that superseded the flush delivers audio with the current processing.
            settleTreatment()
        }
    }

    /// Moves retained audio from the end of the output's audio back into the queue and resets the converter.
    ///
    /// - Parameter severed: The packet that the flush has cut, on encoded delivery.
    mutating func feedAgain(from time: MediaTime, severed: PacketBatch?) {
        let end = output?.acceptedUntil
        let before = converter?.treatment ?? .none
        forget()
        agreesAnew = false
        if passesPackets {
            (line, isAtJoint) = (PacketLine(end: end), true)
            if renderer.mustDecode { format = nil }
        }
        if isEncoding, let severed { putBack(severed, until: time) }
        let place = encodedUntil ?? end ?? time
        // The new processing starts at the end of the output's audio with a ramp from the old one.
        converter?.reset(to: before)
        converter?.treat(treatment, from: place)
        resumesFrom = place
        renderer.state.withLock { state in
            renderer.putBackKept(&state, from: place)
            state.status.acceptedUntil = end
            state.status.isDrained = false
        }
    }
}
