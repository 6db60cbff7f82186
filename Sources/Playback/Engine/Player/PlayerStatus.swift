internal import MediaCore
internal import SyncRendering

/// Owns the published state of the player and reports its events. Confined to the player's thread.
final class PlayerStatus {
    private(set) var state = PlayerState() { didSet { publisher.post(state) } }
    private let publisher: PlayerStatePublisher
    private let onEvent: @Sendable (PlayerEvent) -> Void

    init(publisher: PlayerStatePublisher, options: PlayerOptions, onEvent: @escaping @Sendable (PlayerEvent) -> Void) {
        (self.publisher, self.onEvent) = (publisher, onEvent)
        state.isPaused = options.startsPaused
        (state.speed, state.volume) = (PlayerOptions.held(speed: options.speed), options.volume ?? 100)
        (state.isMuted, state.audioDelay) = (options.isMuted, options.audioDelay)
        (state.isNight, state.dialogueLift) = (options.isNight, PlayerOptions.held(dialogueLift: options.dialogueLift))
        (state.showsSubtitles, state.subtitleDelay) = (options.showsSubtitles, options.subtitleDelay)
        (state.showsSecondarySubtitles, state.deinterlacing) = (options.showsSecondarySubtitles, options.deinterlacing)
        (state.loopItem, state.loopList) = (options.loopFile, options.loopPlaylist)
        state.session = options.session
    }

    /// Whether the timeline has media.
    var isUnderWay: Bool { state.isUnderWay }

    // MARK: Events

    /// Reports an event.
    func report(_ event: PlayerEvent) {
        onEvent(event)
        publisher.changes.report(event)
    }

    /// Reports a message for the user.
    func message(_ text: String) { report(.message(text)) }

    /// Publishes a phase together with other changes, and reports it if it has changed. In one change: an observer must
    /// not see a position or an item with the phase of the previous one.
    func setPhase(_ phase: PlayerState.Phase, with body: (inout PlayerState) -> Void = { _ in }) {
        if state.phase == phase { change(body) } else { enterAgain(phase, with: body) }
    }

    /// Publishes a phase together with other changes, and reports it even if it is unchanged.
    func enterAgain(_ phase: PlayerState.Phase, with body: (inout PlayerState) -> Void = { _ in }) {
        change { state in
            state.phase = phase
            if phase != .buffering { (state.reason, state.bufferingProgress) = (nil, nil) }
            body(&state)
        }
        report(.phase(phase))
    }

    /// Publishes a phase without media, and the reason of a failure.
    func close(entering phase: PlayerState.Phase, failure: TalkieError? = nil) {
        setPhase(phase) { state in
            state.clearMedia()
            if let failure { state.failure = failure }
        }
    }

    /// Publishes the silent outputs and those that reject the volume, and reports the difference. Returns false if
    /// there is none.
    func setOutputProblems(_ problems: [OutputProblem]) -> Bool {
        let before = state.outputProblems
        guard problems != before else { return false }
        state.outputProblems = problems
        for problem in before where !problems.contains(where: { $0.isSame(as: problem) }) {
            report(.outputRecovered(problem))
        }
        for problem in problems where !before.contains(where: { $0.isSame(as: problem) }) {
            report(.outputProblem(problem))
        }
        return true
    }

    // MARK: State

    /// Publishes several changes at once.
    func change(_ body: (inout PlayerState) -> Void) {
        var state = state
        body(&state)
        self.state = state
    }

    /// Publishes the reason of a wait and the progress of a hold, if they have changed.
    func setWait(reason: String?, progress: Double? = nil) {
        guard state.reason != reason || state.bufferingProgress != progress else { return }
        change { ($0.reason, $0.bufferingProgress) = (reason, progress) }
    }

    /// Describes the playlist.
    func describe(_ list: PlaybackList) { change { $0.describe(list) } }

    /// Describes an item that is being opened.
    func enterOpening(_ item: QueueItem, of list: PlaybackList) {
        enterAgain(.opening) { state in
            state.clearMedia()
            (state.failure, state.mediaFailure) = (nil, nil)
            state.title = item.title ?? item.name
            (state.artist, state.album, state.artwork) = (nil, nil, nil)
            (state.genre, state.trackNumber) = (nil, nil)
            state.current = item
            state.describe(list)
        }
    }

    /// Describes an entry of a list.
    ///
    /// - Parameters:
    ///   - subtitleTracks: The selected primary and secondary subtitles of the entry.
    ///   - route: The name of the audio output.
    func describe(
        _ entry: PlaybackList.ScheduledItem, of list: PlaybackList, subtitleTracks: (Track?, secondary: Track?),
        route: @autoclosure () -> String?
    ) {
        let summary = entry.film.summary
        change { state in
            if state.current?.id != entry.item.id {
                (state.mediaFailure, state.artwork) = (nil, nil)
            }
            state.title = entry.title
            (state.artist, state.album) = (summary.artist, summary.album)
            (state.genre, state.trackNumber) = (summary.genre, summary.trackNumber)
            state.current = entry.item
            state.describe(list)
            (state.duration, state.chapters) = (summary.duration, summary.chapters)
            state.hasVideo = entry.videoTrack.map { !$0.isCoverArt } ?? false
            state.isStill = entry.videoTrack?.isStillImage ?? false
            state.displayedVideoFormat = entry.videoTrack?.videoFormat
            state.hasAudio = entry.audioTrack != nil
            state.audioTrack = entry.audioTrack
            state.audioTracks = summary.tracks.filter { $0.kind == .audio }
            (state.videoTrack, state.videoTracks) = (entry.videoTrack, summary.tracks.filter { $0.kind == .video })
            (state.subtitleTrack, state.secondarySubtitleTrack) = subtitleTracks
            state.subtitleTracks = summary.tracks.filter { $0.kind == .subtitle }
            state.audioRoute = state.hasAudio ? route() : nil
            state.timelineOffset = entry.offset ?? .zero
            state.heldPosition = nil
            guard let interstitialPart = entry.listPosition.interstitialPart else { return }
            // During an interstitial, position and duration are those of its item.
            let schedule = list.interstitials[entry.item.id]
            let film = entry.item.title ?? schedule?.title ?? entry.item.name
            state.title = "\(entry.title) – \(film)"
            (state.duration, state.chapters) = (schedule?.duration, schedule?.chapters ?? [])
            state.heldPosition = interstitialPart.resumePosition
        }
    }
}

extension PlayerState {
    /// Removes the description of the media, because it is closed.
    fileprivate mutating func clearMedia() {
        timelineOffset = .zero
        (hasVideo, isStill, displayedVideoFormat) = (false, false, nil)
        hasAudio = false
        (audioTrack, audioTracks) = (nil, [])
        (videoTrack, videoTracks) = (nil, [])
        (subtitleTrack, secondarySubtitleTrack, subtitleTracks) = (nil, nil, [])
        (duration, heldPosition, chapters) = (nil, nil, [])
    }

    fileprivate mutating func describe(_ list: PlaybackList) {
        (items, history) = (list.items, list.history)
        (itemNumber, itemCount) = list.ordinal
        next = list.next
        (loopItem, loopList, isShuffled) = (list.loopItem, list.loopList, list.isShuffled)
    }
}

extension OutputProblem {
    /// Returns true if it is the same problem, regardless of its message.
    fileprivate func isSame(as other: OutputProblem) -> Bool { output == other.output && kind == other.kind }
}
