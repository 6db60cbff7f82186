package import MediaCore

/// An external clock for the timeline, for example that of a wall of screens. Queried a few times a second by the
/// timeline's service.
///
/// Audio in a speaker cannot be moved: the clock that this computer serves to it is adjusted. A speaker that requires
/// its own clock takes precedence. The source is then notified of the deviation.
package protocol TimelineSource: AnyObject, Sendable {
    /// Returns the timeline that should replace `segment`, which is in effect; nil if unknown. Called on the thread
    /// that services the timeline; must not block.
    func replacement(of segment: TimebaseSegment, at now: HostInstant) -> TimebaseSegment?

    /// Reports the result. Called on the same thread.
    func recordOutcome(_ outcome: TimelineOutcome, at now: HostInstant)
}

/// The relation of a timeline to its `TimelineSource`. Durations are the lead of the media over the source's
/// timeline: negative if the media is behind.
package enum TimelineOutcome: Sendable, Hashable {
    /// The timeline is steered towards the source, or matches it.
    case followed(lead: Duration)
    /// The deviation exceeds `RenderSynchronizer.reach`, so that steering would take minutes; a seek is required.
    case beyond(lead: Duration)
    /// An output with its own clock takes precedence.
    case outvoted(lead: Duration)

    /// The lead of the media over the source's timeline.
    package var lead: Duration {
        switch self {
        case .followed(let lead), .beyond(let lead), .outvoted(let lead): lead
        }
    }
}

/// The external clock that leads the timeline. Guarded by the lock `RenderSynchronizer.leader`.
struct Leader: Sendable {
    weak var source: (any TimelineSource)?
}

extension RenderSynchronizer {
    /// Follows an external clock; nil: none. Not retained. Any thread.
    package func setTimelineSource(_ source: (any TimelineSource)?) {
        leader.withLock { $0.source = source }
        timebase.isLed = source != nil
    }

    /// Reports the deviation to the source; no effect if the timelines are not comparable.
    func reportDeviation(isOutvoted: Bool) {
        guard let source = leader.withLock({ $0.source }) else { return }
        let now = clock.now
        let snapshot = timebase.snapshot
        guard let replacement = source.replacement(of: snapshot.segment(at: now), at: now),
            let lead = Self.lateness(of: replacement, beside: snapshot, at: now)
        else { return }
        let distance = lead < .zero ? .zero - lead : lead
        let outcome: TimelineOutcome =
            isOutvoted ? .outvoted(lead: lead) : distance < Self.reach ? .followed(lead: lead) : .beyond(lead: lead)
        source.recordOutcome(outcome, at: now)
    }
}
