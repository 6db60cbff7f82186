internal import MediaCore
internal import PTP
public import SyncRendering

/// What a speaker was told: film moment `media`, which is the frame `position`, is heard at `moment` of the clock it plays
/// by, and from there film passes at `speed`. The line is never rewritten; where it lies on this computer's clock follows
/// from the timeline as known.
struct SentAnchor: Hashable, Sendable {
    var media: MediaTime
    /// Where `media` lies on the stream's line.
    var position: RTPTimestamp
    var moment: PTPInstant
    var speed: Double
    /// The timeline's, when it was told.
    var epoch: UInt64
    /// The timebase's, and the delay asked for, when it was last found to be what the timebase says.
    var generation: UInt64
    var delay: Duration

    /// Where it lies at present; nil when its clock is another by now.
    func segment(on timeline: PTPTimeline, at now: HostInstant) -> TimebaseSegment? {
        guard epoch == timeline.epoch else { return nil }
        let elapsed = moment.duration(to: timeline.mapping.target(at: now)).wholeNanoseconds
        let film = speed == 1 ? elapsed : Int64(clamping: Double(elapsed) * speed, in: .min ... .max)
        return TimebaseSegment(
            mediaAnchor: media + MediaTime(nanoseconds: film), hostAnchor: now,
            rate: speed * (1 + timeline.mapping.rateOffset), speed: speed)
    }

    /// How old an anchor gets, when nobody says otherwise: a quarter of the circle that timestamps go round on, 6.2 h at
    /// 48 kHz. Receivers reckon from it in frames on that circle, which is good for half of it.
    static func longestReach(sampleRate: Int) -> Duration { .seconds((1 << 30) / max(1, sampleRate)) }

    /// The same line, told by a frame that is heard within the next second; nil while this anchor is not older than `reach`.
    ///
    /// Whole seconds are whole frames, so that it is the same line to the nanosecond.
    func renewed(at now: PTPInstant, sampleRate: Int, reach: Duration) -> SentAnchor? {
        let age = moment.duration(to: now)
        guard age > reach else { return nil }
        let seconds = age.components.seconds + 1
        var anchor = self
        anchor.position = position.advanced(byFrames: seconds * Int64(sampleRate))
        anchor.moment = moment.advanced(by: .seconds(seconds))
        let film =
            speed == 1
            ? MediaTime(value: seconds, timescale: 1)
            : MediaTime(nanoseconds: Int64(clamping: Double(seconds) * speed * 1e9, in: .min ... .max))
        anchor.media = media + film
        return anchor
    }

    /// How far a line lies from it; very far when one of them is faster.
    func distance(to line: TimebaseSegment, on timeline: PTPTimeline, at now: HostInstant) -> Duration {
        guard speed == line.speed, let own = segment(on: timeline, at: now) else { return .seconds(3600) }
        let instant = max(line.hostAnchor, now)
        guard let heard = own.hostInstant(of: line.mediaTime(at: instant)) else { return .seconds(3600) }
        let difference = instant - heard
        return max(difference, .zero - difference)
    }
}

extension AirPlaySpeaker {
    /// What the speaker has been told to play by; nil when it is silent.
    func holds(_ line: SentAnchor?) { state.withLock { $0.told = line } }

    /// Whether a clock that stalled is reason enough for a new session: a speaker that stalls in each is of that habit,
    /// and left alone.
    func mayRenew() -> Bool {
        state.withLock { state in
            state.renewals += 1
            return state.renewals <= Self.mostRenewals
        }
    }

    private static let mostRenewals = 2

    /// Where the speaker's sound lies, once its clock has run at another rate than this computer's, or where film is led by a clock
    /// that the speaker knows nothing of.
    public var remoteTimeline: TimebaseSegment? {
        let (told, session, context) = state.withLock { ($0.told, $0.session, $0.context) }
        guard let told, let timeline = session?.timeline, timeline.isSteered || context?.timebase.isLed ?? false else {
            return nil
        }
        return told.segment(on: timeline, at: host.now)
    }
}
