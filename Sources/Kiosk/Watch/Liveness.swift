import MediaCore

/// Detects stalls of a kiosk: media time must advance, and frames must be presented or audio accepted. A value; the
/// caller provides the time.
struct Liveness: Sendable {
    /// One observation.
    struct Beat: Sendable {
        /// An item should be visible and audible: no pause, no quiet hours, no slate.
        var isExpected = false
        /// The number of iterations of the player's thread.
        var turns = 0
        /// The reported media time of the item.
        var position = MediaTime.zero
        /// The item is an image file: only its position changes.
        var isStill = false
        /// The item has video, and the window is visible.
        var hasVideo = false
        /// The number of frames presented since the window was opened.
        var shown = 0
        /// The frame period of the item; nil if unknown.
        var framePeriod: Duration?
        /// How late the next frame is; nil if none is due.
        var frameOverdue: Duration?
        /// More frames follow in the file, but none is decoded.
        var isStarved = false
        /// An audible output plays the item's audio.
        var hasAudio = false
        /// The end of the audio accepted by the outputs, relative to the playhead; nil after the last audio.
        var audioAhead: Duration?
        /// The end of the audio read last. One packet crosses a gap, although its silence is accepted gradually.
        var audioRead: MediaTime?
        /// All audio that was read has played, or cannot be decoded, and more follows in the file.
        var isAudioMissing = false
        /// All audio is read, and not all is played yet.
        var isAudioPlayingOut = false
        /// Playback is waiting: the item is being opened, or data is missing.
        var isWaiting = false
        /// The end of the data read; nil before any was read.
        var readUntil: MediaTime?
        /// The timeout of waiting; longer on a wall, whose starts are scheduled ahead.
        var waitingTimeout = Liveness.waitingTimeout
        /// The timeout of waiting while no data arrives of an item that was read before; nil: `waitingTimeout`.
        var silenceTimeout: Duration?

        init() {}
    }

    /// The cause of a stall; raw values are user-visible.
    enum Cause: String, Sendable, CaseIterable {
        case engine = "the player's thread is blocked"
        case waiting = "no data of the film arrives"
        case frozen = "the position in the film does not advance"
        case video = "no picture reaches the screen"
        case decoder = "no picture is decoded"
        case silence = "no sound of the film arrives"
        case audio = "no output accepts sound"
        case hole = "neither picture nor sound arrives"
    }

    /// The result of an observation.
    enum Verdict: Sendable, Equatable {
        /// Media time advances, with video or audio.
        case alive
        /// Intentionally nothing is visible or audible.
        case offOnPurpose
        /// No progress since the instant.
        case stalled(Cause, since: HostInstant)
    }

    /// The timeout of playback without progress.
    static let timeout = Duration.seconds(5)
    /// The same after a first repair: two failed repairs fit into `waitingTimeout`.
    static let repairTimeout = Duration.seconds(4)
    /// The maximum time without progress, after which the next item is played. An observation is up to a second late,
    /// and the next item appears up to a second later: the screen shows no progress for at most 15 s.
    static let waitingTimeout = Duration.seconds(13)
    /// The same for a file of which nothing arrives: a read that blocks in the kernel is not interrupted, and the
    /// player leaves it only after `TrackPipeline.usualStopTimeout`.
    static let silenceTimeout = Duration.seconds(10)
    /// The time without progress at its end for which a damaged item counts as stalled.
    private static let minLack = Duration.seconds(3)
    /// The maximum interval between two observations. A longer one means that this process did not run, as after
    /// SIGSTOP: it proves no stall.
    private static let maxInterval = Duration.seconds(3)
    private static let usualInterval = Duration.seconds(1)
    /// The maximum timeout for low frame rates: twice the period of one frame per minute.
    private static let maxFrameTimeout = Duration.seconds(120)
    /// The number of consecutive observations with progress that prove a repair: a seek alone presents one frame.
    private static let provingBeats = 3

    /// The last observed change of each quantity.
    private var lastTurns: (count: Int, at: HostInstant)?
    private var lastPosition: (position: MediaTime, at: HostInstant)?
    private var lastMedia: (shown: Int, audioRead: MediaTime?, at: HostInstant)?
    private var lastArrival: (readUntil: MediaTime?, at: HostInstant)?
    /// When the item last advanced, with video or audio.
    private var lastProgress: HostInstant?
    private var lastObservation: HostInstant?
    /// When each present symptom started.
    private var troubles: [Cause: HostInstant] = [:]
    /// The number of consecutive observations with progress.
    private var advances = 0
    /// The result of the last observation.
    private(set) var verdict = Verdict.offOnPurpose
    /// The present fault; kept until a repair is proved.
    private(set) var fault: (cause: Cause, since: HostInstant)?

    init() {}

    /// Processes one observation, about once per second.
    mutating func observe(_ beat: Beat, at now: HostInstant) {
        guard beat.isExpected else {
            startOver()
            return
        }
        if let lastObservation, now - lastObservation > Self.maxInterval {
            postpone(by: now - lastObservation - Self.usualInterval)
        }
        lastObservation = now
        if lastTurns?.count != beat.turns { lastTurns = (beat.turns, now) }
        if lastArrival.map({ !beat.isWaiting || $0.readUntil != beat.readUntil }) ?? true {
            lastArrival = (beat.readUntil, now)
        }
        let isPlaying = !beat.isWaiting
        let hasAdvanced = lastPosition?.position != beat.position
        if hasAdvanced || beat.isWaiting { lastPosition = (beat.position, now) }
        let hasMedia =
            !beat.hasVideo || beat.isStill || beat.isAudioPlayingOut || lastMedia?.shown != beat.shown
            || lastMedia?.audioRead != beat.audioRead
        let isOverdue = isPlaying && beat.hasVideo && (beat.frameOverdue ?? .zero) > .milliseconds(500)
        // Frames that are due and not presented are a fault of the screen, not a gap in the file.
        if hasMedia || beat.isWaiting || isOverdue { lastMedia = (beat.shown, beat.audioRead, now) }
        troubles[.engine] = lastTurns.flatMap { now > $0.at ? $0.at : nil }
        troubles[.frozen] = lastPosition.flatMap { isPlaying && now > $0.at ? $0.at : nil }
        troubles[.hole] = lastMedia.flatMap { isPlaying && now > $0.at ? $0.at : nil }
        let isSilent = isPlaying && beat.hasAudio && (beat.audioAhead.map { $0 < .zero } ?? false)
        let present: [Cause: Bool] = [
            .video: isOverdue,
            .decoder: isPlaying && beat.hasVideo && beat.isStarved,
            .silence: isSilent && beat.isAudioMissing,
            .audio: isSilent && !beat.isAudioMissing,
        ]
        let hasProgress =
            hasAdvanced && isPlaying && !present.values.contains(true)
            && (hasMedia || lastMedia.map { now - $0.at < Self.gap(of: beat) } ?? false)
        // Frames that are decoded too late end neither a wait nor a lack of media: both alternate with overdue frames.
        troubles[.waiting] = hasProgress ? nil : troubles[.waiting] ?? (beat.isWaiting ? now : nil)
        for (cause, isPresent) in present {
            let remains = isPlaying && !hasProgress && (cause == .decoder || cause == .silence)
            troubles[cause] = isPresent ? troubles[cause] ?? now : remains ? troubles[cause] : nil
        }
        let progress = hasProgress ? now : lastProgress ?? now
        lastProgress = progress
        let stalled = Cause.allCases.first { cause in
            start(of: cause).map { now - $0 >= timeout(of: cause, beat) } ?? false
        }
        verdict = stalled.map { .stalled($0, since: start(of: $0)!) } ?? .alive
        // A film whose sound does not arrive presents frames all the same.
        advances = hasAdvanced && hasMedia && isPlaying && !isOverdue && !isSilent ? advances + 1 : 0
        if let stalled {
            if fault?.cause != stalled { fault = (stalled, fault?.since ?? min(progress, troubles[stalled]!)) }
            advances = 0
        } else if advances >= Self.provingBeats {
            fault = nil
        }
    }

    /// Returns since when a symptom is present. Waiting counts from the last progress: a film whose frames run out is
    /// decoded in vain before playback waits for it.
    private func start(of cause: Cause) -> HostInstant? {
        guard cause == .waiting, let lastProgress else { return troubles[cause] }
        return troubles[.waiting].map { min($0, lastProgress) }
    }

    /// Returns the time between two frames in which no other frame is expected. The period comes from the file and may
    /// be weeks.
    private static func gap(of beat: Beat) -> Duration { min((beat.framePeriod ?? .zero) * 2, maxFrameTimeout) }

    private func timeout(of cause: Cause, _ beat: Beat) -> Duration {
        let timeout = fault == nil ? Self.timeout : Self.repairTimeout
        return switch cause {
        case .waiting: waitingTimeout(beat)
        // The observation is up to a second late.
        case .video: Self.repairTimeout
        // One frame per ten seconds is not a stall.
        case .hole, .decoder: max(timeout, Self.gap(of: beat))
        default: timeout
        }
    }

    private func waitingTimeout(_ beat: Beat) -> Duration {
        guard let silence = beat.silenceTimeout, beat.readUntil != nil, let now = lastObservation,
            !hasArrived(within: silence, at: now)
        else { return beat.waitingTimeout }
        return min(silence, beat.waitingTimeout)
    }

    /// Whether the item has advanced for long enough to prove a repair, with video or audio.
    var isAdvancing: Bool { advances >= Self.provingBeats }

    /// Since when playback lacks data; nil unless it has waited for some since the last progress.
    var waitingSince: HostInstant? { start(of: .waiting) }

    /// Returns true if no repair has helped within the maximum time of one item. False while the item advances, which
    /// may be the effect of the last repair.
    func isOverdue(at now: HostInstant) -> Bool {
        advances == 0 && fault.map { now - $0.since >= Self.waitingTimeout } ?? false
    }

    /// Returns why the item lacks progress: an unrepaired fault, or symptoms of some seconds; nil if it advances.
    func lack(at now: HostInstant) -> Cause? {
        if let fault { return fault.cause }
        guard let lastProgress, now - lastProgress >= Self.minLack else { return nil }
        return Cause.allCases.first { start(of: $0).map { now - $0 >= Self.minLack } ?? false }
    }

    /// Returns true if data has arrived within `span`, or playback was not waiting for any.
    func hasArrived(within span: Duration, at now: HostInstant) -> Bool {
        lastArrival.map { now - $0.at < span } ?? true
    }

    /// Discards earlier observations after a repair. `fault` remains until the repair is proved.
    mutating func forgive(at now: HostInstant) {
        troubles = [:]
        lastTurns?.at = now
        lastPosition?.at = now
        lastMedia?.at = now
        lastProgress = now
    }

    /// Moves all recorded instants, so that `span` does not count as observed time.
    private mutating func postpone(by span: Duration) {
        func later(_ instant: HostInstant) -> HostInstant { instant.advanced(by: span) }
        troubles = troubles.mapValues(later)
        lastTurns = lastTurns.map { ($0.count, later($0.at)) }
        lastPosition = lastPosition.map { ($0.position, later($0.at)) }
        lastMedia = lastMedia.map { ($0.shown, $0.audioRead, later($0.at)) }
        lastArrival = lastArrival.map { ($0.readUntil, later($0.at)) }
        lastProgress = lastProgress.map(later)
        fault = fault.map { ($0.cause, later($0.since)) }
    }

    /// Resets all state for another item.
    mutating func startOver() { self = Liveness() }
}
