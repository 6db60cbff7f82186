package import MediaCore
internal import Playback
package import SyncRendering

/// Keeps a player in step with the wall: says where to begin and when, bends its line to the wall's, and asks for a jump where bending would
/// take too long.
///
/// Give it to the player's synchronizer (`RenderSynchronizer.follow`), begin where `meeting` says, and ask `attend` a few times a second.
/// Threads: any; locks are held for nanoseconds.
package final class WallFollower: TimelineSource {
    /// An item, a place in it, and when that is to be perceived: `Player.jump(to:at:perceivedAt:)`.
    package struct Meeting: Sendable, Hashable {
        package var item: Int
        package var position: MediaTime
        package var instant: HostInstant
    }

    /// What plays at present, for `playing`.
    package struct Playing: Sendable, Hashable {
        /// Of the list, from 0.
        package var item: Int
        /// The player's timeline minus the item's own time (`PlayerState.lineOffset`).
        package var lineOffset: MediaTime

        package init(item: Int, lineOffset: MediaTime) { (self.item, self.lineOffset) = (item, lineOffset) }
    }

    /// For people, records and metrics.
    package struct Status: Sendable, Hashable {
        /// What became of the wall's line at the last look; nil while nothing plays, or nobody knows the time.
        package var outcome: TimelineOutcome?
        package var lookedAt: HostInstant?
        /// Jumps that were asked for since it was made.
        package var jumps = 0
    }

    private struct State {
        var line: WallLine
        var status = Status()
        /// The film has been too far away without a pause since.
        var awaySince: HostInstant?
        var nextJump: HostInstant?
        var pause = WallFollower.firstPause
        var hasToldOutvoted = false
    }

    /// A jump that an item's end, a late start or a change of the list explains is over by then.
    private static let endurance = Duration.milliseconds(1500)
    /// Between two jumps; doubled while they do not help.
    private static let firstPause = Duration.seconds(5)
    private static let longestPause = Duration.seconds(80)
    /// An output goes first whose clock nobody can move: what a jump gains is lost again at the pace of two clocks, and is not worth a
    /// seam more often. At 50 ppm the film is 30 ms away by then.
    private static let pauseWhenOutvoted = Duration.seconds(600)
    /// What opening an item and filling buffers takes as a rule. Whoever is later begins where the wall is by then.
    package static let lead = Duration.milliseconds(1500)

    private let wall: WallClock
    private let playing: @Sendable () -> Playing?
    private let tell: @Sendable (String) -> Void
    private let state: Lock<State>

    /// - Parameters:
    ///   - playing: what plays; called on whichever thread attends to the line, and must return at once.
    ///   - tell: what a person should know; on the same threads.
    package init(
        clock wall: WallClock, line: WallLine, playing: @escaping @Sendable () -> Playing?,
        tell: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.wall, self.playing, self.tell) = (wall, playing, tell)
        state = Lock(State(line: line))
    }

    /// The list changed: from here on the wall shows this.
    package var line: WallLine {
        get { state.withLock { $0.line } }
        set { state.withLock { ($0.line, $0.awaySince) = (newValue, nil) } }
    }

    package var status: Status { state.withLock { $0.status } }

    /// Where to begin; nil while nobody knows the time, and behind the end of a list that is played once.
    ///
    /// - Parameters:
    ///   - now: this computer's clock.
    ///   - lead: from now to the instant, at least; longer where outputs need it (`RenderSynchronizer.earliestStart`).
    package func meeting(from now: HostInstant, lead: Duration = lead) -> Meeting? {
        guard let mapping = wall.mapping else { return nil }
        let earliest = mapping.target(at: now.advanced(by: lead))
        guard let (place, instant) = line.meeting(notBefore: earliest) else { return nil }
        return Meeting(item: place.item, position: place.position, instant: mapping.source(at: instant))
    }

    /// The jump that is due: the wall is too far away for a bend, and has been for a while. Nil nearly always.
    package func attend(_ now: HostInstant, lead: Duration = lead) -> Meeting? {
        let isDue = state.withLock { state in
            guard let since = state.awaySince, now - since >= Self.endurance else { return false }
            return state.nextJump.map { now >= $0 } ?? true
        }
        guard isDue, let meeting = meeting(from: now, lead: lead) else { return nil }
        let late = state.withLock { state -> Duration in
            let outcome = state.status.outcome
            let isOutvoted = if case .outvoted? = outcome { true } else { false }
            let pause = isOutvoted ? Self.pauseWhenOutvoted : state.pause
            state.nextJump = meeting.instant.advanced(by: pause)
            state.pause = min(Self.longestPause, state.pause * 2)
            state.awaySince = nil
            state.status.jumps += 1
            return outcome?.late ?? .zero
        }
        tell("The film is \(Self.words(late)) of the wall; it jumps.")
        return meeting
    }

    // MARK: TimelineSource

    package func line(of segment: TimebaseSegment, at now: HostInstant) -> TimebaseSegment? {
        guard segment.speed == 1, let mapping = wall.mapping, let playing = playing() else { return nil }
        let line = line
        guard line.items.indices.contains(playing.item) else { return nil }
        // Where the item begins on the player's line, and on the wall's.
        let begin = playing.lineOffset + line.items[playing.item].start
        let played = (segment.mediaTime(at: now) - begin).duration
        let wallNow = mapping.target(at: now)
        guard let began = line.begin(of: playing.item, nearest: wallNow.advanced(by: .zero - played)) else {
            return nil
        }
        return TimebaseSegment(
            mediaAnchor: begin + MediaTime(nanoseconds: began.duration(to: wallNow).wholeNanoseconds), hostAnchor: now,
            rate: 1 + mapping.rateOffset, speed: 1)
    }

    package func note(_ outcome: TimelineOutcome, at now: HostInstant) {
        let news = state.withLock { state -> String? in
            (state.status.outcome, state.status.lookedAt) = (outcome, now)
            switch outcome {
            case .followed:
                state.awaySince = nil
                // A minute in step, and the next jump is a first one.
                if let jump = state.nextJump, now - jump > .seconds(60) {
                    (state.nextJump, state.pause) = (nil, Self.firstPause)
                }
                state.hasToldOutvoted = false
            case .beyond: state.awaySince = state.awaySince ?? now
            case .outvoted(let late):
                let isFar = max(late, .zero - late) >= RenderSynchronizer.reach
                state.awaySince = isFar ? state.awaySince ?? now : nil
                guard isFar, !state.hasToldOutvoted else { return nil }
                state.hasToldOutvoted = true
                return
                    "A speaker keeps a clock of its own, which the film follows: it is \(Self.words(late)) of the wall."
            }
            return nil
        }
        if let news { tell(news) }
    }

    private static func words(_ late: Duration) -> String {
        let milliseconds = Decimals.text(max(late, .zero - late).inMilliseconds, 1)
        return "\(milliseconds) ms \(late < .zero ? "behind" : "ahead")"
    }
}
