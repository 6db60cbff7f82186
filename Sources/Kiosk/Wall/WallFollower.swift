import MediaCore
internal import Playback
import SyncRendering

/// Keeps a player in sync with a wall: returns where and when to start, and steers the player's timeline. If steering
/// would take too long, it requests a seek.
///
/// Pass it to the player's synchronizer (`RenderSynchronizer.follow`), start at `meeting`, and call `dueSeek` a few
/// times a second. Any thread; locks are held for nanoseconds.
final class WallFollower: TimelineSource {
    /// A seek target: an item, a position in it, and the instant at which it is perceived. See
    /// `Player.jump(to:at:perceivedAt:)`.
    struct Meeting: Sendable, Hashable {
        /// The index in the playlist, from 0.
        var item: Int
        /// The media time in the item.
        var position: MediaTime
        var instant: HostInstant
    }

    /// The item that plays, as returned by `playing`.
    struct Playing: Sendable, Hashable {
        /// The index in the playlist, from 0.
        var item: Int
        /// The player's timeline minus the item's media time (`PlayerState.timelineOffset`).
        var timelineOffset: MediaTime

        init(item: Int, timelineOffset: MediaTime) { (self.item, self.timelineOffset) = (item, timelineOffset) }
    }

    /// The state of a follower, for log and metrics.
    struct Status: Sendable, Hashable {
        /// The outcome reported last; nil before the first.
        var outcome: TimelineOutcome?
        /// When `outcome` was reported.
        var lookedAt: HostInstant?
        /// The number of seeks requested since creation.
        var jumps = 0
    }

    private struct State {
        var timeline: WallTimeline
        var status = Status()
        /// Since when the deviation has exceeded the steering range; nil while it does not.
        var awaySince: HostInstant?
        /// The earliest time of the next seek.
        var nextJump: HostInstant?
        /// The minimum interval after the next seek.
        var pause = WallFollower.firstPause
        var isOutvotedReported = false
    }

    /// A deviation that lasts this long requires a seek. Those caused by an item's end, a late start or a playlist
    /// change are shorter.
    private static let endurance = Duration.milliseconds(1500)
    /// The minimum interval between seeks; doubled with each, and reset after a minute in sync.
    private static let firstPause = Duration.seconds(5)
    private static let longestPause = Duration.seconds(80)
    /// The minimum interval while an output with a fixed clock takes precedence: the two clocks drift apart again after
    /// each seek. At 50 ppm the deviation is 30 ms by then.
    private static let pauseWhenOutvoted = Duration.seconds(600)
    /// The typical time for opening an item and filling buffers. A player that takes longer starts at the wall's
    /// position of the actual start.
    static let lead = Duration.milliseconds(1500)

    private let wall: WallClock
    private let playing: @Sendable () -> Playing?
    private let report: @Sendable (String) -> Void
    private let state: Lock<State>

    /// Creates a follower.
    ///
    /// - Parameters:
    ///   - playing: Returns the item that plays. Called on the thread that services the timeline; must not block.
    ///   - report: Called with sentences for the user, on that thread or the caller's of `dueSeek`.
    init(
        clock wall: WallClock, timeline: WallTimeline, playing: @escaping @Sendable () -> Playing?,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.wall, self.playing, self.report) = (wall, playing, report)
        state = Lock(State(timeline: timeline))
    }

    /// The wall's timeline. Setting it, after a playlist change, resets the deviation.
    var timeline: WallTimeline {
        get { state.withLock { $0.timeline } }
        set { state.withLock { ($0.timeline, $0.awaySince) = (newValue, nil) } }
    }

    /// The current state.
    var status: Status { state.withLock { $0.status } }

    /// Returns where and when to start; nil while the time is unknown, and after the end of a playlist without loop.
    ///
    /// - Parameters:
    ///   - now: The current instant.
    ///   - lead: The minimum time from `now` to the start; longer if outputs require it
    ///     (`RenderSynchronizer.earliestStart`).
    func meeting(from now: HostInstant, lead: Duration = lead) -> Meeting? {
        guard let mapping = wall.mapping else { return nil }
        let earliest = mapping.target(at: now.advanced(by: lead))
        guard let (place, instant) = timeline.meeting(notBefore: earliest) else { return nil }
        return Meeting(item: place.item, position: place.position, instant: mapping.source(at: instant))
    }

    /// Returns the seek that is due because the deviation has exceeded the steering range for a while. Usually nil.
    func dueSeek(_ now: HostInstant, lead: Duration = lead) -> Meeting? {
        let isDue = state.withLock { state in
            guard let since = state.awaySince, now - since >= Self.endurance else { return false }
            return state.nextJump.map { now >= $0 } ?? true
        }
        guard isDue, let meeting = meeting(from: now, lead: lead) else { return nil }
        let deviation = state.withLock { state -> Duration in
            let outcome = state.status.outcome
            let isOutvoted = if case .outvoted? = outcome { true } else { false }
            let pause = isOutvoted ? Self.pauseWhenOutvoted : state.pause
            state.nextJump = meeting.instant.advanced(by: pause)
            state.pause = min(Self.longestPause, state.pause * 2)
            state.awaySince = nil
            state.status.jumps += 1
            return outcome?.lead ?? .zero
        }
        report("The film is \(Self.text(deviation)) the wall; seeking.")
        return meeting
    }

    // MARK: TimelineSource

    func replacement(of segment: TimebaseSegment, at now: HostInstant) -> TimebaseSegment? {
        guard segment.speed == 1, let mapping = wall.mapping, let playing = playing() else { return nil }
        let timeline = timeline
        guard timeline.items.indices.contains(playing.item) else { return nil }
        // The item's start on the player's timeline; `began` is its start on the wall's.
        let begin = playing.timelineOffset + timeline.items[playing.item].start
        let played = (segment.mediaTime(at: now) - begin).duration
        let wallNow = mapping.target(at: now)
        guard let began = timeline.begin(of: playing.item, nearest: wallNow.advanced(by: .zero - played)) else {
            return nil
        }
        return TimebaseSegment(
            mediaAnchor: begin + MediaTime(nanoseconds: began.duration(to: wallNow).wholeNanoseconds), hostAnchor: now,
            rate: 1 + mapping.rateOffset, speed: 1)
    }

    func recordOutcome(_ outcome: TimelineOutcome, at now: HostInstant) {
        let event = state.withLock { state -> String? in
            (state.status.outcome, state.status.lookedAt) = (outcome, now)
            switch outcome {
            case .followed:
                state.awaySince = nil
                // The interval is reset after a minute in sync.
                if let jump = state.nextJump, now - jump > .seconds(60) {
                    (state.nextJump, state.pause) = (nil, Self.firstPause)
                }
                state.isOutvotedReported = false
            case .beyond: state.awaySince = state.awaySince ?? now
            case .outvoted(let lead):
                let isFar = max(lead, .zero - lead) >= RenderSynchronizer.reach
                state.awaySince = isFar ? state.awaySince ?? now : nil
                guard isFar, !state.isOutvotedReported else { return nil }
                state.isOutvotedReported = true
                return
                    "A speaker requires its own clock, which the film follows: it is \(Self.text(lead)) the wall."
            }
            return nil
        }
        if let event { report(event) }
    }

    private static func text(_ lead: Duration) -> String {
        let milliseconds = Decimals.text(max(lead, .zero - lead).inMilliseconds, 1)
        return "\(milliseconds) ms \(lead < .zero ? "behind" : "ahead of")"
    }
}
