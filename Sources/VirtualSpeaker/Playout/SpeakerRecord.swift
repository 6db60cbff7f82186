package import MediaCore

/// What a speaker in software sounded and when, and what happened to it.
///
/// It is bounded: of spans and events the newest are kept. All methods may be called from any thread.
package final class SpeakerRecord: Sendable {
    /// A moment and what happened then.
    package struct Entry: Hashable, Sendable {
        package let instant: HostInstant
        package let event: SpeakerEvent
    }

    /// Spans and events that are kept.
    package static let limit = 20_000

    fileprivate struct State {
        var spans: [HeardSpan] = []
        var entries: [Entry] = []
        /// Spans already in the journal.
        var journalled = 0
    }

    private let state = Lock(State())
    private let journal: RecordJournal?
    private let rateLimit = Lock(EventRateLimit())
    private let changed = Signal()
    private let untold = Lock<(entries: [Entry], isOver: Bool)>(([], false))
    private let arrival = Signal()
    private static let mostUntold = 256

    /// - Parameter journal: where everything is written as JSON lines too.
    init(journal: RecordJournal? = nil) { self.journal = journal }

    /// Waits for the next event; nil when the speaker has stopped. The newest 256 wait. For one thread.
    package func nextNews() -> Entry? {
        while true {
            let (entry, isOver) = untold.withLock { untold in
                (untold.entries.isEmpty ? nil : untold.entries.removeFirst(), untold.isOver)
            }
            if let entry { return entry }
            if isOver { return nil }
            arrival.wait()
        }
    }

    /// Sound in the order it was placed.
    package var spans: [HeardSpan] { state.withLock { $0.spans } }

    /// What happened, oldest first.
    package var entries: [Entry] { state.withLock { $0.entries } }

    package var events: [SpeakerEvent] { entries.map(\.event) }

    /// When a frame was heard, or will be within the next moments; the last time when it was heard several times.
    /// Nil: it was not.
    package func instant(of frame: RTPTimestamp) -> HostInstant? {
        state.withLock { state in
            for span in state.spans.reversed() {
                if let instant = span.instant(of: frame) { return instant }
            }
            return nil
        }
    }

    /// Waits until something in the record satisfies the condition; false when the moment passed first.
    /// For one waiter at a time; blocks the calling thread.
    package func wait(until deadline: HostInstant, for condition: (SpeakerRecord) -> Bool) -> Bool {
        while !condition(self) {
            if !changed.wait(until: deadline) { return condition(self) }
        }
        return true
    }

    /// Records an event, unless there are too many of its kind.
    func note(_ event: SpeakerEvent) {
        let now = HostInstant.now
        let (isAdmitted, summaries) = rateLimit.withLock { $0.admit(event, at: now) }
        for summary in summaries { add(.damaged(reason: summary), at: now) }
        if isAdmitted { add(event, at: now) }
        if let reason = journal?.takeFailure() { add(.damaged(reason: reason), at: now) }
        changed.raise()
    }

    private func add(_ event: SpeakerEvent, at now: HostInstant) {
        state.withLock { state in
            state.entries.append(Entry(instant: now, event: event))
            if state.entries.count > Self.limit { state.entries.removeFirst(Self.limit / 4) }
        }
        journal?.write(event, at: now)
        untold.withLock { untold in
            untold.entries.append(Entry(instant: now, event: event))
            if untold.entries.count > Self.mostUntold { untold.entries.removeFirst() }
        }
        arrival.raise()
    }

    /// Adds sound; what follows on from the last span without a seam makes it longer.
    func add(_ span: HeardSpan) {
        guard span.frames > 0 else { return }
        let finished: [HeardSpan] = state.withLock { state in
            // Spans begin on a device frame and ends are rounded: a microsecond is no seam.
            if var last = state.spans.last, last.sampleRate == span.sampleRate,
                (last.end - span.instant).wholeNanoseconds.magnitude < 1000,
                last.position.advanced(byFrames: Int64(last.frames)) == span.position,
                // A minute a span: a journal that is cut off still tells nearly everything.
                last.frames < 60 * last.sampleRate
            {
                last.frames += span.frames
                state.spans[state.spans.count - 1] = last
                return []
            }
            state.spans.append(span)
            return state.takeFinished()
        }
        for span in finished { journal?.write(span) }
        changed.raise()
    }

    /// Takes back what was placed after a moment and was therefore never heard.
    func cut(at instant: HostInstant) {
        state.withLock { state in
            while var last = state.spans.last, last.end > instant {
                let frames = (instant - last.instant).inSeconds * Double(last.sampleRate)
                let heard = Int(clamping: frames.rounded(.down), in: 0...last.frames)
                if heard == 0 {
                    state.spans.removeLast()
                    state.journalled = min(state.journalled, state.spans.count)
                    continue
                }
                last.frames = heard
                state.spans[state.spans.count - 1] = last
                break
            }
        }
    }

    /// Nothing more will happen.
    func close() {
        for summary in rateLimit.withLock({ $0.takeSummaries(at: .now, isLast: true) }) {
            add(.damaged(reason: summary), at: .now)
        }
        finish()
        untold.withLock { $0.isOver = true }
        arrival.raise()
    }

    /// Writes what is not yet in the journal.
    func finish() {
        let rest = state.withLock { state in
            let rest = Array(state.spans[min(state.journalled, state.spans.count)...])
            state.journalled = state.spans.count
            return rest
        }
        for span in rest { journal?.write(span) }
    }
}

extension SpeakerRecord.State {
    /// Every span but the last, which may still grow.
    fileprivate mutating func takeFinished() -> [HeardSpan] {
        let finished = Array(spans[min(journalled, spans.count - 1)..<(spans.count - 1)])
        journalled = spans.count - 1
        if spans.count > SpeakerRecord.limit {
            spans.removeFirst(SpeakerRecord.limit / 4)
            journalled = max(0, journalled - SpeakerRecord.limit / 4)
        }
        return finished
    }
}
