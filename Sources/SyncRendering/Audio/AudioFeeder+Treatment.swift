internal import MediaCore

/// A change of treatment that is under way: what the output has and nobody has heard is taken back from a film time on and handed over
/// anew.
struct TreatmentChange {
    /// Times that the output said it was too late.
    var attempts = 0
    /// Not before this instant: outputs remember only so many places where sound was taken back.
    var due: HostInstant?
    /// The flush that the output decides about.
    var request: PartialFlushRequest?
}

/// How sound that was handed over and is not yet heard is treated anew without a gap.
extension AudioFeeder {
    /// More than the output asks for, so that a second attempt finds the place still ahead.
    private static let margin: Duration = .milliseconds(60)
    private static let mostAttempts = 5
    /// A change may be heard this much later where that spares an interruption.
    private static let patience: Duration = .seconds(2)

    /// When a change that waits is due.
    var treatmentDue: HostInstant? {
        guard treatmentChange?.request == nil else { return nil }
        return treatmentChange?.due
    }

    /// Takes note of what was asked for.
    mutating func note(_ wanted: SoundTreatment) {
        guard wanted != treatment else { return }
        treatment = wanted
        if treatmentChange == nil { treatmentChange = TreatmentChange() }
        isTreatmentNew = true
    }

    /// Begins with a change that is due.
    mutating func serveTreatment() {
        guard isTreatmentNew, let change = treatmentChange, change.request == nil, partialFlush == nil else { return }
        let clock = renderer.timebase.clock
        if let due = change.due, due > clock.now { return }
        guard let output, delivery != nil, context != nil else { return settleTreatment() }
        // It converts by itself, and was told.
        if case .sampleBuffers? = delivery { return settleTreatment() }
        // What passes untouched goes on passing: nothing of it would be heard otherwise.
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
        // Whoever flushes from a time on meanwhile decides later than this.
        renderer.state.withLock { $0.partialFlushes.insert(request, at: 0) }
    }

    /// The film time from which on sound is handed over anew: as near to the playhead as the output can take it back. Nil where it
    /// cannot, and holds so much that nobody would wait for what follows.
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

    /// The output can only begin anew.
    private func beginAnew() {
        renderer.state.withLock { renderer.feedAgain(&$0, from: $0.timebase.currentTime) }
        renderer.wake.raise()
    }

    /// Nothing is under way any more.
    mutating func settleTreatment() {
        isTreatmentNew = false
        treatmentChange = nil
    }

    /// What became of taking sound back for a change of treatment.
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
            // Whatever overtook it lets sound through that is treated as asked for now.
            settleTreatment()
        }
    }

    /// Everything from where the output's sound ends is taken out of what was kept, and converted anew.
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
        // The new treatment begins where the old one's sound ends, and there is a way from one to the other.
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
