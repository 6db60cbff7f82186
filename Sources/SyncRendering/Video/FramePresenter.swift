public import MediaCore

/// Selects the video frame that a screen shows. Independent of the device: it uses a layer, a timebase and a
/// `VideoOutput`. Confined to the thread that owns the screen.
///
/// With a fixed refresh it selects the frame nearest to the next refresh. Selecting the newest due frame would show
/// 24 frames a second on a 60 Hz screen 8 ms late on average; the nearest is unbiased within half a refresh. Without a
/// known refresh every frame is presented at its own instant.
package final class FramePresenter {
    /// What to do after a step.
    package enum Next: Sendable, Equatable {
        /// Call `step` again at this instant, or earlier when the layer's `arrival` is raised or the timeline changes.
        case at(HostInstant)
        /// Call `step` when a frame arrives or the timeline changes.
        case whenSomethingArrives
    }

    private let layer: DisplayLayer
    private let timebase: Timebase
    private let output: any VideoOutput
    private let events: EventLog
    /// Compared by identity and not by time: a flush may have replaced the frame.
    private var prepared: (any VideoFrame)?
    /// The overlay of the prepared frame, and that of the displayed frame.
    private var preparedOverlay: Overlay?
    private var shownOverlay: Overlay?
    /// The layer's `removals` at the last step.
    private var removals: UInt64

    /// The number of frames shown since creation, without those that the output could not draw.
    package private(set) var shownCount = 0
    /// When the first of the late frames since the last shown one was dropped; nil if none was.
    private var lateSince: HostInstant?
    /// If all frames are late for so long, one is shown.
    private static let longestStill = Duration.seconds(1)
    /// The number of frames skipped since creation.
    package private(set) var droppedCount = 0
    /// The displayed frame, for repaints and screenshots; nil if the screen is blank.
    package private(set) var onScreen: SampleBuffer?

    private var hasLeft = false

    deinit { leave() }

    /// Creates a presenter of a layer.
    package init(layer: DisplayLayer, timebase: Timebase, output: any VideoOutput, events: EventLog) {
        self.layer = layer
        self.timebase = timebase
        self.output = output
        self.events = events
        removals = layer.removals
        layer.addScreen()
    }

    /// Takes no more frames, so that no start waits for this presenter; the displayed frame can be repainted.
    package func leave() {
        guard !hasLeft else { return }
        hasLeft = true
        layer.removeScreen()
    }

    /// Performs due work; returns when to call again.
    package func step() -> Next {
        let next = stepFrames()
        return layer.hasSubtitles && onScreen != nil ? renew(before: next) : next
    }

    private func stepFrames() -> Next {
        removeImageIfAsked()
        let now = timebase.clock.now
        let snapshot = timebase.snapshot
        let segment = snapshot.segment(at: now)
        if segment.rate == 0, let next = layer.nextTime {
            // After a start or a seek the first frame is shown at once and held until the timeline starts. While the
            // timeline is stopped, a change of its media time steps through the frames.
            if layer.awaitsFirst || next <= segment.mediaAnchor {
                // Skipped frames precede the requested position and are not counted as dropped.
                let selection = layer.dequeueFrame(upTo: max(segment.mediaAnchor, layer.awaitsFirst ? next : .zero))
                if let frame = selection.frame { show(frame, target: now) }
                return .at(now)
            }
        }
        switch output.refresh {
        case .unpaced: return stepUnpaced(now: now, snapshot: snapshot)
        case .fixed(let period, let phase):
            return stepFixed(now: now, snapshot: snapshot, period: period, phase: phase)
        }
    }

    // MARK: Unknown refresh

    private func stepUnpaced(now: HostInstant, snapshot: TimebaseSnapshot) -> Next {
        guard let next = layer.peek(), let pts = next.presentationTime, let frame = next.videoFrame else {
            return .whenSomethingArrives
        }
        guard let due = snapshot.hostInstant(of: pts, at: now) else { return .whenSomethingArrives }
        let cost = output.presentCost
        let delay = output.latency.delay
        let callAt = due.advanced(by: .zero - delay - cost)
        if prepared !== frame {
            // Prepare one frame ahead, shortly before it is due.
            if callAt.duration(to: now) < .zero, callAt - now > .milliseconds(40) {
                return .at(callAt.advanced(by: .milliseconds(-35)))
            }
            // If the frame is late, prepare the newest due frame instead.
            let horizon = snapshot.mediaTime(at: now.advanced(by: delay + cost))
            if pts < horizon { return presentDue(upTo: horizon, snapshot: snapshot, now: now) }
            prepare(frame, seenAt: pts)
            let after = timebase.clock.now
            if callAt > after { return .at(callAt) }
        } else if callAt > now {
            return .at(callAt)
        }
        return presentDue(upTo: pts, snapshot: snapshot, now: now)
    }

    private func presentDue(upTo time: MediaTime, snapshot: TimebaseSnapshot, now: HostInstant) -> Next {
        let isFirst = layer.awaitsFirst
        let selection = layer.dequeueFrame(upTo: time)
        recordSkipped(selection)
        guard let frame = selection.frame, let pts = frame.presentationTime else { return .whenSomethingArrives }
        let visible = now.advanced(by: output.latency.delay + output.presentCost)
        if isFirst || !drops(frame, at: visible, snapshot.segment(at: visible)) {
            show(frame, target: snapshot.hostInstant(of: pts, at: now) ?? now)
        }
        return .at(timebase.clock.now)
    }

    // MARK: Fixed refresh

    private func stepFixed(
        now: HostInstant, snapshot: TimebaseSnapshot, period: Duration, phase: HostInstant
    ) -> Next {
        let periodNs = max(1, period.wholeNanoseconds)
        let ready = now.advanced(by: output.presentCost)
        // The next refresh that a frame presented now can reach.
        let since = ready.nanoseconds - phase.nanoseconds
        let count = since >= 0 ? (since + periodNs - 1) / periodNs : -((-since) / periodNs)
        let flip = HostInstant(nanoseconds: phase.nanoseconds + count * periodNs)
        let light = flip.advanced(by: output.latency.delay)
        let segment = snapshot.segment(at: light)
        guard layer.nextTime != nil else { return .whenSomethingArrives }
        guard segment.rate != 0 else {
            // A frame presented then becomes visible when the scheduled segment starts.
            let early = .zero - output.latency.delay - output.presentCost
            return snapshot.scheduled.map { .at(max($0.hostAnchor.advanced(by: early), flip)) } ?? .whenSomethingArrives
        }
        // Nearest refresh: a frame is due at the first refresh not earlier than half a period before its time.
        let half = HostInstant(nanoseconds: light.nanoseconds + periodNs / 2)
        let isFirst = layer.awaitsFirst
        let selection = layer.dequeueFrame(upTo: segment.mediaTime(at: half))
        recordSkipped(selection)
        if let frame = selection.frame, let pts = frame.presentationTime,
            isFirst || !drops(frame, at: light, segment)
        {
            show(frame, target: segment.hostInstant(of: pts) ?? light)
        }
        return .at(flip.advanced(by: period - output.presentCost))
    }

    // MARK: Presentation

    private func show(_ buffer: SampleBuffer, target: HostInstant) {
        guard let frame = buffer.videoFrame, let pts = buffer.presentationTime else { return }
        // Subtitles may have been drawn or changed meanwhile.
        if prepared !== frame || preparedOverlay !== layer.subtitleOverlay(at: pts) {
            prepare(frame, seenAt: pts)
        }
        prepared = nil
        let isDrawn = output.canPresent
        let visible = output.present()
        (onScreen, shownOverlay) = (buffer, preparedOverlay)
        layer.markPresented()
        guard isDrawn else { return }
        lateSince = nil
        shownCount += 1
        events.append(
            .frame(pts: pts, target: target, presented: visible.advanced(by: output.latency.delay)), at: visible)
    }

    /// Drops a frame that would be visible too late, so that what is shown belongs to what is heard; but after a second
    /// of late frames shows one, so that a film that is decoded too slowly without skipping still moves.
    ///
    /// - Parameter segment: The timeline when the frame would be visible.
    private func drops(_ frame: SampleBuffer, at visible: HostInstant, _ segment: TimebaseSegment) -> Bool {
        guard let pts = frame.presentationTime, let due = segment.hostInstant(of: pts),
            frame.isExpired(after: visible - due, (segment.mediaTime(at: visible) - pts).duration),
            lateSince.map({ visible - $0 < Self.longestStill }) ?? true
        else { return false }
        lateSince = lateSince ?? visible
        prepared = nil
        droppedCount += 1
        events.append(.framesDropped(count: 1, at: pts, reason: .late))
        return true
    }

    private func recordSkipped(_ selection: DisplayLayer.Selection) {
        guard selection.skipped > 0, let first = selection.firstSkipped else { return }
        droppedCount += selection.skipped
        events.append(.framesDropped(count: selection.skipped, at: first, reason: .late))
    }

    private func removeImageIfAsked() {
        let removals = layer.removals
        guard removals != self.removals else { return }
        self.removals = removals
        (prepared, onScreen, shownOverlay) = (nil, nil, nil)
        output.removeImage()
    }

    /// Repaints the displayed frame after a resize, an exposure or a change of the overlay.
    package func repaint() {
        guard let buffer = onScreen, let frame = buffer.videoFrame else { return }
        prepare(frame, seenAt: subtitleTime(of: buffer))
        prepared = nil
        _ = output.present()
        shownOverlay = preparedOverlay
    }

    private func prepare(_ frame: any VideoFrame, seenAt time: MediaTime) {
        if layer.hasSubtitles {
            if let canvas = output.canvas(for: frame) { layer.setSubtitleCanvas(canvas) }
            preparedOverlay = layer.subtitleOverlay(at: time)
        } else {
            preparedOverlay = nil
        }
        output.prepare(frame, under: preparedOverlay)
        prepared = frame
    }

    // MARK: Subtitles

    /// A frame displayed longer than this is repainted when its subtitles change; otherwise the next frame shows them.
    private static let longFrame = Duration.milliseconds(100)

    /// Returns the media time for the subtitles of a displayed frame: its own, or the current one if it has been
    /// displayed for long.
    private func subtitleTime(of buffer: SampleBuffer) -> MediaTime {
        let own = buffer.presentationTime ?? .zero
        let now = timebase.currentTime
        return (now - own).duration > Self.longFrame ? now : own
    }

    /// Repaints the displayed frame if its subtitles have changed, unless the next frame will show them.
    private func renew(before next: Next) -> Next {
        guard let buffer = onScreen else { return next }
        let (now, snapshot) = (timebase.clock.now, timebase.snapshot)
        let following = layer.nextTime.flatMap { snapshot.hostInstant(of: $0, at: now) }
        if let following, following - now < Self.longFrame / 2 { return next }
        let time = subtitleTime(of: buffer)
        if layer.subtitleOverlay(at: time) !== shownOverlay { repaint() }
        // Handles a resized or newly opened window.
        if let frame = buffer.videoFrame, let canvas = output.canvas(for: frame) { layer.setSubtitleCanvas(canvas) }
        guard let change = layer.nextSubtitleChange(after: time),
            let instant = snapshot.hostInstant(of: change, at: now)
        else { return next }
        let due = max(instant, now.advanced(by: .milliseconds(1)))
        if case .at(let other) = next, other <= due { return next }
        return .at(due)
    }

    /// The media time of the subtitles over the displayed frame; nil if the screen is blank.
    package var subtitleTimeOnScreen: MediaTime? { onScreen.map(subtitleTime) }

    /// Discards the prepared frame, so that it is drawn again before it is shown.
    package func invalidate() { prepared = nil }
}

extension SampleBuffer {
    /// How late a frame is shown at most. EBU R37 permits 40 ms for audio ahead of video.
    private static let maxFrameDelay = Duration.milliseconds(40)

    /// Returns whether a frame is too late to be shown: by more than 40 ms of host time, and past its end. A frame
    /// without a duration is displayed until the next one and is never too late.
    package func isExpired(after host: Duration, _ media: Duration) -> Bool {
        duration > .zero && host > Self.maxFrameDelay && media >= duration.duration
    }

    /// The decoded frame; nil if the buffer has another payload.
    public var videoFrame: (any VideoFrame)? {
        if case .videoFrame(let frame) = payload { return frame }
        return nil
    }
}
