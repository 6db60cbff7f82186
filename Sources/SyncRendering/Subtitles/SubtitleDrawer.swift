package import MediaCore
internal import Synchronization

/// The work of a `SubtitleRenderer`'s thread: decodes enqueued buffers and draws what is due within a second.
///
/// Static subtitles are drawn once for their whole duration. Animated ones are drawn for each queued video frame, at
/// the frame's time. Confined to one thread.
package final class SubtitleDrawer {
    /// The result of an iteration.
    package struct Rest {
        /// When work is due without a signal; nil: not scheduled.
        package var until: HostInstant?
    }

    private weak let renderer: SubtitleRenderer?
    private let codecs: (any SubtitleCodecs)?
    private let makeDrawing: () -> (any SubtitleDrawing)?
    private lazy var drawing = makeDrawing()
    private var decoder: (any SubtitleDecoder)?
    private var format: SubtitleFormat?
    /// The last static overlay with its cues, which is reused for the same cues.
    private var drawn: (numbers: [UInt64], edition: UInt64, overlay: Overlay?)?

    private static let drawsAhead = MediaTime(value: 1, timescale: 1)
    /// The maximum number of spans drawn in one iteration.
    private static let maxSpans = 64
    /// The shortest span, for a single video frame.
    static let instant = MediaTime(value: 1, timescale: 1_000_000_000)
    private static let forever = MediaTime(value: 1 << 40, timescale: 1)

    init(
        renderer: SubtitleRenderer, codecs: (any SubtitleCodecs)?,
        makeDrawing: @escaping () -> (any SubtitleDrawing)?
    ) {
        (self.renderer, self.codecs, self.makeDrawing) = (renderer, codecs, makeDrawing)
    }

    /// Runs one iteration: decodes and draws. Returns nil if the renderer has ended.
    package func runIteration() -> Rest? {
        guard let renderer else { return nil }
        // Cleared before the state is read: otherwise a signal of `stop` in between would be lost.
        renderer.wake.clear()
        guard !renderer.state.withLock({ $0.isStopping }) else { return nil }
        decode(for: renderer)
        let hasMore = draw(for: renderer)
        return Rest(until: hasMore ? renderer.state.withLock { $0.synchronizer }?.clock.now : nextTurn(of: renderer))
    }

    // MARK: Decoding

    private func decode(for renderer: SubtitleRenderer) {
        while true {
            let (buffer, isFlushed) = renderer.state.withLock { state in
                defer { state.isFlushed = false }
                state.decoding = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
                return (state.decoding?.buffer, state.isFlushed)
            }
            if isFlushed { decoder?.flush() }
            guard let buffer else { break }
            do throws(MediaError) {
                for cue in try cues(of: buffer) { insert(cue, into: renderer) }
            } catch {
                renderer.state.withLock { $0.failure = $0.failure ?? error }
            }
        }
        renderer.offerRoom()
    }

    private func cues(of buffer: SampleBuffer) throws(MediaError) -> [SampleBuffer] {
        guard case .encodedSubtitle(let format, let batch) = buffer.payload else { return [buffer] }
        if batch.packets.isEmpty { return [] }
        if decoder == nil || self.format != format {
            decoder = try codecs?.decoder(for: format)
            self.format = format
        }
        return try decoder?.decode(buffer) ?? []
    }

    private func insert(_ buffer: SampleBuffer, into renderer: SubtitleRenderer) {
        guard case .subtitle(let cue) = buffer.payload, let start = buffer.presentationTime else { return }
        renderer.withSynchronizer { state in
            // Flushed while it was decoded: the cue belongs to the position before a seek.
            if state.isFlushed { return }
            let now = (state.synchronizer?.currentTime() ?? .zero) - state.delay
            let from = max(start, state.decoding?.from ?? start)
            let until = [buffer.duration > .zero ? start + buffer.duration : nil, state.decoding?.until].compactMap {
                $0
            }.min()
            // Dropped: the cue ends before its permitted range or starts after it.
            if let until, until <= from { return }
            let duration = until.map { $0 - from } ?? .zero
            if !state.store.insert(cue, start: from, duration: duration, at: now) { state.reportFlood() }
            state.forgetDrawn(from: from + state.delay)
        }
    }

    // MARK: Drawing

    /// Draws the spans that are due.
    ///
    /// - Returns: Whether the limit of an iteration was reached and more is due.
    private func draw(for renderer: SubtitleRenderer) -> Bool {
        guard let layer = renderer.layer, let synchronizer = renderer.state.withLock({ $0.synchronizer }) else {
            return false
        }
        let frameTimes = layer.frameTimesAhead
        let now = synchronizer.currentTime()
        let first = min(frameTimes.first ?? now, now)
        let last = max(frameTimes.last ?? now, now) + Self.drawsAhead
        renderer.state.withLock { state in state.spans.removeAll { $0.until <= first } }
        var (subtitleTime, count, moves) = (first, 0, false)
        defer {
            renderer.isMoving.store(moves, ordering: .relaxed)
            if count > 0 { layer.arrival.raise() }
        }
        while subtitleTime < last {
            guard count < Self.maxSpans else { return true }
            let plan = renderer.state.withLock { Plan(at: subtitleTime, in: &$0) }
            if let known = plan.known {
                subtitleTime = known
                continue
            }
            guard let canvas = plan.canvas else { return false }
            var span = SubtitleRenderer.Span(from: subtitleTime, until: plan.change ?? Self.forever)
            if plan.cues.contains(where: \.cue.isAnimated), let newest = frameTimes.last, newest >= subtitleTime {
                moves = true
                // Drawn for the next queued video frame only, because the times of later frames are unknown.
                guard let frameTime = frameTimes.first(where: { $0 >= subtitleTime }), frameTime < span.until else {
                    subtitleTime = span.until
                    continue
                }
                (span.from, span.until) = (frameTime, frameTime + Self.instant)
                span.overlay = overlay(of: plan.cues, at: frameTime - plan.delay, on: canvas)
            } else if plan.cues.contains(where: \.cue.isAnimated), !frameTimes.isEmpty {
                moves = true
                break
            } else if !plan.cues.isEmpty {
                span.overlay = standing(plan, at: subtitleTime, on: canvas)
            }
            count += 1
            guard store(span, of: plan, for: renderer) else { return true }
            subtitleTime = span.until
        }
        return false
    }

    /// The state required for drawing at a time, read under the renderer's lock.
    private struct Plan {
        /// The end of an existing span at that time.
        var known: MediaTime?
        var cues: [ActiveCue] = []
        /// When the set of cues changes.
        var change: MediaTime?
        var canvas: SubtitleCanvas?
        var delay: MediaTime
        var edition: UInt64

        init(at subtitleTime: MediaTime, in state: inout SubtitleRenderer.State) {
            (canvas, delay, edition) = (state.canvas, state.delay, state.edition)
            canvas?.style = state.style
            known = state.spans.first { $0.from <= subtitleTime && subtitleTime < $0.until }?.until
            guard known == nil, !state.isHidden else { return }
            let leftOut = state.store.leftOut
            cues = state.store.active(at: subtitleTime - delay)
            if state.store.leftOut > leftOut { state.reportFlood() }
            change = state.nextChange(after: subtitleTime)
        }
    }

    /// Returns the overlay of static cues; reused while the cues are the same.
    private func standing(_ plan: Plan, at subtitleTime: MediaTime, on canvas: SubtitleCanvas) -> Overlay? {
        let numbers = plan.cues.map(\.number)
        if let drawn, drawn.numbers == numbers, drawn.edition == plan.edition { return drawn.overlay }
        let overlay = overlay(of: plan.cues, at: subtitleTime - plan.delay, on: canvas)
        drawn = (numbers, plan.edition, overlay)
        return overlay
    }

    private func overlay(of cues: [ActiveCue], at time: MediaTime, on canvas: SubtitleCanvas) -> Overlay? {
        let images = drawing?.draw(cues, at: time, on: canvas) ?? []
        return images.isEmpty ? nil : Overlay(images)
    }

    /// Stores a span.
    ///
    /// - Returns: False if it is obsolete.
    private func store(_ span: SubtitleRenderer.Span, of plan: Plan, for renderer: SubtitleRenderer) -> Bool {
        let trouble = plan.cues.isEmpty ? nil : drawing?.consumeProblem()
        return renderer.state.withLock { state in
            if let trouble { state.trouble = trouble }
            guard state.edition == plan.edition else { return false }
            state.spans.insert(span, at: state.spans.firstIndex { $0.from > span.from } ?? state.spans.count)
            return true
        }
    }

    // MARK: Waiting

    /// Returns when the next iteration is due without a signal; nil: not scheduled.
    private func nextTurn(of renderer: SubtitleRenderer) -> HostInstant? {
        let (synchronizer, drawn, asked) = renderer.state.withLock { state in
            (
                state.synchronizer, state.spans.last?.until,
                state.wasFull && state.failure == nil
                    ? state.knownUntil.map { $0 - SubtitleRenderer.asksAgain + min(state.delay, .zero) } : nil
            )
        }
        guard let synchronizer else { return nil }
        let now = synchronizer.clock.now
        let wanted = [drawn.map { $0 - Self.drawsAhead }, asked].compactMap { $0 }.min()
        guard let wanted, wanted < Self.forever - Self.drawsAhead else { return nil }
        // At least 20 ms ahead: everything due now was drawn in this iteration.
        return synchronizer.timebase.snapshot.hostInstant(of: wanted, at: now)
            .map { max($0, now.advanced(by: .milliseconds(20))) }
    }
}
