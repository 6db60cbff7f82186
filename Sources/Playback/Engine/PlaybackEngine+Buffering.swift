internal import MediaCore
internal import SyncRendering

/// Holds the timeline while the source of a track delivers too slowly (`BufferingPolicy`), and reports the reason.
extension PlaybackEngine {
    /// A source that delivers nothing for this long, while other tracks have their reserve, may have ended. Containers
    /// other than MP4 do not state the end of a track.
    private static let maxSilence = Duration.seconds(30)
    /// The margin beyond an output's lead for late threads.
    private static let soundMargin = Duration.milliseconds(40)
    private static let minSoundLead = Duration.milliseconds(60)
    private static let maxSoundLead = Duration.milliseconds(500)
    /// About half a frame.
    private static let pictureMargin = Duration.milliseconds(20)

    // MARK: Reserves

    /// The reserves of the tracks from the current position, or from the target of a seek.
    private var supply: BufferedSupply {
        let now = parts.clock.now
        var supply = BufferedSupply(
            at: jump?.target ?? synchronizer.currentTime(), speed: speed, reserve: buffering.reserve, end: statedEnd)
        if let audio, let renderer, !soundIsLost { add(audio, .sound, renderer, to: &supply, now) }
        for sound in addedSounds where !sound.isLost {
            if let pipeline = sound.pipeline { add(pipeline, sound.walker, sound.renderer, to: &supply, now) }
        }
        if let video, let report = report(of: video, .picture) {
            supply.add(
                BufferedSupply.Track(
                    handedUntil: report.handedUntil, readUntil: report.readUntil,
                    isWaitingForSource: report.isWaitingForSource(at: now), isSated: report.isSated,
                    isSilent: report.isSilent(for: Self.maxSilence, at: now), margin: Self.pictureMargin))
        }
        return supply
    }

    private func add(
        _ pipeline: TrackPipeline, _ walker: SharedPlaybackList.Walker, _ renderer: AudioRenderer,
        to supply: inout BufferedSupply, _ now: HostInstant
    ) {
        guard let report = report(of: pipeline, walker) else { return }
        let progress = renderer.progress
        guard !progress.hasFailed else { return }
        let isWaiting = report.isWaitingForSource(at: now)
        var (handed, margin) = (progress.enqueuedUntil, Self.maxSoundLead / 2)
        if isWaiting {
            // Audio in converters plays only when more follows.
            handed = progress.acceptedUntil
            margin = min(max(renderer.startLead, Self.minSoundLead), Self.maxSoundLead) + Self.soundMargin
        }
        supply.add(
            BufferedSupply.Track(
                handedUntil: handed, readUntil: report.readUntil, isWaitingForSource: isWaiting,
                isSilent: report.isSilent(for: Self.maxSilence, at: now), margin: margin),
            delay: renderer.delay)
    }

    /// Position on the timeline up to which every track has been read of which more is due, or, where none is, the end of
    /// the last one; nil while one of them has nothing.
    var readUntil: MediaTime? {
        var (least, last) = (MediaTime?.none, MediaTime?.none)
        var isKnown = true
        func add(_ pipeline: TrackPipeline?, _ walker: SharedPlaybackList.Walker, _ position: MediaTime?) {
            guard let pipeline else { return }
            if let position { last = max(last ?? position, position) }
            guard report(of: pipeline, walker) != nil else { return }
            if let position { least = min(least ?? position, position) } else { isKnown = false }
        }
        if !soundIsLost { add(audio, .sound, renderer?.progress.enqueuedUntil) }
        for sound in addedSounds where !sound.isLost {
            add(sound.pipeline, sound.walker, sound.renderer.progress.enqueuedUntil)
        }
        add(video, .picture, video?.intake?.report.readUntil)
        return isKnown ? least ?? last : nil
    }

    /// Returns the reading state of a track; nil if no more of it is due.
    private func report(of pipeline: TrackPipeline, _ walker: SharedPlaybackList.Walker) -> TrackIntake.Report? {
        guard let report = pipeline.intake?.report, !report.isExcused, !pipeline.status.hasEnded,
            !shared.isWaiting(walker)
        else { return nil }
        return report
    }

    /// The position on the timeline at which the last item is known to end.
    private var statedEnd: MediaTime? {
        let entries = list.entries
        guard entries.count == 1, let entry = entries.first,
            let end = entry.sectionEnd ?? entry.limit ?? entry.film.summary.duration
        else { return nil }
        return end + (entry.offset ?? .zero)
    }

    /// Whether audio is missing because its source has not delivered it.
    var isSoundAwaited: Bool {
        guard let audio, let report = report(of: audio, .sound) else { return false }
        return report.isWaitingForSource(at: parts.clock.now)
    }

    // MARK: Holding

    /// How long the engine's thread may wait before a track could underrun.
    var lookAfterSupply: Duration {
        guard let untilDry else { return .seconds(1) }
        return untilDry > .zero ? max(.milliseconds(5), untilDry) : .milliseconds(50)
    }

    /// Starts a hold before a track underruns because its source delivers nothing.
    func holdIfStarved() {
        untilDry = nil
        guard state.phase == .playing, jump == nil else { return }
        let supply = supply
        untilDry = supply.untilDry
        if supply.isStarved { hold() }
    }

    /// Holds the timeline until the tracks have a reserve. Media in outputs and renderers stays valid.
    func hold() {
        let now = parts.clock.now
        buffering.hold(at: now)
        synchronizer.setRate(0)
        let moment = synchronizer.timebase.snapshot.upcoming.mediaAnchor
        jump = Jump(
            target: moment, serial: serial, isExact: true, movesPicture: false, soundFollowsPicture: false, began: now,
            resumes: true, collects: true)
        progress.arm(true)
        state.position = max(.zero, moment - state.lineOffset)
        setReserve(from: moment)
        tell(share: supply.share)
        enter(.buffering)
    }

    /// Ends the hold if the reserve is complete.
    func continueHold() {
        guard var jump else { return }
        guard wantsPlay else {
            // `resume` starts another hold.
            self.jump = nil
            progress.arm(false)
            return enter(.paused)
        }
        guard hasCollected() else { return }
        (jump.collects, jump.began) = (false, parts.clock.now)
        self.jump = jump
        commandStart(of: &jump)
        continueJump()
    }

    /// Returns true if a start after a seek may proceed. If the source has proved slow, a reserve is required.
    func hasReserve(for jump: Jump) -> Bool {
        if !buffering.isHolding {
            guard isSlow(jump) else { return true }
            buffering.hold(at: parts.clock.now)
            setReserve(from: jump.target)
        }
        return hasCollected()
    }

    /// Ends the hold if the tracks have their reserve; otherwise reports the progress.
    private func hasCollected() -> Bool {
        let supply = supply
        var share = supply.share
        if share < 1, let others = supply.shareOfOthers, others >= 1, current?.film.lostServer == nil {
            excuseSilentTracks()
            share = others
        }
        guard buffering.release(share: share, at: parts.clock.now) else {
            tell(share: share)
            return false
        }
        setReserve(from: nil)
        return true
    }

    private func excuseSilentTracks() {
        let now = parts.clock.now
        for pipeline in pipelines where pipeline.intake?.report.isSilent(for: Self.maxSilence, at: now) == true {
            pipeline.intake?.excuse()
        }
    }

    /// Cancels the hold because of a seek, another item or the end.
    func abandonHold() {
        guard buffering.isHolding else { return }
        buffering.abandon(at: parts.clock.now)
        setReserve(from: nil)
    }

    private var pipelines: [TrackPipeline] { [audio, video].compactMap { $0 } + addedSounds.compactMap(\.pipeline) }

    /// Requests every track to read ahead as the hold requires, from a position; nil: only as the renderers require.
    func setReserve(from moment: MediaTime?) {
        // A margin, so that the last packet need not end exactly there.
        let position = moment?.advanced(by: buffering.reserve * (speed * 1.01))
        for pipeline in pipelines {
            pipeline.intake?.setReserve(until: position)
            pipeline.wake()
        }
    }

    // MARK: Reporting

    /// Returns true if a seek is reported as slow because a source delivers nothing.
    private func isSlow(_ jump: Jump) -> Bool {
        guard !jump.resumes, jump.appointment == nil, current?.film.summary.isLive == false,
            parts.clock.now - jump.began >= BufferingPolicy.slowJump
        else { return false }
        return supply.isWaitingForSource
    }

    /// Reports that a seek waits for its source; returns false if it does not.
    func tellIfSlow(_ jump: Jump) -> Bool {
        guard !jump.isCommanded, isSlow(jump) else { return false }
        let isThere = video.map { !jump.movesPicture || $0.status.seekSerial == jump.serial } ?? true
        tell(share: isThere ? supply.share : 0)
        return true
    }

    /// Reports the progress: “Waiting for the network: 34 %”.
    private func tell(share: Double) {
        let percent = min(99, max(0, Int(share * 100)))
        var reason = "Waiting for the \(isFromNetwork ? "network" : "file"): \(percent) %"
        if let server = current?.film.lostServer { reason = "Reconnecting to \(PrintableText.of(server))" }
        let progress = Double(percent) / 100
        guard state.reason != reason || state.bufferingProgress != progress else { return }
        var state = state
        (state.reason, state.bufferingProgress) = (reason, progress)
        self.state = state
    }

    private var isFromNetwork: Bool { current.map(Self.isFromNetwork) ?? false }

    private static func isFromNetwork(_ entry: PlaybackList.Entry) -> Bool {
        let address = entry.turn.opened.address
        return address.contains("://") && !address.lowercased().hasPrefix("file:")
    }
}
