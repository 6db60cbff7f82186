internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import SyncRendering

/// Applies the timebase to a classic receiver. Called on the control thread between requests.
final class ClassicSupervisor: Sendable {
    private weak let speaker: ClassicSpeaker?
    private let sent = Lock(SentState())
    private let display: SpeakerDisplay
    private let clockState = Lock<SpeakerClockState?>(nil)

    /// The commands that were sent to the receiver; used on the control thread.
    private struct SentState {
        var epoch: UInt64?
        var anchor: SentAnchor?
        /// Whether the receiver has played with this anchor: it may have dropped what it had decoded.
        var hasPlayed = false
        /// Whether all packets from the start position on were sent again for the pending start.
        var isRewound = false
        /// Whether the stream was halted for that, so that the anchor no longer applies.
        var isHalted = false
        /// Since when no request to rewind was answered, although the receiver answers other requests.
        var unansweredSince: HostInstant?
        /// Since when the receiver has requested no time.
        var stalledSince: HostInstant?
    }

    /// A smaller change of the timeline is ignored, because a new anchor is audible.
    private static let ignoredShift: Duration = .microseconds(200)
    /// A smaller change is corrected by the receiver with its buffered audio.
    private static let correctableShift: Duration = .milliseconds(250)
    /// Delay before a temporarily failed request is repeated.
    private static let retry: Duration = .milliseconds(500)
    /// A receiver that has sent no timing request after this does not receive us.
    private static let silenceTimeout: Duration = .seconds(8)
    /// A receiver that answers no start for this long is silent.
    private static let answerTimeout: Duration = .seconds(10)
    /// A receiver that has stopped requesting time gets a new session after this.
    private static let stallTimeout: Duration = .seconds(10)
    /// Poll interval for a clock that is not ready.
    private static let clockInterval: Duration = .milliseconds(50)

    init(speaker: ClassicSpeaker, display: SpeakerDisplay) { (self.speaker, self.display) = (speaker, display) }

    /// Performs the due work. Returns when to call it again; nil: when requested.
    func performDueWork(_ core: ClassicSessionCore) -> HostInstant? {
        guard let speaker else { return nil }
        let (context, input, epoch) = speaker.state.withLock { ($0.context, $0.input, $0.anchors.epoch) }
        guard let context, let input else { return nil }
        var sent = sent.withLock { $0 }
        if sent.epoch != epoch { sent = SentState(epoch: epoch) }
        let next = steer(core, speaker, context: context, input: input, sent: &sent)
        self.sent.withLock { $0 = sent }
        return display.update(speaker, with: core, isPlaying: sent.anchor != nil) ? core.host.now : next
    }

    /// Applies the timebase. Returns when to call it again; nil: when requested.
    private func steer(
        _ core: ClassicSessionCore, _ speaker: ClassicSpeaker, context: AudioOutputContext, input: StreamInput,
        sent: inout SentState
    ) -> HostInstant? {
        let now = core.host.now
        let clock = core.shared.clock
        recordClock(clock.readiness, context)
        let wait = clock.ready == nil ? now.advanced(by: Self.clockInterval) : nil
        // Checked before the rate: the player holds it at 0 until the clock is ready, which may never happen.
        if clock.ready == nil, let began = core.streamBegan, now - began >= Self.silenceTimeout {
            let error = OutputError(
                .notPermitted, "\(speaker.name) does not request this computer's time.", remedy: .checkFirewall)
            speaker.abandon(error.saying(speaker.configuration.phrases.inErrors))
            return nil
        }
        let snapshot = context.timebase.snapshot
        let segment = snapshot.upcoming
        do throws(AirPlayError) {
            if segment.rate == 0 { return try stop(segment, core: core, speaker: speaker, sent: &sent) ?? wait }
            if isRenewed(core, speaker, readiness: clock.readiness, sent: &sent) { return nil }
            // `accept` requests a call once there is enough.
            guard input.isStartable else { return wait }
            let command = Command(
                segment: segment, generation: snapshot.generation, delay: context.timebase.delayInAll)
            let next = try start(
                command, timestamps: input.timestamps, core: core, speaker: speaker, context: context, sent: &sent)
            let tail = sent.anchor == nil ? nil : speaker.extendTail(along: segment, at: core.host.now)
            return [next, tail].compactMap { $0 }.min()
        } catch {
            switch error.code {
            case .timedOut:
                let isSilent = segment.rate != 0 && !core.shared.isUnresponsive
                sent.unansweredSince = isSilent ? sent.unansweredSince ?? core.host.now : nil
                guard sent.unansweredSince.map({ core.host.now - $0 < Self.answerTimeout }) ?? true else {
                    let error = OutputError(
                        .failed, "\(speaker.name) does not answer the request to start; restart it.")
                    speaker.abandon(error.saying(speaker.configuration.phrases.inErrors))
                    return nil
                }
                return core.host.now.advanced(by: Self.retry)
            case .refused, .busy, .pairingRequired, .notAuthentic:
                // The receiver will not play. Lost connections are handled by `rejoin`.
                if segment.rate != 0 { speaker.abandon(speaker.outputError(error)) }
                return nil
            default: return nil
            }
        }
    }

    /// Records a change of the receiver's clock state, and signals the player when it begins to measure the clock.
    private func recordClock(_ readiness: ClockReadiness, _ context: AudioOutputContext) {
        let state: SpeakerClockState =
            switch readiness {
            case .cold: .cold
            case .probing: .probing
            case .ready: .ready
            case .stalled: .stalled
            }
        let last = clockState.withLock { last in
            defer { last = state }
            return last
        }
        guard last != state else { return }
        context.events.append(.clock(state: state, output: context.id))
        context.writable.raise()
    }

    /// Ends the session of a receiver that has stopped requesting time; another session may synchronize. The receiver
    /// plays on by its anchor if two sessions did not help.
    ///
    /// - Returns: Whether the session was ended, or the receiver fails.
    private func isRenewed(
        _ core: ClassicSessionCore, _ speaker: ClassicSpeaker, readiness: ClockReadiness, sent: inout SentState
    ) -> Bool {
        guard readiness == .stalled, !core.shared.isUnresponsive else {
            sent.stalledSince = nil
            return false
        }
        let now = core.host.now
        let since = sent.stalledSince ?? now
        sent.stalledSince = since
        guard now - since >= Self.stallTimeout else { return false }
        let isAnchored = sent.anchor != nil
        switch speaker.state.withLock({ $0.anchors.remedy(forStallAt: now, isAnchored: isAnchored) }) {
        case .wait: return false
        case .renew: core.lose("The speaker has stopped requesting this computer's time.")
        case .giveUp:
            let error = OutputError(
                .notPermitted, "Timing requests from \(speaker.name) stop in each session.", remedy: .checkFirewall)
            speaker.abandon(error.saying(speaker.configuration.phrases.inErrors))
        }
        return true
    }

    private func stop(
        _ segment: TimebaseSegment, core: ClassicSessionCore, speaker: ClassicSpeaker, sent: inout SentState
    ) throws(AirPlayError) -> HostInstant? {
        guard sent.anchor != nil else { return nil }
        let now = core.host.now
        if segment.hostAnchor > now { return segment.hostAnchor }
        speaker.state.withLock { $0.anchors.recordStop(at: now) }
        try core.stop()
        sent.anchor = nil
        speaker.state.withLock { $0.anchors.hold(nil) }
        (sent.isRewound, sent.isHalted, sent.unansweredSince) = (false, false, nil)
        return nil
    }

    /// The current state of the timebase.
    private struct Command {
        var segment: TimebaseSegment
        var generation: UInt64
        var delay: Duration
    }

    private func start(
        _ command: Command, timestamps: RTPTimestampMapper, core: ClassicSessionCore, speaker: ClassicSpeaker,
        context: AudioOutputContext, sent: inout SentState
    ) throws(AirPlayError) -> HostInstant? {
        let segment = command.segment
        let timeline = core.timeline
        let now = core.host.now
        if let known = sent.anchor, !sent.isHalted, known.epoch == timeline.epoch {
            let isSame = known.generation == command.generation && known.delay == command.delay
            let shift = isSame ? .zero : known.distance(to: segment, on: timeline, at: now)
            if shift < Self.ignoredShift {
                sent.anchor?.generation = command.generation
                sent.anchor?.delay = command.delay
                return nil
            }
        }
        let clock = core.shared.clock
        guard let settled = clock.ready?.advanced(by: ClassicSpeaker.settling) else {
            return now.advanced(by: Self.clockInterval)
        }
        if settled > now { return settled }
        let isNear =
            !sent.isHalted
            && sent.anchor.map { $0.distance(to: segment, on: timeline, at: now) < Self.correctableShift } ?? false
        if sent.hasPlayed || segment.hostAnchor < now.advanced(by: ClassicLatency.depth), !isNear, !sent.isRewound {
            let media = segment.mediaTime(at: max(segment.hostAnchor, now.advanced(by: ClassicSpeaker.startLead)))
            guard let position = timestamps.timestamp(of: media, rate: segment.speed) else { return nil }
            sent.isHalted = true
            guard try core.rewind(to: position, gap: timestamps.rewindGap) else { return nil }
            sent.isRewound = true
        }
        let instant = max(segment.hostAnchor, core.host.now.advanced(by: ClassicSpeaker.lateLead))
        let media = segment.mediaTime(at: instant)
        guard let position = timestamps.timestamp(of: media, rate: segment.speed) else { return nil }
        let time = try core.play(position, at: instant)
        let anchor = SentAnchor(
            media: media, position: position, instant: time, speed: segment.speed, epoch: timeline.epoch,
            generation: command.generation, delay: command.delay)
        (sent.anchor, sent.hasPlayed, sent.isRewound) = (anchor, true, false)
        (sent.isHalted, sent.unansweredSince) = (false, nil)
        display.countAnchor()
        speaker.state.withLock {
            $0.anchors.hold(anchor)
            $0.anchors.recordStart(at: instant)
            $0.details.hasPlayed = true
        }
        context.events.append(.speakerAnchored(media: media, host: instant, clock: time, output: context.id))
        return nil
    }
}
