internal import MediaCore
internal import SyncRendering

/// How one film follows another: links of the chain, and the pipelines that walk along it.
extension PlayerCore {
    // MARK: Links

    /// One playing of a film by the player's options; nil when it holds nothing that may be played.
    func link(to film: any MediaSource, title: String) -> FilmLink? {
        let summary = film.summary
        let picture = options.playsVideo ? summary.track(.video, number: options.videoTrack) : nil
        let sound = renderer == nil ? nil : chosenAudioTrack(of: film)
        guard picture != nil || sound != nil, startBehindEnd(of: film) == nil else { return nil }
        let end = options.end?.moment(in: summary.duration)
        var link = FilmLink(
            serial: chain.newSerial(), film: film, title: summary.title ?? title, audioTrack: sound,
            videoTrack: picture, start: options.start?.moment(in: summary.duration) ?? .zero, end: end)
        link.loopsLeft = options.loopFile
        return link
    }

    private func chosenAudioTrack(of film: any MediaSource) -> Track? {
        if let number = options.audioTrack {
            if let track = film.summary.track(.audio, number: number) { return track }
            news(.message("This film has no sound track \(number); the first that fits plays instead."))
        }
        return film.summary.track(.audio, languages: options.audioLanguages)
    }

    /// Makes the pipelines that a link needs and that are not there yet.
    ///
    /// - Parameter before: the link whose successor they begin with; nil begins with a jump.
    func addPipelines(for link: FilmLink, behind before: FilmLink?) {
        if let track = link.videoTrack, video == nil { addPicture(of: link, track, behind: before) }
        if let track = link.audioTrack, audio == nil, let renderer {
            addSound(of: link, track, behind: before, to: renderer)
        }
    }

    private func addPicture(of link: FilmLink, _ track: Track, behind before: FilmLink?) {
        let setting = VideoStage.Setting(
            chain: chain, layer: layer, timebase: synchronizer.timebase, events: events, progress: progress,
            open: { [parts] (film, track) throws(MediaError) in try parts.pictures(of: film, track) })
        let wake: @Sendable () -> Void = { [mailbox] in mailbox.signal.raise() }
        let pipeline: TrackPipeline
        if let before {
            pipeline = TrackPipeline(stage: VideoStage(setting, behind: before), onNews: wake)
        } else {
            do throws(MediaError) {
                pipeline = TrackPipeline(
                    stage: VideoStage(setting, pictures: try parts.pictures(of: link.film, track)), onNews: wake)
            } catch {
                chain.leaveOutPictures(of: link.serial)
                return news(.message(Sentences.joined(error.message, "The sound plays without a picture.")))
            }
        }
        video = pipeline
        mailbox.setPipelines(audio: audio, video: pipeline)
        startPipeline(pipeline, "video")
        if before != nil { pipeline.goOn() }
    }

    private func addSound(of link: FilmLink, _ track: Track, behind before: FilmLink?, to renderer: AudioRenderer) {
        let wake: @Sendable () -> Void = { [mailbox] in mailbox.signal.raise() }
        let pipeline: TrackPipeline
        if let before {
            pipeline = TrackPipeline(
                stage: AudioStage(chain: chain, renderer: renderer, behind: before), onNews: wake)
        } else {
            do throws(MediaError) {
                let source = try link.film.source(for: track)
                pipeline = TrackPipeline(
                    stage: AudioStage(chain: chain, renderer: renderer, link: link, source: source), onNews: wake)
            } catch {
                chain.leaveOutSound(of: link.serial)
                return news(.message(Sentences.joined(error.message, "The picture plays without sound.")))
            }
        }
        audio = pipeline
        mailbox.setPipelines(audio: pipeline, video: video)
        startPipeline(pipeline, "audio reader")
        if before != nil { pipeline.goOn() }
    }

    /// Tells of the film that is perceived.
    func describeCurrent() {
        guard let link = chain.current else { return }
        var state = self.state
        state.title = link.title
        state.duration = link.film.summary.duration
        state.hasVideo = link.videoTrack != nil
        state.pictureFormat = link.videoTrack?.videoFormat
        state.hasAudio = link.audioTrack != nil
        state.audioRoute = state.hasAudio ? renderer?.routeName : nil
        state.lineOffset = link.offset ?? .zero
        self.state = state
    }

    /// The current film's own time is the line's from here on, and nothing is laid out behind it.
    func rebase() {
        abandonCut()
        ahead.isFindingEnd = false
        ahead.pictures = nil
        chain.rebase()
        state.lineOffset = .zero
    }

    /// Packets that pass a speaker untouched cannot be joined to the sample.
    func choosePassThrough() {
        let follows = options.expectsMore || !upcoming.isEmpty || chain.current?.loopsLeft.next != nil
        renderer?.allowsPassThrough = !follows
        (parts.audioOutput as? OutputGroup)?.allowsPassThrough = !follows
    }

    // MARK: Joints

    /// The playhead has come to the next film: everything that is shown speaks of that one from here on.
    func passJoints() {
        guard jump == nil, state.phase == .playing || state.phase == .paused else { return }
        while let next = chain.second, let begin = next.begin, synchronizer.currentTime >= begin, isUnderWay(next) {
            enter(next)
            // Another film is a reason to try again.
            let triesAgain = soundIsLost && !next.isLoop
            guard triesAgain || isTooLong(begin) else { continue }
            soundIsLost = false
            return self.begin(at: next.start, exact: true)
        }
    }

    /// An output that counts from the last start is about to have gone too far: the line begins anew, at a joint.
    private func isTooLong(_ moment: MediaTime) -> Bool {
        renderer?.longestRun.map { moment.duration > $0 } ?? false
    }

    /// Whether what leads the film is reading it.
    private func isUnderWay(_ link: FilmLink) -> Bool {
        chain.hasEntered(link.serial, audio != nil && !soundIsLost ? .sound : .picture)
    }

    /// The next film takes the place of the one that was perceived.
    func enter(_ next: FilmLink) {
        chain.advance()
        describeCurrent()
        let begin = next.begin ?? synchronizer.currentTime
        if let item = next.item, !next.isLoop {
            if let index = upcoming.firstIndex(of: item) { upcoming.removeSubrange(...index) }
            news(.began(item, at: begin))
            remark()
        } else {
            if next.serial > ahead.lastLost { ahead.loopAgain = nil }
            news(.looped(at: begin))
        }
    }

    /// Tells what a person should know of the film that has begun.
    func remark() {
        guard let film = chain.current, film.videoTrack != nil, let remark = parts.remark(film.film) else { return }
        news(.message(remark))
    }
}
