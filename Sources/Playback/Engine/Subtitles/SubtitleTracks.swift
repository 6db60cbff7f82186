internal import MediaCore
internal import SyncRendering

/// Owns the primary and secondary subtitles. They follow the audio and video through the list and through seeks.
/// Playback never waits for them. Confined to the player's thread.
final class SubtitleTracks {
    /// The primary and the secondary subtitles, if any.
    let all: [ShownSubtitles]
    /// The primary subtitles; nil if video is not played or there is no drawing.
    private let primary: ShownSubtitles?
    /// The secondary subtitles, at the top.
    private let secondary: ShownSubtitles?
    private let context: PlayerContext

    init(_ context: PlayerContext, over layer: DisplayLayer) {
        self.context = context
        let options = context.options
        let components = options.playsVideo ? context.components.subtitles : nil
        primary = components.map { ShownSubtitles($0, over: layer, options: options) }
        secondary = components.flatMap { ShownSubtitles(secondary: $0, over: layer, options: options) }
        all = [primary, secondary].compactMap { $0 }
    }

    /// Returns the selected primary and secondary tracks of an entry.
    func tracks(of entry: PlaybackList.ScheduledItem) -> (Track?, secondary: Track?) {
        (primary?.selection.value.track(of: entry), secondary?.selection.value.track(of: entry))
    }

    /// Returns the selected primary and secondary tracks of media that plays beside an audio track.
    func tracks(of summary: MediaSummary, beside sound: Track?) -> [Track?] {
        let track = primary?.selection.value.track(in: summary, beside: sound)
        let more = secondary?.selection.value.track(in: summary, beside: sound)
        return [track, more == track ? nil : more]
    }

    // MARK: User commands

    /// Selects the next (1) or the preceding (-1) track; between the last and the first there is the choice of none.
    func cycle(by step: Int, at target: TrackTarget) {
        guard let primary, let current = context.list.current else {
            return context.status.message("No subtitles are shown without a picture.")
        }
        let all = current.film.summary.tracks.filter { $0.kind == .subtitle }
        guard !all.isEmpty else { return context.status.message(Self.absence(in: current.film.summary)) }
        let present = primary.selection.value.track(of: current).flatMap { all.firstIndex(of: $0) } ?? -1
        // One more position than tracks: none.
        let choiceCount = all.count + 1
        let index = ((present + 1 + step % choiceCount) % choiceCount + choiceCount) % choiceCount - 1
        select(index < 0 ? nil : all[index], of: current, at: target)
    }

    /// Returns why there is nothing to select.
    private static func absence(in summary: MediaSummary?) -> String {
        summary?.hasUnreadSubtitles == true
            ? "The subtitles of this film are a separate stream (HLS), which is not supported; save them to a file and"
                + " open it with the film."
            : "This film has no subtitles."
    }

    /// Selects a track.
    ///
    /// - Parameter number: 1 for the first; nil: none.
    func select(_ number: Int?, at target: TrackTarget) {
        guard let primary else { return context.status.message("No subtitles are shown without a picture.") }
        guard let current = context.list.current else {
            return apply(number.map { .number($0) } ?? .none, to: primary, at: target)
        }
        guard let number else { return select(nil, of: current, at: target) }
        guard let track = current.film.summary.subtitleTrack(number: number) else {
            return context.status.message("This film has no subtitles \(number).")
        }
        select(track, of: current, at: target)
    }

    private func select(_ track: Track?, of entry: PlaybackList.ScheduledItem, at target: TrackTarget) {
        guard let primary else { return }
        let count = entry.film.summary.tracks.count { $0.kind == .subtitle }
        // Following items use the same language if it identifies the track, otherwise its number.
        if let language = track?.language, entry.film.summary.subtitleTrack(languages: [language]) == track {
            primary.selection.change { selection in
                selection.languages.removeAll { LanguageCode($0) == LanguageCode(language) }
                selection.languages.insert(language, at: 0)
            }
            apply(.automatic, to: primary, at: target)
        } else {
            apply(track.map { .number($0.number) } ?? .none, to: primary, at: target)
        }
        context.status.change { $0.subtitleTrack = track }
        context.status.message(track.map { "Subtitles " + $0.description(among: count) } ?? "Subtitles: none")
    }

    private func apply(_ choice: SubtitleChoice, to subtitles: ShownSubtitles, at target: TrackTarget) {
        subtitles.selection.change { $0.choice = choice }
        guard let entry = context.list.current, context.status.isUnderWay else { return }
        addPipeline(to: subtitles, behind: entry, of: context.list.list.entries)
        if subtitles.pipeline == nil { subtitles.renderer.flush() } else { subtitles.seek(to: target) }
    }

    /// Selects the next (1) or the preceding (-1) secondary track; between the last and the first there is the choice
    /// of none.
    func cycleSecondary(by step: Int, at target: TrackTarget) {
        let current = context.list.current
        let count = current?.film.summary.tracks.count { $0.kind == .subtitle } ?? 0
        guard count > 0, let current, let secondary else {
            return context.status.message(Self.absence(in: current?.film.summary))
        }
        let present = secondary.selection.value.track(of: current)?.number ?? 0
        let number = ((present + step % (count + 1)) % (count + 1) + count + 1) % (count + 1)
        selectSecondary(number == 0 ? nil : number, at: target)
    }

    /// Selects a secondary track.
    ///
    /// - Parameter number: 1 for the first; nil: none.
    func selectSecondary(_ number: Int?, at target: TrackTarget) {
        guard let secondary else { return context.status.message("No subtitles are shown without a picture.") }
        guard let number else {
            apply(.none, to: secondary, at: target)
            context.status.change { $0.secondarySubtitleTrack = nil }
            return context.status.message("Secondary subtitles: none")
        }
        let summary = context.list.current?.film.summary
        guard let track = summary?.subtitleTrack(number: number) else {
            return context.status.message("This film has no subtitles \(number).")
        }
        let count = summary?.tracks.count { $0.kind == .subtitle } ?? 0
        apply(.number(number), to: secondary, at: target)
        context.status.change { $0.secondarySubtitleTrack = track }
        context.status.message("Secondary subtitles " + track.description(among: count))
    }

    func setSecondaryShown(_ isShown: Bool) {
        secondary?.renderer.isHidden = !isShown
        context.status.change { $0.showsSecondarySubtitles = isShown }
    }

    func setShown(_ isShown: Bool) {
        primary?.renderer.isHidden = !isShown
        context.status.change { $0.showsSubtitles = isShown }
    }

    /// Sets the delay; positive is later.
    func setDelay(_ delay: Duration) {
        for subtitles in all { subtitles.renderer.delay = delay }
        context.status.change { $0.subtitleDelay = delay }
    }

    /// Changes the placement and size.
    func changeStyle(_ body: (inout SubtitleStyle) -> Void) {
        var style = context.status.state.subtitleStyle
        body(&style)
        for subtitles in all { subtitles.renderer.style = style }
        context.status.change { $0.subtitleStyle = style }
    }

    /// Returns when the subtitle appears that is `count` subtitles after the one shown at a time of the timeline.
    func appearance(_ count: Int, from time: MediaTime) -> MediaTime? {
        primary?.renderer.appearance(count, from: time)
    }

    // MARK: Playlist

    /// Creates the pipelines if one of the entries has a selected track. They start at a seek target, or with the
    /// successor of an entry.
    func addPipelines(behind entry: PlaybackList.ScheduledItem, of entries: [PlaybackList.ScheduledItem]) {
        for subtitles in all { addPipeline(to: subtitles, behind: entry, of: entries) }
    }

    private func addPipeline(
        to subtitles: ShownSubtitles, behind entry: PlaybackList.ScheduledItem, of entries: [PlaybackList.ScheduledItem]
    ) {
        guard subtitles.pipeline == nil else { return }
        let selection = subtitles.selection
        guard entries.contains(where: { selection.value.track(of: $0) != nil }) else { return }
        context.synchronizer.addRenderer(subtitles.renderer)
        let pipeline = context.pipeline(
            SubtitleStage(
                list: context.list, cursor: subtitles.cursor, renderer: subtitles.renderer,
                choose: { selection.value.track(of: $0) }, behind: entry))
        subtitles.pipeline = pipeline
        context.start(pipeline, "subtitles reader")
        if let error = pipeline.refusal {
            subtitles.pipeline = nil
            context.status.message(Sentences.joined(error.message, "The film plays without subtitles."))
        }
    }

    func seek(to target: TrackTarget) { for subtitles in all { subtitles.seek(to: target) } }

    /// Sends tracks that have read an obsolete entry to the current position.
    func reread(from target: TrackTarget, thatEntered serial: Int) {
        for subtitles in all where context.list.hasEntered(serial, subtitles.cursor) { subtitles.seek(to: target) }
    }

    func continueAfterEnd() { for subtitles in all { subtitles.pipeline?.resume() } }

    func wakeWaiting() {
        for subtitles in all where context.list.isWaiting(subtitles.cursor) { subtitles.pipeline?.wake() }
    }

    /// Requests the end of all pipelines. Does not block.
    func cancel() { for subtitles in all { subtitles.pipeline?.cancel() } }

    func close() {
        for subtitles in all {
            subtitles.pipeline?.stop()
            subtitles.pipeline = nil
            subtitles.renderer.flush()
            subtitles.renderer.stopRequestingMediaData()
        }
    }

    /// Removes the renderers and ends their threads.
    func shutDown() {
        for subtitles in all {
            context.synchronizer.removeRenderer(subtitles.renderer, completion: nil)
            subtitles.renderer.stop()
        }
    }

    /// Reports subtitles that could not be drawn or decoded, once.
    func reportTroubles() {
        for subtitles in all {
            if let trouble = subtitles.renderer.consumeProblem() { context.status.message(Sentences.joined(trouble)) }
            let failure = subtitles.renderer.error.map { "\($0)" }
            defer { subtitles.reportedFailure = failure }
            if let failure, failure != subtitles.reportedFailure {
                context.status.message(Sentences.joined(failure, "The film plays without these subtitles."))
            }
        }
    }
}
