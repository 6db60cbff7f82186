package import MediaCore

/// A clock beside those of the outputs by which film is to pass: that of a wall of screens, say. Asked at upkeep, a few times a second.
///
/// An output that holds sound on a clock of its own goes first, because nothing can move that sound; the source is told how far the
/// film is from its own line then.
package protocol TimelineSource: AnyObject, Sendable {
    /// Where the film that passes on `segment`, which is in force, should lie; nil while nobody can say. On whichever thread attends to
    /// the line; must return at once.
    func line(of segment: TimebaseSegment, at now: HostInstant) -> TimebaseSegment?

    /// What became of that. On the same thread.
    func note(_ outcome: TimelineOutcome, at now: HostInstant)
}

/// How a line that runs by a `TimelineSource` lies beside what the source said. Durations are how much later the source's line reaches
/// a film moment: positive where the film is ahead.
package enum TimelineOutcome: Sendable, Hashable {
    /// It is bent towards it, or lies on it.
    case followed(late: Duration)
    /// So far away that bending would take minutes (`RenderSynchronizer.reach`): it is left to whoever can jump.
    case beyond(late: Duration)
    /// An output holds sound on a clock of its own, and goes first.
    case outvoted(late: Duration)

    package var late: Duration {
        switch self {
        case .followed(let late), .beyond(let late), .outvoted(let late): late
        }
    }
}

/// Which clock leads the line beside those of the outputs.
struct Leader: Sendable {
    weak var source: (any TimelineSource)?
}

extension RenderSynchronizer {
    /// Follows a clock beside those of the outputs; nil follows none. Not retained. Any thread.
    package func follow(_ source: (any TimelineSource)?) {
        leader.withLock { $0.source = source }
        timebase.isLed = source != nil
    }

    /// Tells the source where the line lies beside its own; nothing while the two cannot be compared.
    func tell(isOutvoted: Bool) {
        guard let source = leader.withLock({ $0.source }) else { return }
        let now = clock.now
        let snapshot = timebase.snapshot
        guard let line = source.line(of: snapshot.segment(at: now), at: now),
            let late = Self.lateness(of: line, beside: snapshot, at: now)
        else { return }
        let distance = late < .zero ? .zero - late : late
        let outcome: TimelineOutcome =
            isOutvoted ? .outvoted(late: late) : distance < Self.reach ? .followed(late: late) : .beyond(late: late)
        source.note(outcome, at: now)
    }
}
