package import MediaCore

/// The record of a software speaker: audio that was audible and when, and events.
///
/// Bounded: the newest spans and events are kept. All methods are callable from any thread; `state` holds the contents.
package final class SpeakerRecord: Sendable {
    /// An event and its time.
    package struct Entry: Hashable, Sendable {
        /// When the event was recorded.
        let instant: HostInstant
        package let event: SpeakerEvent
    }

    /// Maximum number of spans, and of events.
    static let limit = 20_000

    fileprivate struct State {
        var spans: [HeardSpan] = []
        var entries: [Entry] = []
        /// The number of spans written to the journal.
        var journalled = 0
    }

    /// Written by the playout and control threads, read by any thread.
    private let state = Lock(State())
    private let journal: RecordJournal?
    private let rateLimit = Lock(EventRateLimit())
    private let changed = Signal()
    /// Events not yet returned by `nextEvent`, and whether the record is closed.
    private let undelivered = Lock<(entries: [Entry], isOver: Bool)>(([], false))
    private let arrival = Signal()
    private static let maxQueuedEvents = 256

    /// - Parameter journal: A second destination for all spans and events, as JSON lines.
    init(journal: RecordJournal? = nil) { self.journal = journal }

    /// Blocks until the next event and returns it; nil after the speaker has stopped.
    ///
    /// The newest 256 events are queued. Only one thread may call this.
    package func nextEvent() -> Entry? {
        while true {
            let (entry, isOver) = undelivered.withLock { undelivered in
                (undelivered.entries.isEmpty ? nil : undelivered.entries.removeFirst(), undelivered.isOver)
            }
            if let entry { return entry }
            if isOver { return nil }
            arrival.wait()
        }
    }

    /// The spans of audio in the order of placement.
    package var spans: [HeardSpan] { state.withLock { $0.spans } }

    /// The events with their times, oldest first.
    var entries: [Entry] { state.withLock { $0.entries } }

    /// The events, oldest first.
    package var events: [SpeakerEvent] { entries.map(\.event) }

    /// Returns when a frame was or will be audible, or nil. The last time if it was audible several times.
    package func instant(of frame: RTPTimestamp) -> HostInstant? {
        state.withLock { state in
            for span in state.spans.reversed() {
                if let instant = span.instant(of: frame) { return instant }
            }
            return nil
        }
    }

    /// Blocks until the record satisfies a condition; returns false at `deadline`.
    ///
    /// Only one thread at a time may wait.
    package func wait(until deadline: HostInstant, for condition: (SpeakerRecord) -> Bool) -> Bool {
        while !condition(self) {
            if !changed.wait(until: deadline) { return condition(self) }
        }
        return true
    }

    /// Records an event unless the rate limit is exceeded.
    func record(_ event: SpeakerEvent) {
        let now = HostInstant.now
        let (isAdmitted, summaries) = rateLimit.withLock { $0.admit(event, at: now) }
        for summary in summaries { add(.damaged(reason: summary), at: now) }
        if isAdmitted { add(event, at: now) }
        if let reason = journal?.consumeFailure() { add(.damaged(reason: reason), at: now) }
        changed.raise()
    }

    private func add(_ event: SpeakerEvent, at now: HostInstant) {
        state.withLock { state in
            state.entries.append(Entry(instant: now, event: event))
            if state.entries.count > Self.limit { state.entries.removeFirst(Self.limit / 4) }
        }
        journal?.write(event, at: now)
        undelivered.withLock { undelivered in
            undelivered.entries.append(Entry(instant: now, event: event))
            if undelivered.entries.count > Self.maxQueuedEvents { undelivered.entries.removeFirst() }
        }
        arrival.raise()
    }

    /// Adds audio. A span that continues the last one without a discontinuity extends it.
    func add(_ span: HeardSpan) {
        guard span.frames > 0 else { return }
        let finished: [HeardSpan] = state.withLock { state in
            // Spans begin on a device frame and ends are rounded, so up to 1 µs is contiguous.
            if var last = state.spans.last, last.sampleRate == span.sampleRate,
                (last.end - span.instant).wholeNanoseconds.magnitude < 1000,
                last.position.advanced(byFrames: Int64(last.frames)) == span.position,
                // At most one minute per span, so that a truncated journal loses little.
                last.frames < 60 * last.sampleRate
            {
                last.frames += span.frames
                state.spans[state.spans.count - 1] = last
                return []
            }
            state.spans.append(span)
            return state.removeFinished()
        }
        for span in finished { journal?.write(span) }
        changed.raise()
    }

    /// Removes audio placed after `instant`, which was not audible.
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

    /// Ends the record: writes the rest to the journal and makes `nextEvent` return nil.
    func close() {
        for summary in rateLimit.withLock({ $0.removeSummaries(at: .now, isLast: true) }) {
            add(.damaged(reason: summary), at: .now)
        }
        finish()
        undelivered.withLock { $0.isOver = true }
        arrival.raise()
    }

    /// Writes the remaining spans to the journal.
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
    /// Returns the spans not yet in the journal, except the last one, which may still be extended.
    fileprivate mutating func removeFinished() -> [HeardSpan] {
        let finished = Array(spans[min(journalled, spans.count - 1)..<(spans.count - 1)])
        journalled = spans.count - 1
        if spans.count > SpeakerRecord.limit {
            spans.removeFirst(SpeakerRecord.limit / 4)
            journalled = max(0, journalled - SpeakerRecord.limit / 4)
        }
        return finished
    }
}
