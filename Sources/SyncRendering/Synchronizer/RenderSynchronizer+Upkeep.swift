internal import MediaCore
internal import Synchronization

/// Periodic service of the timeline during playback: steering towards an output's clock, and a restart after a
/// suspension.
///
/// Performed by the feeders of the added renderers between two buffers.
extension RenderSynchronizer {
    /// The interval of the service: a rate error of 100 ppm accumulates 25 µs meanwhile.
    private static let upkeepInterval: Duration = .milliseconds(250)
    /// A deviation of audio in a speaker decays by 1/e in this time, in seconds: a millisecond, as much as chrony's
    /// estimate changes between two polls, changes the rate by half a quartz's error.
    private static let remoteTimeConstant = 40.0
    /// The time in which a sound card's pump and a speaker's control thread detect a suspension, or send their first
    /// request.
    private static let noticeTime: Duration = .milliseconds(250)

    /// Performs due work for starts and for the timeline. Feeders call this after each change and no later than
    /// `nextAttention`, as does a player without audio. Costs two atomic loads and a reading of the clocks. Any thread.
    package func serviceTimeline() {
        reconsiderStart()
        observation.stepIfOrphaned()
        let now = clock.now
        // The first caller after a suspension detects it; until then media time advances without presentation.
        if let asleep = roster.withLock({ $0.suspensions.check(clock) }) {
            command.withLock { _ in resume(after: asleep) }
        }
        guard now.nanoseconds >= dueUpkeep.load(ordering: .relaxed) else { return }
        dueUpkeep.store(now.advanced(by: Self.upkeepInterval).nanoseconds, ordering: .relaxed)
        steer()
    }

    /// When feeders have to call `serviceTimeline` without a change; nil while the timeline is stopped and no start is
    /// pending.
    var nextAttention: HostInstant? {
        let isWanted = timebase.snapshot.upcoming.rate > 0 || isStartOpen.load(ordering: .acquiring)
        guard isWanted else { return nil }
        let upkeep = HostInstant(nanoseconds: dueUpkeep.load(ordering: .relaxed))
        guard let start = roster.withLock({ $0.pending?.notBefore }), start > clock.now else { return upkeep }
        return min(start, upkeep)
    }

    // MARK: Steering

    /// Steers the timeline towards the timing of an output or of a `TimelineSource`; back to its commanded rate if
    /// there is none.
    private func steer() {
        for renderer in renderers {
            if let replacement = renderer.remoteTimeline {
                steer(toward: replacement)
                reportDeviation(isOutvoted: !adjust(replacement, of: renderer))
                return
            }
        }
        let now = clock.now
        let segment = timebase.snapshot.segment(at: now)
        if let source = leader.withLock({ $0.source }), let replacement = source.replacement(of: segment, at: now) {
            // Too far away: the timeline continues at its own rate until a seek.
            if steer(toward: replacement) != nil { return reportDeviation(isOutvoted: false) }
            reportDeviation(isOutvoted: false)
        }
        guard segment.rate != segment.speed else { return }
        steer(
            toward: TimebaseSegment(
                mediaAnchor: segment.mediaTime(at: now), hostAnchor: now, rate: segment.speed, speed: segment.speed))
    }

    /// Adjusts the clock of audio in a speaker towards the `TimelineSource`. Returns false if there is none, or the
    /// speaker requires its own clock.
    private func adjust(_ own: TimebaseSegment, of renderer: any QueuedSampleBufferRendering) -> Bool {
        let now = clock.now
        let snapshot = TimebaseSnapshot(current: own, scheduled: nil, generation: 0)
        guard let source = leader.withLock({ $0.source }), let replacement = source.replacement(of: own, at: now),
            let late = Self.lateness(of: replacement, beside: snapshot, at: now)
        else { return false }
        // Too far away: parallel until a seek.
        let isNear = max(late, .zero - late) < Self.reach
        let correction = isNear ? late.inSeconds / Self.remoteTimeConstant : 0
        return renderer.adjustRemoteRate(by: replacement.rate / replacement.speed - 1 - correction)
    }

    // MARK: Suspension

    /// Restarts after a suspension of the machine, once every output is ready. Media time was stopped meanwhile. Under
    /// the command lock.
    ///
    /// A speaker may have continued to play; the stop silences it.
    private func resume(after asleep: Duration) {
        events?.append(.resumed(after: asleep))
        let now = clock.now
        let notBefore = now.advanced(by: Self.noticeTime)
        if var start = roster.withLock({ $0.pending }) {
            start.notBefore = notBefore
            roster.withLock { [start] in $0.pending = start }
            return
        }
        let snapshot = timebase.snapshot
        let upcoming = snapshot.upcoming
        // A scheduled stop takes effect at once.
        guard upcoming.rate > 0 else { return }
        restart(at: snapshot.mediaTime(at: now), rate: upcoming.speed, notBefore: notBefore)
    }

    /// Stops at a media time and starts there again once all renderers are ready. Under the command lock.
    private func restart(at time: MediaTime, rate: Double, notBefore: HostInstant?) {
        forgetStart()
        publish(0, time, at: nil)
        _ = beginOrWait(PendingStart(rate: Float(rate), time: time, notBefore: notBefore), delays: true)
    }
}
