internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import SyncRendering

/// Brings a speaker to what the timebase says: runs between the requests of its control thread.
final class PlaybackSupervisor: Sendable {
    private weak let speaker: AirPlaySpeaker?
    private let told = Lock(Told())

    /// What the speaker was told last.
    private struct Told {
        var epoch: UInt64?
        var line: SentAnchor?
        /// The speaker has played from this line: what it decoded and did not play it may have forgotten.
        var hasPlayed = false
        /// Everything from here on has been sent again for the start that is due.
        var isRewound = false
        /// Since when every start is refused.
        var refusedSince: HostInstant?
        /// When an anchor that has grown old is given anew after one was refused.
        var renewal = HostInstant(nanoseconds: .min)
        /// Bytes of sound that had left when the clock was seen stalled, and when.
        var stalled: (sent: Int64, since: HostInstant)?
    }

    /// A line that differs by less is the same line: giving it anew would be heard.
    private static let sameLine: Duration = .microseconds(200)
    /// A line that differs by less is reached by the speaker itself, with what it has.
    private static let nearLine: Duration = .milliseconds(250)
    /// A request that failed for now is made again this much later.
    private static let retry: Duration = .milliseconds(500)
    /// An anchor that was refused where the line goes on is given again this much later; there are hours for it.
    private static let renewalPause: Duration = .seconds(10)
    /// How far ahead a line is given whose own anchor has passed.
    static let lead: Duration = .milliseconds(100)
    /// What was sent again gets this long to reach the speaker before it is told to start.
    private static let rewindLead: Duration = .milliseconds(15)

    /// A speaker that refuses our clock's starts for so long may want its own (others saw locks after up to 4 s) …
    private static let yieldPatience: Duration = .seconds(4)
    /// … and one that has had the time for both will take none.
    private static let refusalPatience: Duration = .seconds(10)
    /// A speaker whose clock has stalled gets a new session this much later, unless its sound flows on.
    private static let stallPatience: Duration = .seconds(10)
    /// A speaker that has not even asked for the time after so long does not hear us.
    private static let silencePatience: Duration = .seconds(8)

    /// How often a clock is looked at that is not there yet.
    private static let clockLook: Duration = .milliseconds(50)

    private let clockState = Lock<SpeakerClockState?>(nil)
    private let isClockKnown = Lock(false)

    init(speaker: AirPlaySpeaker) { self.speaker = speaker }

    /// Notes how far the speaker's clock is, when that has changed.
    private func noteClock(_ core: SessionCore, _ context: AudioOutputContext) {
        let state = core.isClockDoubted ? .doubted : SpeakerClockState(core.clock.readiness)
        let isNew = clockState.withLock { last in
            defer { last = state }
            return last != state
        }
        if isNew { context.events.note(.clock(state: state, output: context.id)) }
    }

    /// Why no start will ever be possible; nil while there is hope.
    private func obstacle(_ core: SessionCore, _ told: Told, _ name: String) -> OutputError? {
        let now = core.host.now
        if core.isTurnedAway {
            return OutputError(
                .clockConflict,
                "\(name) insists on a clock of its own, and so does another speaker that plays; only one can be followed:"
                    + " play to one of them, or let their own system make a group of them and play to that.")
        }
        if told.refusedSince.map({ now - $0 >= Self.refusalPatience }) ?? false {
            return OutputError(
                .failed,
                "\(name) takes no start on this computer's clock, and no clock of its own is heard here (UDP ports 319 and"
                    + " 320); restart it.", remedy: .checkFirewall)
        }
        let clock = core.clock
        if core.isClockFollowed, clock.readiness == .cold, let began = core.streamBegan,
            now - began >= Self.silencePatience
        {
            return OutputError(
                .notPermitted,
                "\(name) insists on a clock of its own and tells nothing of it.", remedy: .checkFirewall)
        }
        if clock.ready == nil, clock.readiness == .cold, let began = core.streamBegan,
            now - began >= Self.silencePatience
        {
            return OutputError(
                .notPermitted, "\(name) does not ask for this computer's time.", remedy: .checkFirewall)
        }
        return nil
    }

    /// Does what is due; when to be called again, or nil to wait for a reason.
    func attend(_ core: SessionCore) -> HostInstant? {
        guard let speaker else { return nil }
        let (context, line, epoch, isFinished) = speaker.state.withLock {
            ($0.context, $0.line, $0.epoch, $0.isFinished)
        }
        guard let context else { return nil }
        noteClock(core, context)
        let wait = clockNews(core, context)
        guard let line else { return wait }
        var told = told.withLock { $0 }
        if told.epoch != epoch { told = Told(epoch: epoch) }
        defer { self.told.withLock { $0 = told } }
        let snapshot = context.timebase.snapshot
        let segment = snapshot.upcoming
        do throws(AirPlayError) {
            // Before the rate is looked at: the player holds it at 0 until the clock is there, which may be never.
            if told.line == nil, let obstacle = obstacle(core, told, speaker.name) {
                speaker.giveUp(obstacle.saying(speaker.configuration.phrases.inErrors))
                return nil
            }
            if segment.rate == 0 { return try stop(segment, core, speaker, &told) ?? wait }
            if let moment = lookAfterClock(core, &told) { return moment }
            // `accept` asks again as soon as there is enough.
            guard line.frames >= Int64(line.sampleRate) / 2 || (isFinished && line.frames > 0) else { return nil }
            let command = Command(segment: segment, generation: snapshot.generation, delay: context.timebase.delayInAll)
            return try start(command, line, core, speaker, context, &told)
        } catch {
            switch error.code {
            case .clockNotReady:
                let since = told.refusedSince ?? core.host.now
                told.refusedSince = since
                if core.host.now - since >= Self.yieldPatience { _ = core.yieldClock() }
                return core.host.now.advanced(by: Self.retry)
            case .timedOut: return core.host.now.advanced(by: Self.retry)
            case .refused, .busy, .pairingRequired:
                // It will not play; a lost connection is another matter, and somebody else's.
                guard segment.rate != 0 else { return nil }
                speaker.giveUp(speaker.outputError(error))
                return nil
            default: return nil
            }
        }
    }

    /// Tells the player when the speaker begins to measure the clock; when to look again while it has not.
    private func clockNews(_ core: SessionCore, _ context: AudioOutputContext) -> HostInstant? {
        let isKnown = core.clock.ready != nil
        let isNew = isClockKnown.withLock { last in
            defer { last = isKnown }
            return last != isKnown
        }
        if isNew { context.room.raise() }
        return isKnown ? nil : core.host.now.advanced(by: Self.clockLook)
    }

    private func stop(
        _ segment: TimebaseSegment, _ core: SessionCore, _ speaker: AirPlaySpeaker, _ told: inout Told
    ) throws(AirPlayError) -> HostInstant? {
        guard told.line != nil else { return nil }
        let now = core.host.now
        if segment.hostAnchor > now { return segment.hostAnchor }
        speaker.state.withLock {
            $0.takeBackFirstStart(at: now)
            $0.audibleFrom = nil
        }
        try core.pause()
        told.line = nil
        speaker.holds(nil)
        told.isRewound = false
        return nil
    }

    /// A speaker that has known the clock and lost it: its sound goes on as it can. When the clock does not come back
    /// and no sound leaves either, the session is no longer worth keeping, and a new one finds the way back. So it is with
    /// one that is to be started and whose clock is gone: it may never have been the speaker's.
    ///
    /// - Returns: when to look again; nil goes on as always.
    private func lookAfterClock(_ core: SessionCore, _ told: inout Told) -> HostInstant? {
        // One that does not answer at all may be behind a network that is away, and plays on: `patience` ends its session.
        guard core.clock.readiness == .stalled, !core.shared.isUnresponsive else {
            told.stalled = nil
            return nil
        }
        let now = core.host.now
        // What waits for its start does not play, whatever leaves.
        let flowing = told.line == nil ? 0 : core.flowingBytes
        guard let stalled = told.stalled, let sent = flowing, stalled.sent == sent else {
            told.stalled = flowing.map { ($0, now) }
            return nil
        }
        guard now - stalled.since >= Self.stallPatience, speaker?.mayRenew() ?? false else { return nil }
        told.stalled = nil
        core.lose("The speaker has lost the clock that its sound lies on.")
        return HostInstant(nanoseconds: .max)
    }

    /// What the timebase says now.
    private struct Command {
        var segment: TimebaseSegment
        var generation: UInt64
        var delay: Duration
    }

    private func start(
        _ command: Command, _ line: SoundLine, _ core: SessionCore, _ speaker: AirPlaySpeaker,
        _ context: AudioOutputContext, _ told: inout Told
    ) throws(AirPlayError) -> HostInstant? {
        let segment = command.segment
        let timeline = core.timeline
        if let known = told.line, let timeline, known.epoch == timeline.epoch,
            known.generation == command.generation, known.delay == command.delay
        {
            return renew(known, on: timeline, line, core, speaker, context, &told)
        }
        let now = core.host.now
        let shift = told.line.flatMap { known in timeline.map { known.distance(to: segment, on: $0, at: now) } }
        if let shift, shift < Self.sameLine {
            told.line?.generation = command.generation
            told.line?.delay = command.delay
            guard let known = told.line, let timeline else { return nil }
            return renew(known, on: timeline, line, core, speaker, context, &told)
        }
        let leads = core.startLeads
        if let wait = Self.clockWait(core.clock, leads, now: now) { return wait }
        let isNear = shift.map { $0 < Self.nearLine } ?? false
        let seat = now.advanced(by: leads.seat)
        if told.hasPlayed || segment.hostAnchor < seat, !isNear, !told.isRewound {
            let moment = segment.mediaTime(at: max(segment.hostAnchor, now.advanced(by: leads.request)))
            guard let position = line.timestamp(of: moment, rate: segment.speed),
                try core.rewind(to: position, gap: AirPlaySpeaker.gap(line))
            else { return nil }
            told.isRewound = true
            return now.advanced(by: Self.rewindLead)
        }
        let instant = max(segment.hostAnchor, now.advanced(by: Self.lead))
        let moment = segment.mediaTime(at: instant)
        guard let position = line.timestamp(of: moment, rate: segment.speed) else { return nil }
        let anchor = try core.play(position, at: instant)
        let known = SentAnchor(
            media: moment, position: position, moment: anchor.moment, speed: segment.speed,
            epoch: anchor.timeline.epoch, generation: command.generation, delay: command.delay)
        told.line = known
        speaker.holds(known)
        told.refusedSince = nil
        told.hasPlayed = true
        told.isRewound = false
        speaker.state.withLock {
            $0.firstHeard = $0.firstHeard ?? instant
            $0.audibleFrom = $0.audibleFrom ?? instant
        }
        context.events.note(
            .speakerAnchored(media: moment, host: instant, clock: anchor.moment, output: context.id))
        return nil
    }

    /// The line goes on, and its anchor has grown old: the speaker is told the same line by a frame that is near, long
    /// before it could mistake what is to come for what has been. Realtime streams name a near frame every second.
    ///
    /// - Returns: when to look again after a speaker would not have it; it plays on meanwhile.
    private func renew(
        _ known: SentAnchor, on timeline: PTPTimeline, _ line: SoundLine, _ core: SessionCore,
        _ speaker: AirPlaySpeaker, _ context: AudioOutputContext, _ told: inout Told
    ) -> HostInstant? {
        let now = core.host.now
        let reach =
            core.configuration.longestAnchor ?? SentAnchor.longestReach(sampleRate: line.sampleRate)
        guard core.configuration.route == .buffered, told.renewal <= now,
            let anchor = known.renewed(at: timeline.mapping.target(at: now), sampleRate: line.sampleRate, reach: reach)
        else { return nil }
        do throws(AirPlayError) {
            try core.renew(anchor.position, at: anchor.moment, on: timeline)
        } catch {
            told.renewal = now.advanced(by: Self.renewalPause)
            return told.renewal
        }
        told.line = anchor
        speaker.holds(anchor)
        context.events.note(
            .speakerAnchored(
                media: anchor.media, host: timeline.mapping.source(at: anchor.moment), clock: anchor.moment,
                output: context.id))
        return nil
    }

    /// When to look at the clock again; nil when it is ready.
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
