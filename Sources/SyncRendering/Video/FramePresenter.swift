public import MediaCore

/// Decides which picture a screen shows when. Device-free: it knows a layer, a timebase and a `VideoOutput`, and is
/// stepped by the one thread that owns the screen.
///
/// On a fixed refresh the picture whose time lies nearest to the next flip is taken: "newest not after" would show
/// 24 pictures a second on a 60 Hz screen 8 ms late on average, nearest is unbiased within half a refresh. Where no
/// refresh is known every picture is presented at its own instant; no grid is invented.
public final class FramePresenter {
    /// What to do after a step.
    public enum Next: Sendable, Equatable {
        /// Call `step` again at this moment, or earlier when the layer's `arrival` is raised or the timeline changes.
        case at(HostInstant)
        /// Nothing to do until something arrives or changes.
        case whenSomethingArrives
    }

    private let layer: DisplayLayer
    private let timebase: Timebase
    private let output: any VideoOutput
    private let events: EventLog
    /// By itself and not by its time: a flush may have put another one in its place.
    private var prepared: (any Picture)?
    /// What lies over it, and over the picture on screen.
    private var preparedOverlay: Overlay?
    private var shownOverlay: Overlay?
    private var removals: UInt64

    /// Pictures shown and passed over since the start.
    public private(set) var shownCount = 0
    public private(set) var droppedCount = 0
    /// The picture on screen, for repainting and screenshots.
    public private(set) var onScreen: SampleBuffer?

    deinit { layer.state.withLock { $0.presenters -= 1 } }

    public init(layer: DisplayLayer, timebase: Timebase, output: any VideoOutput, events: EventLog) {
        self.layer = layer
        self.timebase = timebase
        self.output = output
        self.events = events
        removals = layer.removals
        layer.state.withLock { $0.presenters += 1 }
    }

    /// Does what is due now and says when to come back.
    public func step() -> Next {
        let next = stepPictures()
        return layer.hasWords && onScreen != nil ? renew(before: next) : next
    }

    private func stepPictures() -> Next {
        removeImageIfAsked()
        let now = timebase.clock.now
        let snapshot = timebase.snapshot
        let segment = snapshot.segment(at: now)
        if segment.rate == 0, let next = layer.nextTime {
            // After a start or a jump the first picture is shown at once and held until time runs; while time stands
            // still it can also be set forward, frame by frame.
            if layer.awaitsFirst || next <= segment.mediaAnchor {
                // What is passed over lies before the place asked for; it was never meant to be seen.
                let selection = layer.take(upTo: max(segment.mediaAnchor, layer.awaitsFirst ? next : .zero))
                if let picture = selection.picture { show(picture, target: now) }
                return .at(now)
            }
        }
        switch output.refresh {
        case .unpaced: return stepUnpaced(now: now, snapshot: snapshot)
        case .fixed(let period, let phase):
            return stepFixed(now: now, snapshot: snapshot, period: period, phase: phase)
        }
    }

    // MARK: No refresh known

    private func stepUnpaced(now: HostInstant, snapshot: TimebaseSnapshot) -> Next {
        guard let next = layer.peek(), let pts = next.presentationTime, let picture = next.picture else {
            return .whenSomethingArrives
        }
        guard let due = snapshot.hostInstant(of: pts, at: now) else { return .whenSomethingArrives }
        let cost = output.presentCost
        let delay = output.latency.delay
        let callAt = due.advanced(by: .zero - delay - cost)
        if prepared !== picture {
            // Convert while there is time; one picture ahead is enough.
            if callAt.duration(to: now) < .zero, callAt - now > .milliseconds(40) {
                return .at(callAt.advanced(by: .milliseconds(-35)))
            }
            // Late already? Then the newest picture that is due is the one worth converting.
            let horizon = snapshot.mediaTime(at: now.advanced(by: delay + cost))
            if pts < horizon { return presentDue(upTo: horizon, snapshot: snapshot, now: now) }
            prepare(picture, seenAt: pts)
            let after = timebase.clock.now
            if callAt > after { return .at(callAt) }
        } else if callAt > now {
            return .at(callAt)
        }
        return presentDue(upTo: pts, snapshot: snapshot, now: now)
    }

    private func presentDue(upTo time: MediaTime, snapshot: TimebaseSnapshot, now: HostInstant) -> Next {
        let selection = layer.take(upTo: time)
        noteSkipped(selection)
        guard let picture = selection.picture, let pts = picture.presentationTime else { return .whenSomethingArrives }
        show(picture, target: snapshot.hostInstant(of: pts, at: now) ?? now)
        return .at(timebase.clock.now)
    }

    // MARK: Fixed refresh

    private func stepFixed(
        now: HostInstant, snapshot: TimebaseSnapshot, period: Duration, phase: HostInstant
    ) -> Next {
        let periodNs = max(1, period.wholeNanoseconds)
        let ready = now.advanced(by: output.presentCost)
        // The next flip that a picture handed over now can still reach.
        let since = ready.nanoseconds - phase.nanoseconds
        let count = since >= 0 ? (since + periodNs - 1) / periodNs : -((-since) / periodNs)
        let flip = HostInstant(nanoseconds: phase.nanoseconds + count * periodNs)
        let light = flip.advanced(by: output.latency.delay)
        let segment = snapshot.segment(at: light)
        guard layer.nextTime != nil else { return .whenSomethingArrives }
        guard segment.rate != 0 else {
            // A picture that is handed over then is perceived when the scheduled segment begins.
            let early = .zero - output.latency.delay - output.presentCost
            return snapshot.scheduled.map { .at(max($0.hostAnchor.advanced(by: early), flip)) } ?? .whenSomethingArrives
        }
        // Nearest flip: a picture is due at the first flip not earlier than half a refresh before its own time.
        let half = HostInstant(nanoseconds: light.nanoseconds + periodNs / 2)
        let selection = layer.take(upTo: segment.mediaTime(at: half))
        noteSkipped(selection)
        if let picture = selection.picture, let pts = picture.presentationTime {
            show(picture, target: segment.hostInstant(of: pts) ?? light)
        }
        return .at(flip.advanced(by: period - output.presentCost))
    }

    // MARK: Showing

    private func show(_ buffer: SampleBuffer, target: HostInstant) {
        guard let picture = buffer.picture, let pts = buffer.presentationTime else { return }
        // Words may have been drawn, or have become others, since.
        if prepared !== picture || preparedOverlay !== layer.words(at: pts) {
            prepare(picture, seenAt: pts)
        }
        prepared = nil
        let visible = output.present()
        (onScreen, shownOverlay) = (buffer, preparedOverlay)
        shownCount += 1
        events.note(
            .frame(pts: pts, target: target, presented: visible.advanced(by: output.latency.delay)), at: visible)
    }

    private func noteSkipped(_ selection: DisplayLayer.Selection) {
        guard selection.skipped > 0, let first = selection.firstSkipped else { return }
        droppedCount += selection.skipped
        events.note(.framesDropped(count: selection.skipped, at: first, reason: .late))
    }

    private func removeImageIfAsked() {
        let removals = layer.removals
        guard removals != self.removals else { return }
        self.removals = removals
        (prepared, onScreen, shownOverlay) = (nil, nil, nil)
        output.removeImage()
    }

    /// Draws the picture on screen again: after a resize, an exposure, a message over it.
    public func repaint() {
        guard let buffer = onScreen, let picture = buffer.picture else { return }
        prepare(picture, seenAt: wordTime(of: buffer))
        prepared = nil
        _ = output.present()
        shownOverlay = preparedOverlay
    }

    private func prepare(_ picture: any Picture, seenAt time: MediaTime) {
        if layer.hasWords {
            if let canvas = output.canvas(for: picture) { layer.setCanvasOfWords(canvas) }
            preparedOverlay = layer.words(at: time)
        } else {
            preparedOverlay = nil
        }
        output.prepare(picture, under: preparedOverlay)
        prepared = picture
    }

    // MARK: Words

    /// A picture that stays for longer gets new words when they are due; others wait for the next picture.
    private static let longPicture = Duration.milliseconds(100)

    /// The film time whose words belong to a picture on screen: its own, or the present where it has been there for long.
    private func wordTime(of buffer: SampleBuffer) -> MediaTime {
        let own = buffer.presentationTime ?? .zero
        let now = timebase.currentTime
        return (now - own).duration > Self.longPicture ? now : own
    }

    /// Paints the picture on screen again where other words are to lie over it, unless the next picture brings them.
    private func renew(before next: Next) -> Next {
        guard let buffer = onScreen else { return next }
        let (now, snapshot) = (timebase.clock.now, timebase.snapshot)
        let following = layer.nextTime.flatMap { snapshot.hostInstant(of: $0, at: now) }
        if let following, following - now < Self.longPicture / 2 { return next }
        let time = wordTime(of: buffer)
        if layer.words(at: time) !== shownOverlay { repaint() }
        // A window of another size, or one that opened only now.
        if let picture = buffer.picture, let canvas = output.canvas(for: picture) { layer.setCanvasOfWords(canvas) }
        guard let change = layer.nextChangeOfWords(after: time),
            let instant = snapshot.hostInstant(of: change, at: now)
        else { return next }
        let due = max(instant, now.advanced(by: .milliseconds(1)))
        if case .at(let other) = next, other <= due { return next }
        return .at(due)
    }

    /// The film time whose words lie over the picture on screen.
    package var momentOnScreen: MediaTime? { onScreen.map(wordTime) }

    /// Forgets what was prepared: it is drawn again before it is shown.
    public func invalidate() { prepared = nil }
}

extension SampleBuffer {
    /// The picture inside, if that is what it holds.
    public var picture: (any Picture)? {
        if case .picture(let picture) = payload { return picture }
        return nil
    }
}
