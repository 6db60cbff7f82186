internal import MediaCore

extension RenderSynchronizer {
    /// The most that the timeline's rate is bent: a sixth of a cent, two pictures in a quarter of an hour.
    public static let largestBend = 100e-6
    /// A deviation fades by 1/e in this time.
    private static let timeConstant = 4.0
    /// A line further away is another line, and no drift of this one.
    package static let reach: Duration = .milliseconds(20)
    /// Less than this share of a rate is not worth a new stretch.
    private static let leastChange = 0.2e-6

    /// Bends the line in force so that it meets one that cannot be moved: sound that lies in a speaker which plays by
    /// a clock of its own. Picture and sound card follow.
    ///
    /// The line stays whole: its rate differs from the one commanded by at most 100 ppm, and it makes no step.
    /// Followers are not told, because they read the line at every step. To be called a few times a second, for as
    /// long as there is such a line (`AudioRenderer.remoteTimeline`). Any thread.
    ///
    /// - Returns: how much later the line reaches a film moment than ours; nil when ours stands still, is about to
    ///   change, or the line is none of ours. Nothing is done then.
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
            // Where the line is late, film must pass more slowly until it has come.
            let wanted = line.rate / line.speed - 1 - late.inSeconds / Self.timeConstant
            let rate = segment.speed * (1 + max(-Self.largestBend, min(Self.largestBend, wanted)))
            guard abs(rate - segment.rate) > Self.leastChange * segment.speed else { return late }
            let next = TimebaseSegment(mediaAnchor: film, hostAnchor: now, rate: rate, speed: segment.speed)
            let snapshot = TimebaseSnapshot(current: next, scheduled: nil, generation: old.generation)
            timebase.publish(snapshot)
            observation.lineChanged(to: snapshot, at: now)
            events?.note(.steered(media: film, host: now, rate: rate, speed: segment.speed, late: late), at: now)
            return late
        }
    }

    /// How much later a line reaches the film moment that is perceived now; nil where the two cannot be compared.
    static func lateness(of line: TimebaseSegment, beside own: TimebaseSnapshot, at now: HostInstant) -> Duration? {
        let segment = own.segment(at: now)
        guard segment.rate > 0, line.rate > 0, segment.speed == line.speed,
            own.scheduled.map({ $0.hostAnchor <= now }) ?? true
        else { return nil }
        return line.hostInstant(of: segment.mediaTime(at: now)).map { $0 - now }
    }
}
