internal import MediaCore
internal import SyncRendering

/// Measures how far the tracks have been read. Confined to the player's thread.
struct TrackSupply {
    /// A source that delivers nothing for this long, while other tracks have their reserve, may have ended. Containers
    /// other than MP4 do not state the end of a track.
    private static let maxSilence = Duration.seconds(30)
    /// The margin beyond an output's lead for late threads.
    private static let audioMargin = Duration.milliseconds(40)
    private static let minAudioLead = Duration.milliseconds(60)
    private static let maxAudioLead = Duration.milliseconds(500)
    /// About half a frame.
    private static let frameMargin = Duration.milliseconds(20)

    private let context: PlayerContext
    private let tracks: PlaybackTracks

    init(_ context: PlayerContext, _ tracks: PlaybackTracks) { (self.context, self.tracks) = (context, tracks) }

    /// Publishes how far the tracks have been read, and how far the output holds the main audio.
    func publish(to board: PlayerStatePublisher) {
        let (sound, current) = (tracks.renderer?.progress, context.list.current)
        board.update(
            loadedUntil: readUntil, handedUntil: sound?.acceptedUntil, audioReadUntil: sound?.enqueuedUntil,
            audioIsRead: tracks.isAudioRead, videoIsRead: tracks.isVideoRead,
            audioEnd: current?.audioEndOnTimeline, audioLosses: current?.audioLosses ?? [],
            readAhead: current?.film.readAhead)
        adoptFrameSize()
    }

    /// Adopts the size of the displayed frames, which may change within a track.
    private func adoptFrameSize() {
        let state = context.status.state
        guard state.hasVideo, let size = tracks.layer.shownSize, size != BlankFrame.shared.size,
            let format = state.displayedVideoFormat, format.size != size
        else { return }
        let fresh = VideoFormat(
            parameters: format.parameters, size: size, pixelAspect: format.pixelAspect, rotation: format.rotation,
            color: format.color, frameRate: format.frameRate, peakLuminance: format.peakLuminance)
        context.status.change { $0.displayedVideoFormat = fresh }
    }

    /// Returns the reserves of the tracks from a position on the timeline on.
    ///
    /// - Parameter reserve: The host time that each track's media must last when playback continues.
    func reserves(at moment: MediaTime, speed: Double, reserve: Duration) -> BufferedSupply {
        let now = context.clock.now
        var supply = BufferedSupply(at: moment, speed: speed, reserve: reserve, end: statedEnd)
        if let audio = tracks.audio, let renderer = tracks.renderer, tracks.mayHoldForAudio(at: moment) {
            add(audio, cursor: .audio, renderer: renderer, to: &supply, at: now)
        }
        for sound in tracks.added.all where sound.mayHold(at: moment) {
            if let pipeline = sound.pipeline {
                add(pipeline, cursor: sound.cursor, renderer: sound.renderer, to: &supply, at: now)
            }
        }
        if let video = tracks.video, let report = report(of: video, .video) {
            supply.add(
                BufferedSupply.Track(
                    handedUntil: report.handedUntil, readUntil: report.readUntil,
                    isWaitingForSource: report.isWaitingForSource(at: now), isSated: report.isSated,
                    isSilent: report.isSilent(for: Self.maxSilence, at: now), margin: Self.frameMargin))
        }
        return supply
    }

    private func add(
        _ pipeline: TrackPipeline, cursor: SharedPlaybackList.TrackCursor, renderer: AudioRenderer,
        to supply: inout BufferedSupply, at now: HostInstant
    ) {
        guard let report = report(of: pipeline, cursor) else { return }
        let progress = renderer.progress
        guard !progress.hasFailed else { return }
        let isWaiting = report.isWaitingForSource(at: now)
        var (handed, margin) = (progress.enqueuedUntil, Self.maxAudioLead / 2)
        if isWaiting {
            // Audio in converters plays only when more follows.
            handed = progress.acceptedUntil
            margin = min(max(renderer.startLead, Self.minAudioLead), Self.maxAudioLead) + Self.audioMargin
        }
        supply.add(
            BufferedSupply.Track(
                handedUntil: handed, readUntil: report.readUntil, isWaitingForSource: isWaiting,
                isSilent: report.isSilent(for: Self.maxSilence, at: now), margin: margin),
            delay: renderer.delay)
    }

    /// Position on the timeline up to which every track has been read of which more is due, or, where none is, the end
    /// of the last one; nil while one of them has nothing.
    var readUntil: MediaTime? {
        var (earliest, last) = (MediaTime?.none, MediaTime?.none)
        var isKnown = true
        func add(_ pipeline: TrackPipeline?, _ cursor: SharedPlaybackList.TrackCursor, _ position: MediaTime?) {
            guard let pipeline else { return }
            if let position { last = max(last ?? position, position) }
            guard report(of: pipeline, cursor) != nil else { return }
            if let position { earliest = min(earliest ?? position, position) } else { isKnown = false }
        }
        if !tracks.isAudioLost { add(tracks.audio, .audio, tracks.renderer?.progress.enqueuedUntil) }
        for sound in tracks.added.all where !sound.isLost {
            add(sound.pipeline, sound.cursor, sound.renderer.progress.enqueuedUntil)
        }
        add(tracks.video, .video, tracks.video?.intake?.report.readUntil)
        return isKnown ? earliest ?? last : nil
    }

    /// Whether audio is missing because its source has not delivered it.
    var isAudioAwaited: Bool {
        guard let audio = tracks.audio, let report = report(of: audio, .audio) else { return false }
        return report.isWaitingForSource(at: context.clock.now)
    }

    /// Excludes silent tracks from holds until their sources deliver again.
    func excuseSilentTracks() {
        let now = context.clock.now
        tracks.forEachPipeline { pipeline in
            if pipeline.intake?.report.isSilent(for: Self.maxSilence, at: now) == true { pipeline.intake?.excuse() }
        }
    }

    /// Returns the reading state of a track; nil if no more of it is due.
    private func report(of pipeline: TrackPipeline, _ cursor: SharedPlaybackList.TrackCursor) -> TrackIntake.Report? {
        guard let report = pipeline.intake?.report, !report.isExcused, !pipeline.status.hasEnded,
            !context.list.isWaiting(cursor)
        else { return nil }
        return report
    }

    /// The position on the timeline at which the last item is known to end.
    private var statedEnd: MediaTime? {
        let entries = context.list.list.entries
        guard entries.count == 1, let entry = entries.first,
            let end = entry.sectionEnd ?? entry.limit ?? entry.film.summary.duration
        else { return nil }
        return end + (entry.offset ?? .zero)
    }
}
