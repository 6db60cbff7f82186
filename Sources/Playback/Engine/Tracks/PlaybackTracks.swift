internal import MediaCore
internal import SyncRendering

/// Owns the renderers and the pipelines that read the entries of the list: video, main and additional audio, subtitles.
/// Confined to the player's thread.
final class PlaybackTracks {
    /// How long after its time a frame is dropped if no screen takes it; an application may take frames itself.
    private static let unseenDelay = MediaTime(value: 1, timescale: 4)
    /// Without a successor, buffered audio is drained from the converters this long before it plays.
    private static let tailLead: Duration = .milliseconds(500)
    /// Without a successor, the decoder is drained when the layer has this number of frames left.
    private static let tailFrames = 2
    /// How long buffered media in decoders is awaited before they are drained.
    private static let tailTimeout: Duration = .seconds(2)

    /// The renderer of the main audio track; nil if no audio is played.
    let renderer: AudioRenderer?
    let layer: DisplayLayer
    let added: AddedAudioTracks
    let subtitles: SubtitleTracks
    private(set) var audio: TrackPipeline?
    private(set) var video: TrackPipeline?
    /// Whether the main audio is lost for this item; video continues.
    private(set) var isAudioLost = false
    private var catchUp = CatchUp()
    /// The error of a track of the last opened item for which no thread was available.
    private(set) var exhaustion: MediaError?
    private let context: PlayerContext

    /// Creates the tracks without pipelines, and adds the layer to the synchronizer.
    init(_ context: PlayerContext, _ layer: DisplayLayer) {
        (self.context, self.layer) = (context, layer)
        let playsAudio = context.options.playsAudio && context.components.audioOutput != nil
        renderer =
            playsAudio
            ? AudioRenderer(
                codecs: context.components.codecs, contentKind: context.options.session.contentKind,
                events: context.events) : nil
        added = AddedAudioTracks(context)
        subtitles = SubtitleTracks(context, over: layer)
        renderer?.onEvent(context.handler { $0.audioFailed($1, output: $2) })
        renderer?.onCommand(context.commandHandler)
        renderer?.onAutomaticFlush { [mailbox = context.mailbox] _ in mailbox.post { $0.tracks.audioHasRecovered() } }
        context.synchronizer.addRenderer(layer)
    }

    // MARK: State

    private var list: SharedPlaybackList { context.list }

    /// Whether the current entry has playable audio.
    var expectsAudio: Bool { renderer != nil && audio != nil && !isAudioLost && list.current?.audioTrack != nil }
    /// The track that determines which entry plays.
    var leading: SharedPlaybackList.TrackCursor { audio != nil && !isAudioLost ? .audio : .video }
    /// Whether the main audio was read to its end or waits for the next entry.
    var isAudioRead: Bool { audio?.status.hasEnded ?? true || list.isWaiting(.audio) }
    /// Whether the video was read to its end or waits for the next entry. False while it waits at a passed entry.
    var isVideoRead: Bool {
        guard let video, !video.status.hasEnded else { return true }
        return list.isWaiting(.video) && (list.current.map { list.hasEntered($0.serial, .video) } ?? true)
    }
    /// Whether the main audio or the video waits for the next entry.
    private var isWaitingForSuccessor: Bool { list.isWaiting(.audio) || list.isWaiting(.video) }

    /// Marks the main audio as lost; returns false if it already was.
    func loseAudio() -> Bool {
        defer { isAudioLost = true }
        return !isAudioLost
    }

    /// Retries lost audio.
    func retryAudio() { isAudioLost = false }

    /// Forgets the failures of the preceding item.
    func forgetFailures() { (isAudioLost, exhaustion) = (false, nil) }

    /// Resets the loss of audio after a lost output has recovered with its retained audio.
    func audioHasRecovered() { if renderer?.progress.hasFailed == false { isAudioLost = false } }

    /// The end of the current entry on the timeline, as currently known. It is the start of the next entry, the later
    /// end of both tracks, or the requested end.
    var entryEnd: MediaTime? {
        let (entries, status) = (list.list.entries, context.status)
        if entries.count > 1, let begin = entries[1].begin { return begin }
        var end = entries.first.flatMap { ownEnd(of: $0, speed: status.state.speed) }
        if entries.first?.listPosition.interstitialPart == nil,
            let asked = context.options.end?.mediaTime(in: status.state.duration)
        {
            let asked = asked + status.state.timelineOffset
            end = min(end ?? asked, asked)
        }
        if let entry = entries.first, entry.setEnd != nil, let gaplessBoundary = entry.gaplessBoundary {
            end = min(end ?? gaplessBoundary, gaplessBoundary)
        }
        return end
    }

    /// How long no work is due during playback without a signal.
    ///
    /// - Parameter limit: A position on the timeline, if the current entry may end there.
    func restingTime(until limit: MediaTime?) -> Duration {
        let now = context.playhead
        // The end of media that was read completely is known before it has played.
        var next = entryEnd ?? list.current?.gaplessBoundary.flatMap { $0 > now ? $0 : nil }
        if let limit { next = min(next ?? limit, limit) }
        let remaining = (next.map { $0 - now } ?? MediaTime(value: 1, timescale: 4)).duration
        // A waiting track is polled, so that its item ends in time.
        let isPolled = isWaitingForSuccessor || isUnseen
        return min(.milliseconds(isPolled ? 50 : 250), max(.milliseconds(2), remaining))
    }

    /// The position at which both tracks of an entry have ended, including a delay of the audio; nil while one of them
    /// has not.
    private func ownEnd(of entry: PlaybackList.ScheduledItem, speed: Double) -> MediaTime? {
        var end: MediaTime?
        if let renderer, audio != nil, entry.audioTrack != nil, !isAudioLost {
            guard renderer.progress.isDrained else { return nil }
            let delay = max(0, Double(renderer.delay.wholeNanoseconds) * speed)
            end = renderer.progress.acceptedUntil.map { $0 + MediaTime(nanoseconds: Int64(delay)) }
        }
        if video != nil, entry.videoTrack != nil {
            guard layer.isDrained else { return nil }
            if let shown = layer.shownEnd { end = max(end ?? shown, shown) }
        }
        return end ?? context.playhead
    }

    /// The frames that steps while paused move through.
    var frames: FrameSteps.Frames {
        FrameSteps.Frames(
            shown: layer.shownTime, next: layer.nextTime, awaitsFirst: layer.awaitsFirst, isDrained: layer.isDrained)
    }

    /// Whether no screen takes the frames during playback.
    var isUnseen: Bool { video != nil && context.status.state.phase == .playing && !layer.hasScreen }

    /// Drops frames that no screen takes, so that playback continues and ends.
    func dropUnseenFrames() {
        guard isUnseen else { return }
        let time = context.playhead - Self.unseenDelay
        if let next = layer.nextTime, next <= time { _ = layer.dequeueFrame(upTo: time) }
    }

    // MARK: Reading

    /// Returns true if main audio of an entry was enqueued. A seek that its thread has not executed yet drops it: a
    /// cut would follow that seek and end the current entry.
    func hasAudio(of serial: Int) -> Bool { list.hasEntered(serial, .audio) && audio?.isSeekPending == false }

    /// Returns true if the current entry was read to its end from its start and neither audio nor video was decoded.
    func hasFoundNothing(since seek: PendingSeek) -> Bool {
        let entries = list.list.entries
        // A removed entry may end at its start, before anything of it is decoded.
        guard let entry = entries.first, !entry.isCut, entries.count < 2 || entries[1].isLoop, seek.movesVideo,
            seek.target == entry.begin
        else { return false }
        var tracks = 0
        if let audio, let renderer, entry.audioTrack != nil {
            // The read state is queried first: media read meanwhile counts.
            guard hasRead(audio, .audio, since: seek) else { return false }
            let progress = renderer.progress
            guard !isAudioLost, !progress.hasFailed, progress.acceptedUntil == nil else { return false }
            if progress.enqueuedUntil != nil, !progress.isDrained {
                if list.isWaiting(.audio), context.clock.now - seek.began > Self.tailTimeout {
                    list.end(.audio)
                    audio.wake()
                }
                return false
            }
            tracks += 1
        }
        if let video, entry.videoTrack != nil {
            guard hasRead(video, .video, since: seek), layer.count == 0, layer.shownTime == nil else { return false }
            tracks += 1
        }
        return tracks > 0
    }

    /// Returns true if the main audio was read to the end of the current entry since a seek.
    func hasReadAudio(since seek: PendingSeek) -> Bool { audio.map { hasRead($0, .audio, since: seek) } ?? false }

    private func hasRead(
        _ pipeline: TrackPipeline, _ cursor: SharedPlaybackList.TrackCursor, since seek: PendingSeek
    ) -> Bool {
        let status = pipeline.status
        guard status.seekSerial == seek.serial, let entry = list.current else { return false }
        return status.hasEnded || list.isWaiting(cursor) || list.hasEntered(entry.serial + 1, cursor)
    }

    // MARK: Pipelines

    /// Creates the missing pipelines for an entry.
    ///
    /// - Parameter before: The entry with whose successor they start; nil: they start with a seek.
    func addPipelines(for entry: PlaybackList.ScheduledItem, behind before: PlaybackList.ScheduledItem?) {
        if let track = entry.videoTrack, video == nil { addVideo(of: entry, track, behind: before) }
        if let track = entry.audioTrack, audio == nil, let renderer {
            addAudio(of: entry, track, behind: before, to: renderer)
        }
        added.addPipelines(behind: before ?? entry)
        subtitles.addPipelines(behind: before ?? entry, of: [entry])
    }

    private func addVideo(
        of entry: PlaybackList.ScheduledItem, _ track: Track, behind before: PlaybackList.ScheduledItem?
    ) {
        let setting = VideoStage.Setting(
            list: list, layer: layer, progress: context.progress, intake: TrackIntake(clock: context.clock),
            open: { [parts = context.components] (media, track) throws(MediaError) in
                try parts.videoDecoder(of: media, track)
            },
            tell: { [mailbox = context.mailbox] sentence in mailbox.post { $0.status.message(sentence) } })
        let pipeline: TrackPipeline
        if let before {
            pipeline = context.pipeline(VideoStage(setting, behind: before))
        } else {
            do throws(MediaError) {
                pipeline = context.pipeline(
                    VideoStage(setting, reader: try context.components.videoDecoder(of: entry.media, track)))
            } catch {
                return abandonVideo(of: entry, error)
            }
        }
        video = pipeline
        context.start(pipeline, "video")
        if let error = pipeline.refusal {
            (video, exhaustion) = (nil, error)
            return abandonVideo(of: entry, error)
        }
        if before != nil { pipeline.resume() }
    }

    private func abandonVideo(of entry: PlaybackList.ScheduledItem, _ error: MediaError) {
        list.update { list in list.change(entry.serial) { ($0.videoTrack, $0.videoEnd) = (nil, .none) } }
        context.status.message(Sentences.joined(error.message, "The sound plays without a picture."))
    }

    private func addAudio(
        of entry: PlaybackList.ScheduledItem, _ track: Track, behind before: PlaybackList.ScheduledItem?,
        to renderer: AudioRenderer
    ) {
        let intake = TrackIntake(clock: context.clock)
        let check = context.options.checksPackets ? PacketCheck(context.components.codecs) : nil
        let pipeline: TrackPipeline
        if let before {
            pipeline = context.pipeline(
                AudioStage(
                    list: list, renderer: renderer, replayGain: context.options.replayGain, behind: before,
                    intake: intake, check: check))
        } else {
            do throws(MediaError) {
                let source = try entry.media.source(for: track)
                pipeline = context.pipeline(
                    AudioStage(
                        list: list, renderer: renderer, replayGain: context.options.replayGain, entry: entry,
                        source: source, intake: intake, check: check))
            } catch {
                return abandonAudio(of: entry, error)
            }
        }
        audio = pipeline
        // Starts wait for this renderer from now on. Adding it twice has no effect.
        if let refusal = context.synchronizer.addRenderer(renderer), refusal.code == .exhausted {
            (audio, exhaustion) = (nil, MediaError(.exhausted, refusal.message))
            return abandonAudio(of: entry, MediaError(.exhausted, refusal.message))
        }
        context.start(pipeline, "audio reader")
        if let error = pipeline.refusal {
            (audio, exhaustion) = (nil, error)
            return abandonAudio(of: entry, error)
        }
        if before != nil { pipeline.resume() }
    }

    private func abandonAudio(of entry: PlaybackList.ScheduledItem, _ error: MediaError) {
        list.update { list in list.change(entry.serial) { ($0.audioTrack, $0.audioEnd) = (nil, .none) } }
        context.status.message(Sentences.joined(error.message, "The picture plays without sound."))
    }

    /// Wakes the tracks that wait for the next entry.
    func wakeWaiting() {
        if list.isWaiting(.audio) { audio?.wake() }
        if list.isWaiting(.video) { video?.wake() }
        added.wakeWaiting()
        subtitles.wakeWaiting()
    }

    /// Continues tracks that had ended, with a further entry.
    func continueAfterEnd() {
        audio?.resume()
        video?.resume()
        added.continueAfterEnd()
        subtitles.continueAfterEnd()
    }

    /// Sends all tracks except the video to a position.
    func seekAudio(to target: TrackTarget) {
        catchUp = CatchUp()
        audio?.seek(to: target.time, aim: .exact, serial: target.serial)
        added.seek(to: target)
    }

    /// Sends the main audio to a position during playback, while the other tracks play on.
    func seekMainAudio(to target: TrackTarget) {
        catchUp = CatchUp(isNeeded: target.isAlone)
        audio?.seek(to: target.time, aim: target.aim, serial: target.serial)
    }

    /// Whether the timeline may be held when the source of the main audio delivers nothing.
    func mayHoldForAudio(at time: MediaTime) -> Bool {
        guard let renderer, !isAudioLost else { return false }
        return !catchUp.isUnderWay(audio, renderer, at: time)
    }

    /// Removes an obsolete entry from the added audio tracks that have read it, and sends subtitles that have to the
    /// current position.
    ///
    /// - Parameters:
    ///   - kept: The last entry that remains.
    ///   - time: Its end on the timeline; nil if unknown.
    ///   - shortens: Whether a sound that has enqueued beyond this time has read it as well.
    func withdraw(
        _ serial: Int, after kept: Int, at time: MediaTime?, shortens: Bool = false, target: TrackTarget
    ) {
        added.withdraw(serial, after: kept, at: time, shortens: shortens, target: target)
        subtitles.reread(from: target, thatEntered: serial)
    }

    /// How far ahead of the playhead the added tracks' outputs can remove audio.
    ///
    /// - Parameter limit: Added audio tracks that need longer are interrupted instead.
    func flushLead(limit: Duration) -> Duration {
        let added = added.all.filter { !$0.isLost }.compactMap(\.renderer.partialFlushLead).filter { $0 < limit }
        return max(renderer?.partialFlushLead ?? .zero, added.max() ?? .zero)
    }

    /// The earliest start that the outputs can meet, without those that starts do not wait for.
    var earliestStart: HostInstant? {
        ([renderer].compactMap { $0 } + added.all.filter { !$0.isLate }.map(\.renderer)).compactMap(\.earliestStart)
            .max()
    }

    /// Drains the tracks whose successor is not ready in time during playback.
    func drainTails() {
        added.drainTails(isStarting: false)
        if list.isWaiting(.audio), let renderer, !renderer.progress.isDrained,
            let until = renderer.progress.enqueuedUntil, (until - context.playhead).duration < Self.tailLead
        {
            list.end(.audio)
            audio?.wake()
        }
        if list.isWaiting(.video), layer.count <= Self.tailFrames, !layer.isDrained {
            list.end(.video)
            video?.wake()
        }
    }

    func setDeinterlacing(_ mode: Deinterlacing) {
        context.components.deinterlacing.mode = mode
        context.status.change { $0.deinterlacing = mode }
    }

    /// Requests every track to read ahead up to a position; nil: only as the renderers require.
    func setReserve(until position: MediaTime?) {
        forEachPipeline { pipeline in
            pipeline.intake?.setReserve(until: position)
            pipeline.wake()
        }
    }

    /// Calls a function with the pipelines that playback waits for.
    func forEachPipeline(_ body: (TrackPipeline) -> Void) {
        if let audio { body(audio) }
        if let video { body(video) }
        for sound in added.all { if let pipeline = sound.pipeline { body(pipeline) } }
    }

    /// Stops the pipelines; blocks until their threads have ended, see `TrackPipeline.stop`.
    func stop() {
        // All of them first: each may be blocked in a read of the same file.
        forEachPipeline { $0.cancel() }
        subtitles.cancel()
        audio?.stop()
        video?.stop()
        added.close()
        subtitles.close()
        (audio, video) = (nil, nil)
    }

    /// Removes all media from the main renderers.
    func flush() {
        renderer?.flush()
        layer.flush()
        // Until a pipeline requests media again, no start waits for the renderers.
        renderer?.stopRequestingMediaData()
        layer.stopRequestingMediaData()
    }

    /// Removes the renderers from the synchronizer and ends their threads.
    func shutDown() {
        context.synchronizer.removeRenderer(layer, completion: nil)
        renderer?.invalidate()
        for sound in added.all { sound.renderer.invalidate() }
        subtitles.shutDown()
    }
}
