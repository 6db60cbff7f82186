internal import MediaCore
internal import SyncRendering

/// Creation of the entries and of the pipelines that read them.
extension PlaybackEngine {
    /// Returns an entry for opened media according to the player's options; nil if it has no playable track.
    func entry(for turn: PlaybackList.Turn, _ media: PrefetchedMedia) -> PlaybackList.Entry? {
        let summary = media.film.summary
        var picture = options.playsVideo ? summary.track(.video, number: options.videoTrack) : nil
        if picture == nil, options.playsVideo, options.showsCoverArt, options.videoTrack == nil {
            let covers = summary.tracks.filter { $0.kind == .video && $0.isCoverArt }
            picture = covers.first { $0.isExternal == options.prefersExternalCovers } ?? covers.first
        }
        if turn.aside == nil, turn.itemPass == 0 { tellMissingTracks(in: summary) }
        let sound = renderer == nil ? nil : chosenAudioTrack(of: media.film)
        let isWhole = turn.aside == nil && turn.from == nil
        guard sound != nil || picture.map({ !$0.isCoverArt }) ?? false,
            !isWhole || startBehindEnd(of: media.film) == nil
        else { return nil }
        do {
            let words = subtitles?.wish.value.choice.track(
                in: summary, languages: subtitles?.wish.value.languages ?? [], beside: sound)
            let more = secondarySubtitles?.wish.value.choice.track(in: summary, languages: [], beside: sound)
            try media.reserve([picture, sound, words, more == words ? nil : more])
        } catch {
            // Reported when the track is opened.
        }
        // Additional tracks that cannot be reserved are silent.
        for track in Set(addedSounds.map { $0.choice.track(in: summary) }) where track != sound {
            // ignored: opening the track fails again when it is required, and is reported then.
            try? media.reserve([track])
        }
        var entry = PlaybackList.Entry(
            serial: shared.update { $0.newSerial() }, turn: turn, media: media, audioTrack: sound, videoTrack: picture,
            start: turn.aside == nil ? options.start?.moment(in: summary.duration) ?? .zero : .zero,
            end: turn.aside == nil ? options.end?.moment(in: summary.duration) : list.room(for: turn))
        if let place = turn.from { entry.begin(from: place, until: turn.until) }
        if summary.sharesReader, sound != nil, let picture, !picture.isCoverArt {
            // Shared readers cannot read ahead: the entry ends with its audio unless the input states the end of the
            // video.
            entry.pictureEnd = picture.duration.map { .at((picture.start ?? .zero) + $0) } ?? .none
        }
        return entry
    }

    /// Reports video and subtitle tracks selected by number that the media does not have.
    private func tellMissingTracks(in summary: MediaSummary) {
        let hasPicture = summary.tracks.contains { $0.kind == .video && !$0.isCoverArt }
        guard options.playsVideo, hasPicture else { return }
        if let number = options.videoTrack, summary.track(.video, number: number) == nil {
            news(.message("This film has no picture track \(number); it plays without a picture."))
        }
        for choice in [options.subtitles, options.secondarySubtitles] {
            guard case .number(let number) = choice, summary.subtitleTrack(number: number) == nil else { continue }
            news(.message("This film has no subtitles \(number); it plays without them."))
        }
    }

    /// Returns the audio track selected by the options; reports a missing one.
    func chosenAudioTrack(of film: any MediaSource) -> Track? {
        if let number = options.audioTrack {
            if let track = film.summary.track(.audio, number: number) { return track }
            news(.message("This film has no sound track \(number); the first suitable one plays instead."))
        }
        return film.summary.track(.audio, languages: options.audioLanguages)
    }

    /// Creates the missing pipelines for an entry.
    ///
    /// - Parameter before: The entry with whose successor they start; nil: they start with a seek.
    func addPipelines(for entry: PlaybackList.Entry, behind before: PlaybackList.Entry?) {
        if let track = entry.videoTrack, video == nil { addPicture(of: entry, track, behind: before) }
        if let track = entry.audioTrack, audio == nil, let renderer {
            addSound(of: entry, track, behind: before, to: renderer)
        }
        addPipelinesToSounds(behind: before ?? entry)
        addPipelineToSubtitles(behind: before ?? entry, of: [entry])
    }

    private func addPicture(of entry: PlaybackList.Entry, _ track: Track, behind before: PlaybackList.Entry?) {
        let setting = VideoStage.Setting(
            list: shared, layer: layer, timebase: synchronizer.timebase, events: events, progress: progress,
            intake: TrackIntake(clock: parts.clock),
            open: { [parts] (media, track) throws(MediaError) in try parts.pictures(of: media, track) },
            tell: { [mailbox] sentence in mailbox.post { $0.news(.message(sentence)) } })
        let wake: @Sendable () -> Void = { [mailbox] in mailbox.signal.raise() }
        let pipeline: TrackPipeline
        if let before {
            pipeline = TrackPipeline(stage: VideoStage(setting, behind: before), onNews: wake)
        } else {
            do throws(MediaError) {
                pipeline = TrackPipeline(
                    stage: VideoStage(setting, pictures: try parts.pictures(of: entry.media, track)), onNews: wake)
            } catch {
                shared.update { list in
                    list.change(entry.serial) { ($0.videoTrack, $0.pictureEnd) = (nil, .none) }
                }
                return news(.message(Sentences.joined(error.message, "The sound plays without a picture.")))
            }
        }
        video = pipeline
        startPipeline(pipeline, "video")
        if let error = pipeline.refusal {
            (video, exhaustion) = (nil, error)
            shared.update { list in
                list.change(entry.serial) { ($0.videoTrack, $0.pictureEnd) = (nil, .none) }
            }
            return news(.message(Sentences.joined(error.message, "The sound plays without a picture.")))
        }
        if before != nil { pipeline.goOn() }
    }

    private func addSound(
        of entry: PlaybackList.Entry, _ track: Track, behind before: PlaybackList.Entry?, to renderer: AudioRenderer
    ) {
        let wake: @Sendable () -> Void = { [mailbox] in mailbox.signal.raise() }
        let pipeline: TrackPipeline
        if let before {
            pipeline = TrackPipeline(
                stage: AudioStage(
                    list: shared, renderer: renderer, replayGain: options.replayGain, behind: before,
                    intake: TrackIntake(clock: parts.clock)),
                onNews: wake)
        } else {
            do throws(MediaError) {
                let source = try entry.media.source(for: track)
                pipeline = TrackPipeline(
                    stage: AudioStage(
                        list: shared, renderer: renderer, replayGain: options.replayGain, entry: entry,
                        source: source, intake: TrackIntake(clock: parts.clock)),
                    onNews: wake)
            } catch {
                shared.update { list in list.change(entry.serial) { ($0.audioTrack, $0.soundEnd) = (nil, .none) } }
                return news(.message(Sentences.joined(error.message, "The picture plays without sound.")))
            }
        }
        audio = pipeline
        // Starts wait for this renderer from now on. Adding it twice has no effect.
        if let refusal = synchronizer.addRenderer(renderer), refusal.code == .exhausted {
            return giveUpSound(of: entry, MediaError(.exhausted, refusal.message))
        }
        startPipeline(pipeline, "audio reader")
        if let error = pipeline.refusal { return giveUpSound(of: entry, error) }
        if before != nil { pipeline.goOn() }
    }

    /// Plays an entry without audio, because no thread is available.
    private func giveUpSound(of entry: PlaybackList.Entry, _ error: MediaError) {
        shared.update { list in list.change(entry.serial) { ($0.audioTrack, $0.soundEnd) = (nil, .none) } }
        (audio, exhaustion) = (nil, error)
        news(.message(Sentences.joined(error.message, "The picture plays without sound.")))
    }

    func wakePipelines() {
        if shared.isWaiting(.sound) { audio?.wake() }
        if shared.isWaiting(.picture) { video?.wake() }
        wakeSounds()
        wakeSubtitles()
    }
}
