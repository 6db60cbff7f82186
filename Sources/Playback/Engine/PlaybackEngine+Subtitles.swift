internal import MediaCore
internal import SyncRendering

/// Subtitles follow the audio and video through the list and through seeks. Playback never waits for them.
extension PlaybackEngine {
    // MARK: User commands

    /// Selects the next (1) or the preceding (-1) track; between the last and the first there is the choice of none.
    func cycleSubtitles(by step: Int) {
        guard let subtitles, let current else { return news(.message("No subtitles are shown without a picture.")) }
        let all = current.film.summary.tracks.filter { $0.kind == .subtitle }
        guard !all.isEmpty else { return news(.message("This film has no subtitles.")) }
        let present = subtitles.wish.value.track(of: current).flatMap { all.firstIndex(of: $0) } ?? -1
        // One more position than tracks: none.
        let places = all.count + 1
        let index = ((present + 1 + step) % places + places) % places - 1
        choose(index < 0 ? nil : all[index], of: current)
    }

    /// Selects a track.
    ///
    /// - Parameter number: 1 for the first; nil: none.
    func selectSubtitles(_ number: Int?) {
        guard subtitles != nil else { return news(.message("No subtitles are shown without a picture.")) }
        guard let current else { return choose(number.map { .number($0) } ?? .none) }
        guard let number else { return choose(nil, of: current) }
        guard let track = current.film.summary.subtitleTrack(number: number) else {
            return news(.message("This film has no subtitles \(number)."))
        }
        choose(track, of: current)
    }

    private func choose(_ track: Track?, of entry: PlaybackList.Entry) {
        let count = entry.film.summary.tracks.count { $0.kind == .subtitle }
        // Following items use the same language if it identifies the track, otherwise its number.
        if let language = track?.language, entry.film.summary.subtitleTrack(languages: [language]) == track {
            subtitles?.wish.change { wish in
                wish.languages.removeAll { LanguageCode($0) == LanguageCode(language) }
                wish.languages.insert(language, at: 0)
            }
            choose(.automatic)
        } else {
            choose(track.map { .number($0.number) } ?? .none)
        }
        state.subtitleTrack = track
        news(.message(track.map { "Subtitles " + $0.description(among: count) } ?? "Subtitles: none"))
    }

    private func choose(_ choice: SubtitleChoice) { choose(choice, for: subtitles) }

    /// Applies a choice.
    ///
    /// - Parameter subtitles: The primary or the secondary subtitles.
    private func choose(_ choice: SubtitleChoice, for subtitles: ShownSubtitles?) {
        subtitles?.wish.change { $0.choice = choice }
        guard let subtitles, let entry = current, isUnderWay else { return }
        addPipeline(to: subtitles, behind: entry, of: list.entries)
        if let pipeline = subtitles.pipeline {
            pipeline.seek(to: jump?.target ?? synchronizer.currentTime(), aim: .exact, serial: serial)
        } else {
            subtitles.renderer.flush()
        }
    }

    /// Selects secondary subtitles.
    ///
    /// - Parameter number: 1 for the first; nil: none.
    func selectSecondarySubtitles(_ number: Int?) {
        guard let secondarySubtitles else { return news(.message("No subtitles are shown without a picture.")) }
        guard let number else {
            choose(.none, for: secondarySubtitles)
            return news(.message("Secondary subtitles: none"))
        }
        let count = current?.film.summary.tracks.count { $0.kind == .subtitle } ?? 0
        guard let track = current?.film.summary.subtitleTrack(number: number) else {
            return news(.message("This film has no subtitles \(number)."))
        }
        choose(.number(number), for: secondarySubtitles)
        news(.message("Secondary subtitles " + track.description(among: count)))
    }

    /// Selects the next (1) or the preceding (-1) track; between the last and the first there is the choice of none.
    func cycleSecondarySubtitles(by step: Int) {
        let count = current?.film.summary.tracks.count { $0.kind == .subtitle } ?? 0
        guard count > 0, let current, let secondarySubtitles else {
            return news(.message("This film has no subtitles."))
        }
        let present = secondarySubtitles.wish.value.track(of: current)?.number ?? 0
        let number = ((present + step) % (count + 1) + count + 1) % (count + 1)
        selectSecondarySubtitles(number == 0 ? nil : number)
    }

    func setSecondarySubtitlesShown(_ isShown: Bool) { secondarySubtitles?.renderer.isHidden = !isShown }

    /// Sets the delay; positive is later.
    func setSubtitleDelay(_ delay: Duration) {
        for subtitles in allSubtitles { subtitles.renderer.delay = delay }
        state.subtitleDelay = delay
    }

    func setSubtitlesShown(_ isShown: Bool) {
        subtitles?.renderer.isHidden = !isShown
        state.showsSubtitles = isShown
    }

    // MARK: Playlist

    /// Creates the pipelines if one of the entries has a selected track. They start at a seek target, or with the
    /// successor of an entry.
    func addPipelineToSubtitles(behind entry: PlaybackList.Entry, of entries: [PlaybackList.Entry]) {
        for subtitles in allSubtitles { addPipeline(to: subtitles, behind: entry, of: entries) }
    }

    private func addPipeline(
        to subtitles: ShownSubtitles, behind entry: PlaybackList.Entry, of entries: [PlaybackList.Entry]
    ) {
        guard subtitles.pipeline == nil else { return }
        let wish = subtitles.wish
        guard entries.contains(where: { wish.value.track(of: $0) != nil }) else { return }
        synchronizer.addRenderer(subtitles.renderer)
        let stage = SubtitleStage(
            list: shared, walker: subtitles.walker, renderer: subtitles.renderer, choose: { wish.value.track(of: $0) },
            behind: entry)
        let pipeline = TrackPipeline(stage: stage, onNews: { [mailbox] in mailbox.signal.raise() })
        subtitles.pipeline = pipeline
        startPipeline(pipeline, "subtitles reader")
        if let error = pipeline.refusal {
            subtitles.pipeline = nil
            news(.message(Sentences.joined(error.message, "The film plays without subtitles.")))
        }
    }

    func seekSubtitles(to target: MediaTime) {
        for subtitles in allSubtitles { subtitles.pipeline?.seek(to: target, aim: .exact, serial: serial) }
    }

    func letSubtitlesGoOn() { for subtitles in allSubtitles { subtitles.pipeline?.goOn() } }

    func wakeSubtitles() {
        for subtitles in allSubtitles where shared.isWaiting(subtitles.walker) { subtitles.pipeline?.wake() }
    }

    /// Lets tracks that have read an obsolete entry seek to the current position.
    func rereadSubtitles(thatEntered serial: Int) {
        for subtitles in allSubtitles where shared.hasEntered(serial, subtitles.walker) {
            let target = jump?.target ?? synchronizer.currentTime()
            subtitles.pipeline?.seek(to: target, aim: .exact, serial: self.serial)
        }
    }

    func closeSubtitles() {
        for subtitles in allSubtitles {
            subtitles.pipeline?.stop()
            subtitles.pipeline = nil
            subtitles.renderer.flush()
            subtitles.renderer.stopRequestingMediaData()
        }
    }

    /// Reports subtitles that could not be drawn or decoded, once.
    func tellSubtitleTrouble() {
        for subtitles in allSubtitles { tellTrouble(of: subtitles) }
    }

    private func tellTrouble(of subtitles: ShownSubtitles) {
        if let trouble = subtitles.renderer.takeTrouble() { news(.message(Sentences.joined(trouble))) }
        let failure = subtitles.renderer.error.map { "\($0)" }
        defer { subtitles.toldFailure = failure }
        if let failure, failure != subtitles.toldFailure {
            news(.message(Sentences.joined(failure, "The film plays without these subtitles.")))
        }
    }
}
