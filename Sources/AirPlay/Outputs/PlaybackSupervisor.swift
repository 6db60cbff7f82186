internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import SyncRendering

/// Applies the timebase to a speaker. Called on the control thread between requests.
final class PlaybackSupervisor: Sendable {
    private weak let speaker: AirPlaySpeaker?
    private let sent = Lock(SentState())
    private let display: SpeakerDisplay

    /// The commands that were sent to the speaker; used on the control thread.
    private struct SentState {
        var epoch: UInt64?
        var anchor: SentAnchor?
        /// Whether the speaker has played with this anchor: it may have discarded audio that it decoded and did not
        /// play.
        var hasPlayed = false
        /// Whether a start was sent since the last pause: without a response, the speaker may play without an anchor.
        var mayPlay = false
        /// Whether all packets from the start position on were sent again for the pending start.
        var isRewound = false
        /// Whether the stream was halted for that, so that the anchor no longer applies.
        var isHalted = false
        /// Since when every start has been refused.
        var refusedSince: HostInstant?
        /// Since when no start was answered, although the speaker answers other requests.
        var unansweredSince: HostInstant?
        /// When to renew an old anchor after a refused renewal.
        var renewal = HostInstant(nanoseconds: .min)
        /// The number of bytes sent when the clock stalled, and when.
        var stalled: (sent: Int64, since: HostInstant)?
        /// The number of bytes acknowledged when the speaker stopped reading, and when.
        var unread: (arrived: Int64, since: HostInstant)?
    }

    /// A smaller change of the timeline is ignored, because a new anchor is audible.
    private static let ignoredShift: Duration = .microseconds(200)
    /// A smaller change is corrected by the speaker with its buffered audio.
    private static let correctableShift: Duration = .milliseconds(250)
    /// Delay before a temporarily failed request is repeated.
    private static let retry: Duration = .milliseconds(500)
    /// Delay after a refused renewal of an anchor; the anchor remains valid for hours.
    private static let renewalPause: Duration = .seconds(10)
    /// Time for repeated packets to reach the speaker before the start command.
    private static let rewindLead: Duration = .milliseconds(15)

    /// A speaker that refuses starts on our clock for this long may require its own (others observed locks after up to
    /// 4 s).
    private static let yieldTimeout: Duration = .seconds(4)
    /// A speaker that refuses for this long accepts neither clock.
    private static let refusalTimeout: Duration = .seconds(10)
    /// A speaker with a stalled clock gets a new session after this, unless it still reads audio.
    private static let stallTimeout: Duration = .seconds(10)
    /// A speaker that has sent no timing request after this does not receive us.
    private static let silenceTimeout: Duration = .seconds(8)

    /// A speaker that reads nothing of a buffered stream for this long after its start is silent.
    private static let readingTimeout: Duration = .seconds(12)
    /// The kernel buffers of both ends accept about this much although nothing is read.
    private static let unreadLimit: Int64 = 1 << 20

    /// Poll interval for a clock that is not ready.
    private static let clockLook: Duration = .milliseconds(50)

    private let clockState = Lock<SpeakerClockState?>(nil)
    private let isClockKnown = Lock(false)

    init(speaker: AirPlaySpeaker, display: SpeakerDisplay) { (self.speaker, self.display) = (speaker, display) }

    /// Records a change of the speaker's clock state.
    private func recordClock(_ core: SessionCore, _ context: AudioOutputContext) {
        let state = core.shared.clock?.isDoubted ?? false ? .doubted : SpeakerClockState(core.clock.readiness)
        let isNew = clockState.withLock { last in
            defer { last = state }
            return last != state
        }
        if isNew { context.events.append(.clock(state: state, output: context.id)) }
    }

    /// Returns the reason why a start will never be possible; nil if it may be.
    private func obstacle(_ core: SessionCore, _ sent: SentState, _ speaker: AirPlaySpeaker) -> OutputError? {
        let (now, name) = (core.host.now, speaker.name)
        if core.shared.clock?.isTurnedAway ?? false {
            return OutputError(
                .clockConflict,
                "\(name) requires its own clock, and so does another speaker in use; only one clock can be followed:"
                    + " play to one of them, or group them in their own app and play to the group.")
        }
        if sent.refusedSince.map({ now - $0 >= Self.refusalTimeout }) ?? false {
            return OutputError(
                .failed,
                "\(name) does not start on this computer's clock, and no PTP messages of its clock arrive (UDP ports 319 and"
                    + " 320); restart it.", remedy: .checkFirewall)
        }
        let clock = core.clock
        if core.shared.clock?.isFollowed ?? false, clock.readiness == .cold, let began = core.streamBegan,
            now - began >= Self.silenceTimeout
        {
            return OutputError(
                .notPermitted,
                "\(name) requires its own clock but does not announce it.", remedy: speaker.remedyForSilence)
        }
        if clock.ready == nil, clock.readiness == .cold, let began = core.streamBegan,
            now - began >= Self.silenceTimeout
        {
            return OutputError(
                .notPermitted, "\(name) does not request this computer's time.", remedy: speaker.remedyForSilence)
        }
        return nil
    }

    /// Performs the due work. Returns when to call it again; nil: when requested.
    func performDueWork(_ core: SessionCore) -> HostInstant? {
        let next = steerPlayback(core)
        guard let speaker else { return next }
        let isPlaying = sent.withLock { $0.anchor != nil }
        return display.update(speaker, with: core, isPlaying: isPlaying) ? core.host.now : next
    }

    /// Applies the timebase. Returns when to call it again; nil: when requested.
    private func steerPlayback(_ core: SessionCore) -> HostInstant? {
        guard let speaker else { return nil }
        let (context, input, epoch) = speaker.state.withLock { ($0.context, $0.input, $0.anchors.epoch) }
        guard let context else { return nil }
        recordClock(core, context)
        let wait = signalReadiness(core, context)
        guard let input else { return wait }
        var sent = sent.withLock { $0 }
        if sent.epoch != epoch { sent = SentState(epoch: epoch) }
        defer { self.sent.withLock { $0 = sent } }
        let snapshot = context.timebase.snapshot
        let segment = snapshot.upcoming
        do throws(AirPlayError) {
            // Checked before the rate: the player holds it at 0 until the clock is ready, which may never happen.
            if sent.anchor == nil, let obstacle = obstacle(core, sent, speaker) {
                speaker.abandon(obstacle.saying(speaker.configuration.phrases.inErrors))
                return nil
            }
            if segment.rate == 0 { return try stop(segment, core: core, speaker: speaker, sent: &sent) ?? wait }
            if let instant = checkClock(core, &sent) { return instant }
            if sent.anchor != nil, isUnread(core, &sent) {
                let error = OutputError(
                    .notPermitted, "\(speaker.name) has accepted the audio stream but does not read it.",
                    remedy: speaker.remedyForUnreadAudio)
                // It has accepted a start, but it has not played.
                speaker.configuration.observations.forget()
                speaker.abandon(error.saying(speaker.configuration.phrases.inErrors))
                return nil
            }
            // `accept` requests a call once there is enough.
            guard input.isStartable else { return nil }
            let command = Command(segment: segment, generation: snapshot.generation, delay: context.timebase.delayInAll)
            let next = try start(
                command, timestamps: input.timestamps, core: core, speaker: speaker, context: context, sent: &sent)
            let tail = sent.anchor == nil ? nil : speaker.extendTail(along: segment, at: core.host.now)
            return [next, tail].compactMap { $0 }.min()
        } catch {
            switch error.code {
            case .clockNotReady:
                let since = sent.refusedSince ?? core.host.now
                sent.refusedSince = since
                if core.host.now - since >= Self.yieldTimeout { core.shared.clock?.yield() }
                return core.host.now.advanced(by: Self.retry)
            case .timedOut:
                let now = core.host.now
                let isSilent = segment.rate != 0 && !core.shared.isUnresponsive
                sent.unansweredSince = isSilent ? sent.unansweredSince ?? now : nil
                guard sent.unansweredSince.map({ now - $0 < Self.refusalTimeout }) ?? true else {
                    let error = OutputError(
                        .failed, "\(speaker.name) does not answer the request to start; restart it.")
                    speaker.abandon(error.saying(speaker.configuration.phrases.inErrors))
                    return nil
                }
                return now.advanced(by: Self.retry)
            case .refused, .busy, .pairingRequired:
                // The speaker will not play. Lost connections are handled by `SpeakerOutput.rejoin`.
                guard segment.rate != 0 else { return nil }
                speaker.abandon(speaker.outputError(error))
                return nil
            default: return nil
            }
        }
    }

    /// Signals the player when the speaker begins to measure the clock. Returns the next poll until then.
    private func signalReadiness(_ core: SessionCore, _ context: AudioOutputContext) -> HostInstant? {
        let isKnown = core.clock.ready != nil
        let isNew = isClockKnown.withLock { last in
            defer { last = isKnown }
            return last != isKnown
        }
        if isNew { context.writable.raise() }
        return isKnown ? nil : core.host.now.advanced(by: Self.clockLook)
    }

    private func stop(
        _ segment: TimebaseSegment, core: SessionCore, speaker: AirPlaySpeaker, sent: inout SentState
    ) throws(AirPlayError) -> HostInstant? {
        guard sent.mayPlay else { return nil }
        let now = core.host.now
        if segment.hostAnchor > now { return segment.hostAnchor }
        speaker.state.withLock { $0.anchors.recordStop(at: now) }
        try core.pause()
        (sent.anchor, sent.mayPlay) = (nil, false)
        speaker.state.withLock { $0.anchors.hold(nil) }
        (sent.isRewound, sent.isHalted, sent.unansweredSince) = (false, false, nil)
        return nil
    }

    /// Handles a stalled clock; the speaker keeps playing as long as it can.
    ///
    /// If the clock does not recover and no audio is sent either, the session is replaced. The same applies before a
    /// start, when the earlier clock may not have been the speaker's; if that does not help, the output fails.
    ///
    /// - Returns: When to check again; nil: continue as usual.
    private func checkClock(_ core: SessionCore, _ sent: inout SentState) -> HostInstant? {
        // During a network outage a speaker may still play; a timeout limits the session of an unresponsive one.
        guard core.clock.readiness == .stalled, !core.shared.isUnresponsive else {
            sent.stalled = nil
            return nil
        }
        let now = core.host.now
        // Before the start the speaker does not play, even if bytes are sent.
        let flowing = sent.anchor == nil ? 0 : core.flowingBytes
        guard let stalled = sent.stalled, let bytes = flowing, stalled.sent == bytes else {
            sent.stalled = flowing.map { ($0, now) }
            return nil
        }
        guard now - stalled.since >= Self.stallTimeout, let speaker else { return nil }
        let isAnchored = sent.anchor != nil
        switch speaker.state.withLock({ $0.anchors.remedy(forStallAt: now, isAnchored: isAnchored) }) {
        case .wait: return nil
        case .renew:
            sent.stalled = nil
            core.lose("The speaker has lost its reference clock.")
        case .giveUp:
            let error = OutputError(
                .notPermitted, "PTP messages from \(speaker.name) stop in each session.", remedy: .checkFirewall)
            speaker.abandon(error.saying(speaker.configuration.phrases.inErrors))
        }
        return HostInstant(nanoseconds: .max)
    }

    /// Whether the speaker plays by its own account, and reads nothing: it has accepted the stream of a route that it
    /// does not support. Its kernel then acknowledges no further bytes.
    private func isUnread(_ core: SessionCore, _ sent: inout SentState) -> Bool {
        guard let writer = core.shared.writer, writer.sentBytes < Self.unreadLimit, writer.unacknowledgedBytes > 0,
            !core.shared.isUnresponsive
        else {
            sent.unread = nil
            return false
        }
        let (now, arrived) = (core.host.now, writer.sentBytes - Int64(writer.unacknowledgedBytes))
        guard let unread = sent.unread, unread.arrived == arrived else {
            sent.unread = (arrived, now)
            return false
        }
        return now - unread.since >= Self.readingTimeout
    }

    /// The current state of the timebase.
    private struct Command {
        var segment: TimebaseSegment
        var generation: UInt64
        var delay: Duration
    }

    private func start(
        _ command: Command, timestamps: RTPTimestampMapper, core: SessionCore, speaker: AirPlaySpeaker,
        context: AudioOutputContext, sent: inout SentState
    ) throws(AirPlayError) -> HostInstant? {
        let segment = command.segment
        let timeline = core.timeline
        if let known = sent.anchor, let timeline, !sent.isHalted, known.epoch == timeline.epoch,
            known.generation == command.generation, known.delay == command.delay
        {
            return renew(
                known, on: timeline, timestamps: timestamps, core: core, speaker: speaker, context: context, sent: &sent
            )
        }
        let now = core.host.now
        let shift = (sent.isHalted ? nil : sent.anchor).flatMap { known in
            timeline.map { known.distance(to: segment, on: $0, at: now) }
        }
        if let shift, shift < Self.ignoredShift {
            sent.anchor?.generation = command.generation
            sent.anchor?.delay = command.delay
            guard let known = sent.anchor, let timeline else { return nil }
            return renew(
                known, on: timeline, timestamps: timestamps, core: core, speaker: speaker, context: context, sent: &sent
            )
        }
        let leads = core.startLeads
        if let wait = Self.clockWait(core.clock, leads, now: now) { return wait }
        let isNear = shift.map { $0 < Self.correctableShift } ?? false
        let joinInstant = now.advanced(by: leads.join)
        if sent.hasPlayed || segment.hostAnchor < joinInstant, !isNear, !sent.isRewound {
            let time = segment.mediaTime(at: max(segment.hostAnchor, now.advanced(by: leads.request)))
            guard let position = timestamps.timestamp(of: time, rate: segment.speed) else { return nil }
            sent.isHalted = true
            guard try core.rewind(to: position, gap: timestamps.rewindGap) else { return nil }
            sent.isRewound = true
            return now.advanced(by: Self.rewindLead)
        }
        let instant = max(segment.hostAnchor, now.advanced(by: leads.late))
        let time = segment.mediaTime(at: instant)
        guard let position = timestamps.timestamp(of: time, rate: segment.speed) else { return nil }
        sent.mayPlay = true
        let anchor = try core.play(position, at: instant)
        let known = SentAnchor(
            media: time, position: position, instant: anchor.moment, speed: segment.speed,
            epoch: anchor.timeline.epoch, generation: command.generation, delay: command.delay)
        sent.anchor = known
        display.countAnchor()
        (sent.refusedSince, sent.unansweredSince) = (nil, nil)
        sent.hasPlayed = true
        (sent.isRewound, sent.isHalted) = (false, false)
        speaker.state.withLock {
            $0.anchors.hold(known)
            $0.anchors.recordStart(at: instant)
        }
        context.events.append(
            .speakerAnchored(media: time, host: instant, clock: anchor.moment, output: context.id))
        return nil
    }

    /// Renews an old anchor by a near frame of the same timeline, well before the RTP timestamps become ambiguous.
    ///
    /// Realtime streams name a near frame every second instead.
    ///
    /// - Returns: When to retry after a refusal; the speaker keeps playing meanwhile.
    private func renew(
        _ known: SentAnchor, on timeline: PTPTimeline, timestamps: RTPTimestampMapper, core: SessionCore,
        speaker: AirPlaySpeaker, context: AudioOutputContext, sent: inout SentState
    ) -> HostInstant? {
        let now = core.host.now
        let reach =
            core.configuration.longestAnchor ?? SentAnchor.longestReach(sampleRate: timestamps.sampleRate)
        guard core.configuration.route == .buffered, sent.renewal <= now,
            let anchor = known.renewed(
                at: timeline.mapping.target(at: now), sampleRate: timestamps.sampleRate, reach: reach)
        else { return nil }
        do throws(AirPlayError) {
            try core.renew(anchor.position, at: anchor.instant, on: timeline)
        } catch {
            sent.renewal = now.advanced(by: Self.renewalPause)
            return sent.renewal
        }
        sent.anchor = anchor
        speaker.state.withLock { $0.anchors.hold(anchor) }
        context.events.append(
            .speakerAnchored(
                media: anchor.media, host: timeline.mapping.source(at: anchor.instant), clock: anchor.instant,
                output: context.id))
        return nil
    }

    /// Returns when to check the clock again; nil if it is ready.
    private static func clockWait(
        _ clock: (readiness: ClockReadiness, ready: HostInstant?), _ leads: StartLeads, now: HostInstant
    ) -> HostInstant? {
        let settled = clock.ready?.advanced(by: leads.look)
        if let settled, settled > now { return settled }
        return clock.readiness == .ready ? nil : now.advanced(by: clockLook)
    }
}

extension SpeakerClockState {
    init(_ readiness: ClockReadiness) {
        switch readiness {
        case .cold: self = .cold
        case .probing: self = .probing
        case .ready: self = .ready
        case .stalled: self = .stalled
        }
    }
}
