internal import MediaCore
internal import SyncRendering

/// A start or a seek in progress.
struct PendingSeek {
    /// The target on the timeline.
    var target: MediaTime
    var serial: Int
    var isExact = true
    /// Whether the video seeks as well; false after a change of the audio track.
    var movesVideo = false
    /// Whether the audio is sent to the sync frame that the video has found.
    var audioFollowsVideo = false
    var began: HostInstant
    /// Whether the synchronizer was commanded to start; it does so once all renderers are ready.
    var isCommanded = false
    /// Whether playback continues at its position, so that no track was sent anywhere.
    var resumes = false
    /// Whether the timeline is held until the tracks have a reserve.
    var collects = false
    /// When the first frame was available to the screen; nil before.
    var screenAwaited: HostInstant?
    /// When the target is to be presented; nil: as soon as possible.
    var appointment: HostInstant?
}

/// Owns the seek in progress: all tracks collect the required media, then the timeline starts at one instant. The
/// synchronizer waits for media and outputs and starts once all are ready. It holds the timeline again if an output is
/// lost before its first audio, or after a suspension. Confined to the player's thread.
final class SeekController {
    /// The result of an iteration.
    enum Progress: Equatable {
        /// A seek is in progress, or there is none.
        case pending
        /// The timeline runs, or will within the lead.
        case started
        /// The seek is complete while paused.
        case paused
        /// The seek must be repeated at a media time.
        case restarts(at: MediaTime)
        /// The item was read to its end and nothing was decoded.
        case foundNothing
    }

    /// Audio that takes longer does not delay a start and joins later.
    private static let timeout: Duration = .seconds(8)
    /// Same for the audio of an added sound that was not ready at the last start.
    private static let repeatedTimeout: Duration = .seconds(1)
    /// A screen that has not shown the available first frame by then does not delay a start: sound does not depend on
    /// it.
    private static let screenTimeout: Duration = .seconds(3)

    /// The seek in progress; nil if there is none.
    private(set) var pending: PendingSeek?
    /// The number of the last seek.
    private var serial = 0
    /// Whether the user wants playback, also while it is not possible yet.
    private(set) var wantsPlay: Bool {
        didSet { if wantsPlay != oldValue { status.change { $0.isPaused = !wantsPlay } } }
    }
    private let context: PlayerContext
    private let tracks: PlaybackTracks
    private let supply: TrackSupply
    private let hold: SourceHold

    init(_ context: PlayerContext, _ tracks: PlaybackTracks, _ supply: TrackSupply) {
        (self.context, self.tracks, self.supply) = (context, tracks, supply)
        hold = SourceHold(context, tracks, supply)
        wantsPlay = !context.options.startsPaused
    }

    private var list: SharedPlaybackList { context.list }
    private var synchronizer: RenderSynchronizer { context.synchronizer }
    private var status: PlayerStatus { context.status }
    private var now: HostInstant { context.clock.now }

    // MARK: Position

    /// The position to which single tracks are sent: the target of a seek in progress, or the playhead.
    var trackTarget: TrackTarget {
        TrackTarget(
            time: pending?.target ?? synchronizer.currentTime(), serial: serial, isAlone: pending?.resumes ?? true)
    }

    /// The current media time, or the target of a seek in progress.
    var mediaTime: MediaTime { max(.zero, trackTarget.time - status.state.timelineOffset) }

    private var timelineOffset: MediaTime { status.state.timelineOffset }
    private var speed: Float { Float(status.state.speed) }

    /// How long the player's thread may wait before a track could underrun.
    var timeUntilSupplyCheck: Duration { hold.timeUntilCheck }

    // MARK: Commands

    /// Starts a seek to a media time of the current entry.
    ///
    /// - Parameters:
    ///   - movesVideo: Whether the video seeks as well.
    ///   - instant: When the media time is to be presented; nil: as soon as possible.
    func seek(to moment: MediaTime, aim: SeekAim, movesVideo: Bool, perceivedAt instant: HostInstant? = nil) {
        serial += 1
        hold.abandon()
        let target = TrackTarget(time: moment + timelineOffset, serial: serial)
        synchronizer.setRate(0, time: target.time)
        let followsVideo =
            aim != .exact && movesVideo && tracks.video != nil && list.current?.videoTrack != nil
        pending = PendingSeek(
            target: target.time, serial: serial, isExact: aim == .exact, movesVideo: movesVideo,
            audioFollowsVideo: followsVideo, began: now, appointment: instant)
        context.progress.arm(true)
        if movesVideo { tracks.video?.seek(to: target.time, aim: aim, serial: serial) }
        if movesVideo, !followsVideo { tracks.subtitles.seek(to: target) }
        if !followsVideo { tracks.seekAudio(to: target) }
        status.setPhase(.buffering) { state in
            state.position = moment
            (state.reason, state.bufferingProgress) = (nil, nil)
        }
    }

    /// Starts playback as soon as it is possible.
    func requestPlay() { wantsPlay = true }

    /// Pauses after the output's stop lead, so that delivered audio ends together with the video.
    func pause() {
        wantsPlay = false
        if status.state.phase == .playing {
            synchronizer.setRate(0)
            status.setPhase(.paused)
        } else if pending?.isCommanded == true {
            // Withdraws a start that is pending or was just announced.
            pending?.isCommanded = false
            synchronizer.setRate(0)
        }
    }

    /// Resumes paused playback once all renderers are ready.
    func resume() {
        if hold.isActive { return beginHold() }
        synchronizer.setRate(speed)
        if let start = synchronizer.pendingStart { wait(for: start) } else { status.setPhase(.playing) }
    }

    /// Collects the reserve of a hold at the speed in the state, which is another amount of media; returns false if
    /// there is no hold.
    func adaptHoldToSpeed() -> Bool {
        guard let pending, pending.collects else { return false }
        hold.setReserve(from: pending.target)
        return true
    }

    /// Ends a seek without a start.
    func cancel() {
        hold.abandon()
        finishSeek()
    }

    private func finishSeek() {
        pending = nil
        context.progress.arm(false)
    }

    // MARK: Progress

    /// Continues a start or a seek as far as the tracks permit.
    func proceed() -> Progress {
        guard var seek = pending else { return .pending }
        if seek.collects { return proceedWithHold(seek) }
        let videoReady = isVideoReady(for: seek)
        if seek.audioFollowsVideo {
            guard let position = videoPosition(for: seek, isReady: videoReady) else { return .pending }
            if let end = list.current?.sectionEnd, position - timelineOffset >= end {
                // Beyond the section, which ends its repetition.
                return .restarts(at: position - timelineOffset)
            }
            // The video has found its frame; the audio seeks to it.
            (seek.target, seek.audioFollowsVideo) = (position, false)
            pending = seek
            status.change { $0.position = position - timelineOffset }
            synchronizer.setRate(0, time: position)
            let target = TrackTarget(time: position, serial: seek.serial)
            tracks.seekAudio(to: target)
            tracks.subtitles.seek(to: target)
        }
        tracks.added.drainTails(isStarting: true)
        if wantsPlay, seek.isCommanded || (hasReachedTarget(&seek, videoReady) && hold.permitsStart(of: seek)) {
            commandStart(of: &seek)
        }
        let isReady =
            seek.isCommanded
            ? hasStarted(&seek, isVideoReady: videoReady) : !wantsPlay && canPause(seek, videoReady)
        // Evaluated after both tracks: media that was read to its end meanwhile must not start.
        if tracks.hasFoundNothing(since: seek) { return .foundNothing }
        guard isReady, !isUndecided(seek) else { return .pending }
        finishSeek()
        if !wantsPlay, let shown = tracks.layer.shownTime, shown > seek.target { seek.target = shown }
        if !wantsPlay || !seek.resumes { status.report(.sought(seek.target - timelineOffset)) }
        status.setPhase(wantsPlay ? .playing : .paused)
        return wantsPlay ? .started : .paused
    }

    /// Returns true if the tracks have reached the target, so that the renderers hold its media.
    private func hasReachedTarget(_ seek: inout PendingSeek, _ videoReady: Bool) -> Bool {
        if let video = tracks.video, seek.movesVideo, list.current?.videoTrack != nil,
            video.status.seekSerial != seek.serial
        {
            report(.forVideo)
            return false
        }
        if let audio = tracks.audio, !seek.resumes, audio.status.seekSerial != seek.serial, !startsWithoutAudio(seek) {
            report(videoReady ? .forAudio : .forVideo)
            return false
        }
        if !seek.resumes, !tracks.added.haveReached(seek.serial), !startsWithoutAudio(seek) {
            report(.forAudio)
            return false
        }
        if seek.isExact { return true }
        guard videoReady else {
            report(.forVideo)
            return false
        }
        if let first = tracks.layer.shownTime ?? tracks.layer.nextTime, first > seek.target { seek.target = first }
        return true
    }

    /// Returns true if a seek while paused is complete.
    private func canPause(_ seek: PendingSeek, _ videoReady: Bool) -> Bool {
        if !videoReady { report(.forVideo) }
        guard videoReady, !startsWithoutAudio(seek), let renderer = tracks.renderer, let audio = tracks.audio else {
            return videoReady
        }
        let isSent = seek.resumes || audio.status.seekSerial == seek.serial
        let wait = isSent ? renderer.startWait : .forAudio
        if let wait { report(wait) }
        return wait == nil
    }

    /// Returns true if no audio was decoded and its pipeline has not ended yet; the item is judged when both have
    /// ended.
    private func isUndecided(_ seek: PendingSeek) -> Bool {
        guard tracks.expectsAudio, !startsWithoutAudio(seek), !seek.resumes, let renderer = tracks.renderer else {
            return false
        }
        let progress = renderer.progress
        return !progress.hasFailed && progress.isDrained && progress.acceptedUntil == nil
            && !tracks.hasReadAudio(since: seek)
    }

    /// Returns the position on the timeline that the video has found; nil while unknown.
    private func videoPosition(for seek: PendingSeek, isReady: Bool) -> MediaTime? {
        guard let status = tracks.video?.status, status.seekSerial == seek.serial else { return nil }
        if let landed = status.landed { return landed }
        return isReady ? tracks.layer.shownTime ?? tracks.layer.nextTime ?? seek.target : nil
    }

    private func isVideoReady(for seek: PendingSeek) -> Bool {
        guard let video = tracks.video, seek.movesVideo, list.current?.videoTrack != nil else { return true }
        let status = video.status
        guard status.seekSerial == seek.serial else { return false }
        // One frame suffices: the next ones arrive within the output's lead.
        return status.hasEnded || list.isWaiting(.video) || tracks.layer.count >= 1 || tracks.layer.shownTime != nil
    }

    // MARK: Starts

    /// Commands the start of a seek that has reached its target, once.
    private func commandStart(of seek: inout PendingSeek) {
        guard !seek.isCommanded else { return }
        seek.isCommanded = true
        pending = seek
        if seek.resumes {
            synchronizer.setRate(speed)
        } else if let instant = seek.appointment {
            synchronizer.setRate(speed, time: seek.target, byAppointment: instant)
        } else {
            synchronizer.setRate(speed, time: seek.target)
        }
    }

    /// Returns true if playback has started; otherwise reports the wait, unless the player starts without it.
    private func hasStarted(_ seek: inout PendingSeek, isVideoReady: Bool) -> Bool {
        guard let start = synchronizer.pendingStart else { return true }
        if let instant = start.notBefore, instant > seek.began {
            // Outputs restart and receive the initial timeout again.
            seek.began = instant
            pending = seek
        }
        if tracks.layer.isAwaitingScreen, seek.screenAwaited == nil {
            seek.screenAwaited = now
            pending = seek
        }
        let startsWithoutAudio = startsWithoutAudio(seek)
        let isTime = start.notBefore.map { now >= $0 } ?? true
        tracks.added.forgetReady()
        let isExcused = start.waits.allSatisfy { wait in
            if wait.cause == .video { return isVideoReady && !isScreenAwaited(since: seek.screenAwaited) }
            // An output that is ready by now only has to be filled.
            return startsWithoutAudio
                || (tracks.added.isLate(wait.id)
                    && (wait.cause != .audio || now - seek.began >= Self.repeatedTimeout))
        }
        guard isTime, isExcused, !start.waits.isEmpty else {
            report(start.waits.first)
            return false
        }
        if startsWithoutAudio { tracks.added.recordLate(start.waits) }
        let soonest = synchronizer.soonestStart
        let earliest = startsWithoutAudio ? soonest : max(soonest, tracks.earliestStart ?? soonest)
        synchronizer.begin(start, notBefore: earliest)
        return true
    }

    /// Returns true if the first frame is available and not visible yet, as while the window opens.
    private func isScreenAwaited(since began: HostInstant?) -> Bool {
        tracks.layer.isAwaitingScreen && now - (began ?? now) < Self.screenTimeout
    }

    /// Returns true if a start does not wait for audio: there is none, it joins later, or the timeout has passed.
    private func startsWithoutAudio(_ seek: PendingSeek) -> Bool {
        if !tracks.expectsAudio || context.options.startPolicy == .video { return true }
        // Resumed playback has nothing to collect while its successor is unknown.
        if seek.resumes, list.isWaiting(.audio) { return true }
        // Audio that its source has not delivered is not late: playback waits for it as during a hold.
        return now - seek.began >= Self.timeout && !supply.isAudioAwaited
    }

    /// Detects that the synchronizer has stopped the timeline and will restart it.
    func detectStop() {
        guard status.state.phase == .playing, pending == nil, synchronizer.effectiveRate == 0,
            let start = synchronizer.pendingStart
        else { return }
        wait(for: start)
    }

    private func wait(for start: PendingStart) {
        let target = start.time ?? synchronizer.currentTime()
        pending = PendingSeek(target: target, serial: serial, began: now, isCommanded: true, resumes: true)
        context.progress.arm(true)
        status.setPhase(.buffering) { $0.position = max(.zero, target - timelineOffset) }
    }

    /// Reports the reason of a wait: “waiting for Kitchen's clock, about 1.2 s”.
    private func report(_ wait: OutputWait?) {
        if let wait, wait.cause == .video || wait.cause == .audio, let pending, hold.reportIfSlow(pending) { return }
        status.setWait(reason: wait?.description)
    }

    // MARK: Holds

    /// Starts a hold before a track underruns because its source delivers nothing.
    func holdIfStarved() {
        let isRunning = status.state.phase == .playing && pending == nil
        if hold.isDue(at: isRunning ? synchronizer.currentTime() : nil) { beginHold() }
    }

    /// Holds the timeline until the tracks have a reserve. Media in outputs and renderers stays valid.
    private func beginHold() {
        let now = now
        hold.begin()
        synchronizer.setRate(0)
        let target = synchronizer.timebase.snapshot.upcoming.mediaAnchor
        pending = PendingSeek(target: target, serial: serial, began: now, resumes: true, collects: true)
        context.progress.arm(true)
        hold.collect(from: target)
        status.setPhase(.buffering) { $0.position = max(.zero, target - timelineOffset) }
    }

    /// Ends the hold if the reserve is complete.
    private func proceedWithHold(_ seek: PendingSeek) -> Progress {
        guard wantsPlay else {
            // `resume` starts another hold.
            finishSeek()
            status.setPhase(.paused)
            return .pending
        }
        guard hold.hasCollected(from: seek.target) else { return .pending }
        var seek = seek
        (seek.collects, seek.began) = (false, now)
        pending = seek
        commandStart(of: &seek)
        return proceed()
    }
}

extension OutputWait {
    /// The wait for tracks that have not reached the target, before any output can report one.
    fileprivate static var forVideo: OutputWait { OutputWait(.video, of: "the picture") }
    fileprivate static var forAudio: OutputWait { OutputWait(.audio, of: "sound") }
}
