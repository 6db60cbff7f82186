internal import MediaCore
internal import Synchronization

/// What the timeline needs while film passes, whoever plays it: following the sound that an output holds, and a new start
/// after a suspension.
///
/// The feeders of the renderers that were added do it, between two buffers.
extension RenderSynchronizer {
    /// How often it is looked after: a bend of 100 ppm is 25 µs wrong by then.
    private static let upkeepInterval: Duration = .milliseconds(250)
    /// After a suspension, a sound card's pump and a speaker's control thread notice it within this time, or their first
    /// request.
    private static let noticeTime: Duration = .milliseconds(250)

    /// Does what is due for starts and for the line itself. Feeders call this whenever something moved, and not later than
    /// `nextAttention`, and so does a player that has no sound; it costs two atomic loads and a look at the clocks.
    package func attend() {
        reconsiderStart()
        observation.stepIfOrphaned()
        let now = clock.now
        // Whoever moves first after a suspension notices it: until then film passes that nobody perceives.
        if let asleep = roster.withLock({ $0.suspensions.check(clock) }) {
            command.withLock { _ in resume(after: asleep) }
        }
        guard now.nanoseconds >= dueUpkeep.load(ordering: .relaxed) else { return }
        dueUpkeep.store(now.advanced(by: Self.upkeepInterval).nanoseconds, ordering: .relaxed)
        steer()
    }

    /// When feeders are to call `attend` although nothing moved; nil while time stands still and no start waits.
    var nextAttention: HostInstant? {
        let isWanted = timebase.snapshot.upcoming.rate > 0 || isStartOpen.load(ordering: .acquiring)
        guard isWanted else { return nil }
        let upkeep = HostInstant(nanoseconds: dueUpkeep.load(ordering: .relaxed))
        guard let start = roster.withLock({ $0.pending?.notBefore }), start > clock.now else { return upkeep }
        return min(start, upkeep)
    }

    // MARK: A clock that cannot be moved

    /// Bends the line towards the sound that an output holds for good; back to its own rate when there is none.
    private func steer() {
        for renderer in renderers {
            if let line = renderer.remoteTimeline {
                steer(toward: line)
                tell(isOutvoted: true)
                return
            }
        }
        let now = clock.now
        let segment = timebase.snapshot.segment(at: now)
        if let source = leader.withLock({ $0.source }), let line = source.line(of: segment, at: now) {
            // Where it is too far away the line goes on at its own rate, until somebody jumps.
            if steer(toward: line) != nil { return tell(isOutvoted: false) }
            tell(isOutvoted: false)
        }
        guard segment.rate != segment.speed else { return }
        steer(
            toward: TimebaseSegment(
                mediaAnchor: segment.mediaTime(at: now), hostAnchor: now, rate: segment.speed, speed: segment.speed))
    }

    // MARK: A suspension

    /// The machine was suspended. Film time stood still, and film goes on from there: on a new line, once every output has
    /// found its feet. A speaker may have played on by itself; the stop silences it.
    private func resume(after asleep: Duration) {
        events?.note(.resumed(after: asleep))
        let now = clock.now
        let notBefore = now.advanced(by: Self.noticeTime)
        if var start = roster.withLock({ $0.pending }) {
            start.notBefore = notBefore
            roster.withLock { [start] in $0.pending = start }
            return
        }
        let snapshot = timebase.snapshot
        let upcoming = snapshot.upcoming
        // A stop that is about to come, comes at once.
        guard upcoming.rate > 0 else { return }
        restart(at: snapshot.mediaTime(at: now), rate: upcoming.speed, notBefore: notBefore)
    }

    /// Stops at a film moment, and starts there again as soon as everybody can. Under the command lock.
    private func restart(at moment: MediaTime, rate: Double, notBefore: HostInstant?) {
        forgetStart()
        publish(0, moment, at: nil)
        _ = beginOrWait(PendingStart(rate: Float(rate), time: moment, notBefore: notBefore), delays: true)
    }
}
