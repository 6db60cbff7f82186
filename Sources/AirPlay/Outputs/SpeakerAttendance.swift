internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import SyncRendering

/// Brings a speaker to what the timebase says: runs between the requests of its control thread.
final class SpeakerAttendance: Sendable {
    private weak let speaker: AirPlaySpeaker?
    private let told = Lock(Told())

    /// What the speaker was told last.
    private struct Told {
        var epoch: UInt64?
        var segment: TimebaseSegment?
        /// The speaker has played from this line: what it decoded and did not play it may have forgotten.
        var hasPlayed = false
        /// Everything from here on has been sent again for the start that is due.
        var isRewound = false
        /// Since when every start is refused.
        var refusedSince: HostInstant?
    }

    /// A line that differs by less is the same line: giving it anew would be heard.
    private static let sameLine: Duration = .microseconds(200)
    /// A line that differs by less is reached by the speaker itself, with what it has.
    private static let nearLine: Duration = .milliseconds(250)
    /// A request that failed for now is made again this much later.
    private static let retry: Duration = .milliseconds(500)
    /// How far ahead a line is given whose own anchor has passed.
    static let lead: Duration = .milliseconds(100)
    /// What was sent again gets this long to reach the speaker before it is told to start.
    private static let rewindLead: Duration = .milliseconds(15)

    /// A speaker that refuses our clock's starts for so long will not take one (others saw locks after up to 4 s).
    private static let refusalPatience: Duration = .seconds(6)
    /// A speaker that has not even asked for the time after so long does not hear us.
    private static let silencePatience: Duration = .seconds(8)

    /// How often a clock is looked at that is not there yet.
    private static let clockLook: Duration = .milliseconds(50)

    private let clockState = Lock<SpeakerClockState?>(nil)
    private let isClockKnown = Lock(false)

    init(speaker: AirPlaySpeaker) { self.speaker = speaker }

    /// Notes how far the speaker's clock is, when that has changed.
    private func noteClock(_ core: SessionCore, _ context: AudioOutputContext) {
        let state = SpeakerClockState(core.clock.readiness)
        let isNew = clockState.withLock { last in
            defer { last = state }
            return last != state
        }
        if isNew { context.events.note(.clock(state: state, output: context.id)) }
    }

    /// Why no start will ever be possible; nil while there is hope.
    private func obstacle(_ core: SessionCore, _ told: Told, _ name: String) -> OutputError? {
        let now = HostInstant.now
        let isRefused = told.refusedSince.map { now - $0 >= Self.refusalPatience } ?? false
        if core.insistsOnOwnClock || isRefused {
            return OutputError(
                .failed,
                "\(name) insists on a clock of its own, which cannot be followed yet; play to another speaker, or to it"
                    + " as a member of a group that its own system has made.")
        }
        let clock = core.clock
        if clock.ready == nil, clock.readiness == .cold, let began = core.streamBegan,
            now - began >= Self.silencePatience
        {
            return OutputError(
                .notPermitted,
                "\(name) does not ask for this computer's time; a firewall may keep its questions out (`talkie doctor`)."
            )
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
        let segment = context.timebase.snapshot.upcoming
        do throws(AirPlayError) {
            if segment.rate == 0 { return try stop(segment, core, &told) ?? wait }
            if told.segment == nil, let obstacle = obstacle(core, told, speaker.name) {
                speaker.giveUp(obstacle)
                return nil
            }
            // `accept` asks again as soon as there is enough.
            guard line.frames >= Int64(line.sampleRate) / 2 || (isFinished && line.frames > 0) else { return nil }
            return try start(segment, line, core, context, &told)
        } catch {
            switch error.code {
            case .clockNotReady:
                told.refusedSince = told.refusedSince ?? .now
                return .now.advanced(by: Self.retry)
            case .timedOut: return .now.advanced(by: Self.retry)
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
        return isKnown ? nil : .now.advanced(by: Self.clockLook)
    }

    private func stop(
        _ segment: TimebaseSegment, _ core: SessionCore, _ told: inout Told
    ) throws(AirPlayError) -> HostInstant? {
        guard told.segment != nil else { return nil }
        if segment.hostAnchor > .now { return segment.hostAnchor }
        try core.pause()
        told.segment = nil
        told.isRewound = false
        return nil
    }

    private func start(
        _ segment: TimebaseSegment, _ line: SoundLine, _ core: SessionCore, _ context: AudioOutputContext,
        _ told: inout Told
    ) throws(AirPlayError) -> HostInstant? {
        let shift = told.segment.map { Self.shift(from: $0, to: segment) }
        if let shift, shift < Self.sameLine { return nil }
        let now = HostInstant.now
        let leads = core.startLeads
        if let wait = Self.clockWait(core.clock, leads, now: now) { return wait }
        let isNear = shift.map { $0 < Self.nearLine } ?? false
        let seat = now.advanced(by: leads.seat)
        if told.hasPlayed || segment.hostAnchor < seat, !isNear, !told.isRewound {
            let moment = segment.mediaTime(at: max(segment.hostAnchor, now.advanced(by: leads.request)))
            guard let position = line.timestamp(of: moment, rate: segment.rate),
                try core.rewind(to: position, gap: AirPlaySpeaker.gap(line))
            else { return nil }
            told.isRewound = true
            return now.advanced(by: Self.rewindLead)
        }
        let instant = max(segment.hostAnchor, now.advanced(by: Self.lead))
        let moment = segment.mediaTime(at: instant)
        guard let position = line.timestamp(of: moment, rate: segment.rate) else { return nil }
        try core.play(position, at: instant)
        told.segment = segment
        told.refusedSince = nil
        told.hasPlayed = true
        told.isRewound = false
        speaker?.state.withLock { $0.firstHeard = $0.firstHeard ?? instant }
        context.events.note(.audioHeard(media: moment, host: instant, output: context.id))
        return nil
    }

    /// How far apart two lines are; very far when their rates differ.
    private static func shift(from old: TimebaseSegment, to new: TimebaseSegment) -> Duration {
        guard old.rate == new.rate, let before = old.hostInstant(of: new.mediaAnchor) else { return .seconds(3600) }
        let difference = new.hostAnchor - before
        return max(difference, .zero - difference)
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
