internal import MediaCore
internal import SyncRendering

/// Holds film time while the source of a track delivers too slowly (`BufferingPolicy`), and reports why.
extension PlaybackEngine {
    /// A source that delivers nothing for so long, while the other tracks have their reserve, may hold nothing more of its track: containers
    /// other than MP4 do not state where a track ends.
    private static let maxSilence = Duration.seconds(30)
    /// What an output needs beyond its own lead, for threads that run late.
    private static let soundMargin = Duration.milliseconds(40)
    private static let minSoundLead = Duration.milliseconds(60)
    private static let maxSoundLead = Duration.milliseconds(500)
    /// About half a frame.
    private static let pictureMargin = Duration.milliseconds(20)

    // MARK: What there is

    /// What the tracks have in reserve, seen from where film time is, or where a jump leads.
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
            // What converters hold back is heard only when more comes.
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

    /// How a track is read; nil where nothing more of it is due.
    private func report(of pipeline: TrackPipeline, _ walker: SharedPlaybackList.Walker) -> TrackIntake.Report? {
        guard let report = pipeline.intake?.report, !report.isExcused, !pipeline.status.hasEnded,
            !shared.isWaiting(walker)
        else { return nil }
        return report
    }

    /// Position on the timeline where the last item of the list is known to end.
    private var statedEnd: MediaTime? {
        let entries = list.entries
        guard entries.count == 1, let entry = entries.first,
            let end = entry.sectionEnd ?? entry.limit ?? entry.film.summary.duration
        else { return nil }
        return end + (entry.offset ?? .zero)
    }

    /// Whether sound is missing because its source has not delivered it.
    var isSoundAwaited: Bool {
        guard let audio, let report = report(of: audio, .sound) else { return false }
        return report.isWaitingForSource(at: parts.clock.now)
    }

    // MARK: Holding

    /// How long the engine's thread may wait before a track could run dry.
    var lookAfterSupply: Duration {
        guard let untilDry else { return .seconds(1) }
        return untilDry > .zero ? max(.milliseconds(5), untilDry) : .milliseconds(50)
    }

    /// Holds film time before a track runs dry whose source delivers nothing.
    func holdIfStarved() {
        untilDry = nil
        guard state.phase == .playing, jump == nil else { return }
        let supply = supply
        untilDry = supply.untilDry
        if supply.isStarved { hold() }
    }

    /// Holds film time until the tracks have a reserve. What outputs and renderers have taken stays valid.
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

    /// Looks whether a hold can end.
    func continueHold() {
        guard var jump else { return }
        guard wantsPlay else {
            // `resume` holds again.
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

    /// Whether a start after a jump has what it needs: where the source turned out to be slow, a reserve.
    func hasReserve(for jump: Jump) -> Bool {
        if !buffering.isHolding {
            guard isSlow(jump) else { return true }
            buffering.hold(at: parts.clock.now)
            setReserve(from: jump.target)
        }
        return hasCollected()
    }

    /// Ends the hold where the tracks have their reserve; reports how far they are otherwise.
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

    /// A jump, a new film or the end replaces the hold.
    func abandonHold() {
        guard buffering.isHolding else { return }
        buffering.abandon(at: parts.clock.now)
        setReserve(from: nil)
    }

    private var pipelines: [TrackPipeline] { [audio, video].compactMap { $0 } + addedSounds.compactMap(\.pipeline) }

    /// Has every track read so far ahead of a position as the hold asks for; nil reads only what renderers want.
    func setReserve(from moment: MediaTime?) {
        // A little more, so that the last packet need not end exactly there.
        let position = moment?.advanced(by: buffering.reserve * (speed * 1.01))
        for pipeline in pipelines {
            pipeline.intake?.setReserve(until: position)
            pipeline.wake()
        }
    }

    // MARK: Reporting

    /// Whether a jump has taken so long that it is reported, because a source delivers nothing.
    private func isSlow(_ jump: Jump) -> Bool {
        guard !jump.resumes, jump.appointment == nil, current?.film.summary.isLive == false,
            parts.clock.now - jump.began >= BufferingPolicy.slowJump
        else { return false }
        return supply.isWaitingForSource
    }

    /// Reports that a jump waits for its source; false where it does not.
    func tellIfSlow(_ jump: Jump) -> Bool {
        guard !jump.isCommanded, isSlow(jump) else { return false }
        let isThere = video.map { !jump.movesPicture || $0.status.seekSerial == jump.serial } ?? true
        tell(share: isThere ? supply.share : 0)
        return true
    }

    /// “Waiting for the network: 34 %”
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
