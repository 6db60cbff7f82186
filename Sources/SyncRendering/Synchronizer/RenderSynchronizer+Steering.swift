internal import MediaCore

extension RenderSynchronizer {
    /// The maximum change of the timeline's rate: a sixth of a cent, two video frames in a quarter of an hour.
    package static let largestBend = 100e-6
    /// A deviation decays by 1/e in this time, in seconds.
    private static let timeConstant = 4.0
    /// A timeline further away is a different one, not drift.
    package static let reach: Duration = .milliseconds(20)
    /// A smaller relative change of the rate is not applied.
    private static let minChange = 0.2e-6

    /// Steers the current timeline towards one that cannot be adjusted: that of audio in a speaker with its own clock.
    /// Video and sound card follow.
    ///
    /// The timeline remains continuous: its rate differs from the commanded one by at most 100 ppm, and it has no step.
    /// Followers are not notified, because they read the timeline at every step. The caller repeats this a few times a
    /// second while there is such a timeline (`AudioRenderer.remoteTimeline`). Any thread.
    ///
    /// - Returns: How much later the given timeline reaches a media time. Nil, without effect, if ours is stopped or
    ///   about to change, or the given one is unrelated.
    @discardableResult
    public func steer(toward line: TimebaseSegment) -> Duration? {
        command.withLock { _ -> Duration? in
            let now = clock.now
            let old = timebase.snapshot
            let segment = old.segment(at: now)
            guard let late = Self.lateness(of: line, beside: old, at: now), max(late, .zero - late) < Self.reach else {
                return nil
            }
            let film = segment.mediaTime(at: now)
            // If the given timeline is late, ours must slow down.
            let wanted = line.rate / line.speed - 1 - late.inSeconds / Self.timeConstant
            let rate = segment.speed * (1 + max(-Self.largestBend, min(Self.largestBend, wanted)))
            guard abs(rate - segment.rate) > Self.minChange * segment.speed else { return late }
            let next = TimebaseSegment(mediaAnchor: film, hostAnchor: now, rate: rate, speed: segment.speed)
            let snapshot = TimebaseSnapshot(current: next, scheduled: nil, generation: old.generation)
            timebase.publish(snapshot)
            observation.timelineChanged(to: snapshot, at: now)
            events?.append(.steered(media: film, host: now, rate: rate, speed: segment.speed, late: late), at: now)
            return late
        }
    }

    /// Returns how much later a timeline reaches the current media time; nil if the two are not comparable.
    static func lateness(of line: TimebaseSegment, beside own: TimebaseSnapshot, at now: HostInstant) -> Duration? {
        let segment = own.segment(at: now)
        guard segment.rate > 0, line.rate > 0, segment.speed == line.speed,
            own.scheduled.map({ $0.hostAnchor <= now }) ?? true
        else { return nil }
        return line.hostInstant(of: segment.mediaTime(at: now)).map { $0 - now }
    }
}
