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
        var isPlaying = false
    }

    /// A line that differs by less is the same line: giving it anew would be heard.
    private static let sameLine: Duration = .microseconds(200)
    /// A speaker that refuses the line for want of a clock is asked again this much later.
    private static let retry: Duration = .milliseconds(500)
    /// How far ahead a line is given whose own anchor has passed.
    private static let lead: Duration = .milliseconds(100)

    init(speaker: AirPlaySpeaker) { self.speaker = speaker }

    /// Does what is due; when to be called again, or nil to wait for a reason.
    func attend(_ core: SessionCore) -> HostInstant? {
        guard let speaker else { return nil }
        let (context, line, epoch, isFinished) = speaker.state.withLock {
            ($0.context, $0.line, $0.epoch, $0.isFinished)
        }
        guard let context, let line else { return nil }
        let segment = context.timebase.snapshot.upcoming
        var told = told.withLock { $0 }
        if told.epoch != epoch { told = Told(epoch: epoch) }
        defer { self.told.withLock { $0 = told } }
        let now = HostInstant.now
        guard segment.rate > 0 else {
            guard told.isPlaying else { return nil }
            if segment.hostAnchor > now { return segment.hostAnchor }
            try? core.pause()
            told.isPlaying = false
            told.segment = nil
            return nil
        }
        if told.isPlaying, let old = told.segment, Self.isSame(old, segment) { return nil }
        // `accept` asks again as soon as there is enough.
        guard line.frames >= Int64(line.sampleRate) / 2 || (isFinished && line.frames > 0) else { return nil }
        if let wait = Self.clockWait(core.clock, now: now) { return wait }
        let instant = max(segment.hostAnchor, now.advanced(by: Self.lead))
        let moment = segment.mediaTime(at: instant)
        guard let position = line.timestamp(of: moment, rate: segment.rate) else { return nil }
        do throws(AirPlayError) {
            _ = try core.play(position, at: instant)
            told.isPlaying = true
            told.segment = segment
            context.events.note(.audioHeard(media: moment, host: instant, output: context.id))
            return nil
        } catch {
            return error.code == .clockNotReady || error.code == .timedOut ? now.advanced(by: Self.retry) : nil
        }
    }

    private static func isSame(_ old: TimebaseSegment, _ new: TimebaseSegment) -> Bool {
        guard old.rate == new.rate, let before = old.hostInstant(of: new.mediaAnchor) else { return false }
        let difference = new.hostAnchor - before
        return difference < sameLine && difference > .zero - sameLine
    }

    /// When to look at the clock again; nil when it is ready.
    private static func clockWait(
        _ clock: (readiness: ClockReadiness, ready: HostInstant?), now: HostInstant
    ) -> HostInstant? {
        guard clock.readiness != .ready else { return nil }
        guard let ready = clock.ready, ready > now else { return now.advanced(by: .milliseconds(50)) }
        return ready
    }
}
