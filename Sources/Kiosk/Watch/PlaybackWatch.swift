internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import SyncRendering

/// Detects stalls and selects their repairs. A value; the caller provides observations and the time, and runs the
/// repairs.
struct PlaybackWatch: Sendable {
    /// The repair of a stall.
    struct Repair: Sendable, Hashable {
        var stage: RepairLadder.Stage
        var cause: Liveness.Cause
        /// The address of the stalled item.
        var item: String
        /// The duration of the stall.
        var duration: Duration
    }

    /// The result of an observation.
    struct Outcome: Sendable, Hashable {
        /// The number of frames dropped in a burst that is over; nil without one.
        var droppedFrames: Int?
        /// True if playback advances, and no earlier fault awaits the proof of its repair.
        var isHealthy = false
        /// True if the item has advanced for some time.
        var isProved = false
        /// The repair that is due.
        var repair: Repair?
    }

    private var liveness = Liveness()
    private var ladder = RepairLadder()
    private var drops = DroppedFrameMonitor()
    /// The fault of an item that was left; kept until another item has advanced.
    private var faultBefore: (cause: Liveness.Cause, since: HostInstant)?
    /// The address of the item of the last observation, and why it lacks progress; nil if it does not.
    private(set) var stalledItem: (address: String, cause: Liveness.Cause)?
    /// The number of repairs per stage.
    private(set) var repairs: [RepairLadder.Stage: Int] = [:]

    /// Processes one observation, about once per second.
    ///
    /// - Parameters:
    ///   - droppedFrames: The number of frames dropped so far.
    ///   - item: The current item; nil without one. Its `isArriving` is ignored.
    mutating func observe(
        _ beat: Liveness.Beat, droppedFrames: Int, item: RepairLadder.Item?, at now: HostInstant
    ) -> Outcome {
        var beat = beat
        // A stall of an item that has ended is none of the item that follows.
        if let item, let stalledItem, item.address != stalledItem.address,
            liveness.fault.map({ ItemExclusions.Reason(of: $0.cause) != nil }) ?? false
        {
            startOver()
        }
        // A server may need its full time again; a file that stops again does not.
        if let item, !item.isRemote, ladder.canPass(item, for: .waiting) {
            if item.hasFailed { beat.waitingTimeout = Liveness.timeout }
            beat.silenceTimeout = Liveness.silenceTimeout
        }
        liveness.observe(beat, at: now)
        let isAdvancing = liveness.verdict == .alive
        var outcome = Outcome()
        outcome.droppedFrames = drops.observe(total: droppedFrames, isExpected: isAdvancing, at: now)
        outcome.isProved = liveness.isAdvancing && liveness.fault == nil
        if outcome.isProved || !beat.isExpected { faultBefore = nil }
        outcome.isHealthy = isAdvancing && fault == nil
        // A wait that has not lasted long enough yet is no progress.
        if outcome.isHealthy { ladder.recordAlive(at: now) }
        stalledItem = item.flatMap { item in liveness.lack(at: now).map { (item.address, $0) } }
        guard var item, let (cause, since) = stall(of: item, at: now) else { return outcome }
        item.isArriving = liveness.hasArrived(within: RepairLadder.serverPause, at: now)
        let isOverdue = item.isUnplayable || liveness.isOverdue(at: now)
        guard let stage = ladder.next(for: cause, of: item, isOverdue: isOverdue, at: now) else { return outcome }
        repairs[stage, default: 0] += 1
        liveness.forgive(at: now)
        outcome.repair = Repair(stage: stage, cause: cause, item: item.address, duration: now - since)
        return outcome
    }

    /// Returns the cause to repair and since when it is present; nil without a stall.
    private func stall(
        of item: RepairLadder.Item, at now: HostInstant
    ) -> (cause: Liveness.Cause, since: HostInstant)? {
        if case .stalled(let cause, let since) = liveness.verdict { return (cause, since) }
        // Nothing is waited for.
        if item.isUnplayable, ladder.canPass(item, for: .hole) { return (.hole, now) }
        // The other repairs need time to show an effect.
        guard let fault = liveness.fault, liveness.isOverdue(at: now),
            ladder.canPass(item, for: fault.cause) || ladder.canTest(item, for: fault.cause)
        else { return nil }
        return fault
    }

    /// The present fault; kept until a repair is proved.
    var fault: (cause: Liveness.Cause, since: HostInstant)? { liveness.fault ?? faultBefore }

    /// See `Liveness.waitingSince`.
    var waitingSince: HostInstant? { liveness.waitingSince }

    /// False during a stall that a restart of the program may end. Waiting for a server is none: a restart would only
    /// start the wait again.
    var isAlive: Bool {
        guard case .stalled(let cause, _) = liveness.verdict else { return true }
        return cause == .waiting
    }

    /// Discards observations, for instance those from before a sleep of the computer. The present fault remains.
    mutating func forgive(at now: HostInstant) { liveness.forgive(at: now) }

    /// Discards observations, for another item. The present fault remains until that one has advanced.
    mutating func startOver() {
        (faultBefore, stalledItem) = (fault, nil)
        liveness.startOver()
    }
}

extension PlayerState {
    /// Whether the audio at the playhead, or that which follows what the outputs have, cannot be decoded.
    func isAudioUndecodable(at time: MediaTime) -> Bool {
        let handed = handedUntil ?? time
        // A packet is at most this long.
        let next = handed + MediaTime(value: 1, timescale: 2)
        return audioLosses.contains { $0.start <= next && $0.end > handed } || audioLoss(at: time) != nil
    }

    /// Returns the undecodable audio at a position on the timeline.
    func audioLoss(at time: MediaTime) -> MediaTimeRange? {
        audioLosses.first { $0.start <= time && time < $0.end }
    }
}

extension Liveness.Beat {
    /// Observes a player and its window.
    ///
    /// - Parameters:
    ///   - screen: The window's state; nil without video.
    ///   - isExpected: An item should be visible and audible.
    ///   - isAudible: An output is to play the audio.
    ///   - isWall: Starts are scheduled ahead.
    init(of player: Player, screen: ScreenControl.Status?, isExpected: Bool, isAudible: Bool, isWall: Bool) {
        let state = player.state
        let layer = player.layer
        let time = player.synchronizer.currentTime()
        self.init()
        self.isExpected = isExpected && state.phase != .paused
        turns = state.turns
        position = state.position
        isStill = state.isStill
        isWaiting = state.phase != .playing || player.synchronizer.timebase.rate == 0 && (isWall || state.reason != nil)
        if isWall { waitingTimeout = WallTimeline.early + Liveness.waitingTimeout }
        hasVideo = state.hasVideo && screen?.isVisible == true
        shown = screen?.shown ?? 0
        framePeriod = state.displayedVideoFormat?.frameRate.flatMap {
            $0.numerator > 0 ? .seconds(Double($0.denominator) / Double($0.numerator)) : nil
        }
        frameOverdue = layer.nextTime.map { (time - $0).duration }
        isStarved = layer.count == 0 && !state.videoIsRead
        hasAudio = state.hasAudio && isAudible && player.outputs?.failure == nil
        // Reading stays ahead of the playhead, also for outputs that accept nothing.
        isAudioMissing =
            state.audioReadUntil.map { $0 < time } ?? true || state.isAudioUndecodable(at: time)
        readUntil = state.audioReadUntil ?? state.loadedUntil
        // An output with a deep buffer has accepted audio of the items that follow, minutes ahead.
        let end = state.audioEnd
        audioRead = hasAudio ? readUntil.map { read in end.map { min(read, $0) } ?? read } : nil
        let ahead = ((state.handedUntil ?? .zero) - time).duration
        let hasEnded = end.map { $0 <= time } ?? false
        if let loss = state.audioLoss(at: time) {
            audioAhead = (loss.start - time).duration
        } else if state.audioIsRead || end != nil {
            isAudioPlayingOut = hasAudio && ahead > .zero && !hasEnded
            if !state.audioIsRead, !hasEnded { audioAhead = ahead }
        } else {
            audioAhead = ahead
        }
    }
}
