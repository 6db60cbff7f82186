internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput

/// The bar at the lower edge, for control by pointer or touch alone.
extension SessionDirector {
    /// Updates the bar, or hides it.
    func refreshBar() {
        guard let screen = stage.screen else { return }
        // An open list is anchored to the bar.
        guard isListOpen || bar.isShown(at: .now) else { return screen.show(bar: nil) }
        let state = stage.player.state
        var shown = ScreenBar(
            state, hasPrevious: state.itemNumber > 1,
            hasNext: state.itemNumber < state.itemCount || offered != nil)
        if state.hasAudio {
            shown.volume = ScreenBar.Volume(
                percent: stage.player.knownVolume.map { Int($0.rounded()) }, isMuted: settings.isMuted)
            if let desk { shown.buttons[.rooms] = ["♪ \(PrintableText.of(desk.name))"] }
        }
        if case .place(let place) = bar.part { shown.aim = ScreenBar.Aim(place, in: state) }
        screen.show(bar: shown)
    }

    func point(at part: ScreenBar.Part, isDragged: Bool) {
        bar.pointerMoved(at: .now, over: part)
        switch part {
        case .play: perform(.togglePause)
        case .previous: perform(.previous)
        case .next: perform(.next)
        case .place(let share):
            guard let duration = stage.player.state.duration else { return }
            // While dragging, sync frames are shown for speed; the release seeks exactly.
            stage.player.seek(to: duration.share(share), exact: !isDragged)
        case .mute: perform(.toggleMute)
        case .volume(let share): perform(.setVolume((share * 100).rounded()))
        case .button(.chapters): toggleChoice(.chapters)
        case .button(.sound): toggleChoice(.sound)
        case .button(.subtitles): toggleChoice(.subtitles)
        case .button(.speed): toggleChoice(.speed)
        case .button(.rooms): perform(.chooseRoute)
        case .button(.fullScreen): perform(.toggleFullScreen)
        case .volumeNumber, .nothing: break
        }
    }
}

extension MediaTime {
    fileprivate func share(_ share: Double) -> MediaTime { MediaTime(seconds: seconds * share) }
}

extension ScreenBar {
    /// Creates the bar for the state of a player.
    init(_ state: PlayerState, hasPrevious: Bool, hasNext: Bool) {
        let duration = state.duration.flatMap { $0 > .zero ? $0.seconds : nil }
        // Rounded to 1/2000, finer than a screen's width, to avoid redraws without a visible change.
        func share(_ time: MediaTime) -> Double? {
            duration.map { (min(1, max(0, time.seconds / $0)) * 2000).rounded() / 2000 }
        }
        var buttons: [Button: [String]] = [.speed: ["×\(Decimals.short(state.speed))"], .fullScreen: []]
        if state.chapters.count > 1, let index = state.chapters.index(at: state.position) {
            let number = "\(index + 1)/\(state.chapters.count)"
            buttons[.chapters] = [
                state.chapters[index].title.map { "\(number) \(PrintableText.of($0))" } ?? number, number,
            ]
        }
        if let track = state.audioTrack, state.audioTracks.count > 1 {
            buttons[.sound] = ["Sound: \(track.name)", "Sound"]
        }
        if !state.subtitleTracks.isEmpty {
            let shown = state.showsSubtitles ? state.subtitleTrack?.name ?? "none" : "hidden"
            buttons[.subtitles] = ["Subtitles: \(shown)", "Subs: \(shown)", "Subs"]
        }
        let time = [state.position.clock, state.duration?.clock].compactMap { $0 }.joined(separator: " / ")
        func reach(_ time: MediaTime?) -> Double? { time.flatMap { share($0 - state.lineOffset) } }
        let isWaiting = state.bufferingProgress != nil
        let (loaded, handed) = (reach(state.loadedUntil), reach(state.handedUntil))
        self.init(
            isPlaying: state.phase == .playing || state.phase == .buffering,
            isWaiting: isWaiting, place: share(state.position), loaded: loaded,
            handed: isWaiting ? handed.map { min($0, loaded ?? 0) } : handed,
            chapters: state.chapters.compactMap { share($0.start) }, time: time, buttons: buttons,
            hasPrevious: hasPrevious, hasNext: hasNext)
    }
}

extension ScreenBar.Aim {
    /// Creates the label for a pointer position on the seek bar.
    init?(_ place: Double, in state: PlayerState) {
        guard let duration = state.duration, duration > .zero else { return nil }
        let moment = duration.share(place)
        let title = state.chapters.index(at: moment).flatMap { state.chapters[$0].title }.map(PrintableText.of)
        self.init(place: place, words: [moment.clock, title].compactMap { $0 }.joined(separator: "  "))
    }
}
