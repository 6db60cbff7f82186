internal import MediaCore
internal import Playback
internal import ScreenOutput

extension MediaTime {
    /// Returns the media time at a share of this duration.
    func share(_ share: Double) -> MediaTime { MediaTime(seconds: seconds * share) }
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
            buttons[.audio] = Self.texts("Sound: ", of: track) + ["Sound"]
        }
        if !state.subtitleTracks.isEmpty {
            if state.showsSubtitles, let track = state.subtitleTrack {
                buttons[.subtitles] = ["Subtitles: \(track.name)"] + Self.texts("Subs: ", of: track) + ["Subs"]
            } else {
                let shown = state.showsSubtitles ? "none" : "hidden"
                buttons[.subtitles] = ["Subtitles: \(shown)", "Subs: \(shown)", "Subs"]
            }
        }
        let time = [state.position.clock, state.duration?.clock].compactMap { $0 }.joined(separator: " / ")
        func reach(_ time: MediaTime?) -> Double? { time.flatMap { share($0 - state.timelineOffset) } }
        let isWaiting = state.bufferingProgress != nil
        // While the film waits, what was read ahead is no reserve of the tracks.
        let loaded = reach(isWaiting ? state.loadedUntil : state.cachedUntil)
        let handed = reach(state.handedUntil)
        self.init(
            isPlaying: state.phase == .playing || state.phase == .buffering,
            isWaiting: isWaiting, position: share(state.position), loaded: loaded,
            handed: isWaiting ? handed.map { min($0, loaded ?? 0) } : handed,
            chapters: state.chapters.compactMap { share($0.start) }, time: time, buttons: buttons,
            hasPrevious: hasPrevious, hasNext: hasNext)
    }

    /// Returns the texts of a track's button, longest first: a narrow window shows the language without the title.
    private static func texts(_ label: String, of track: Track) -> [String] {
        let language = track.languageName.map(PrintableText.of) ?? track.name
        return [label + track.name] + (language == track.name ? [] : [label + language])
    }
}

extension ScreenBar.Aim {
    /// Creates the label for a pointer position on the seek bar.
    init?(_ position: Double, in state: PlayerState) {
        guard let duration = state.duration, duration > .zero else { return nil }
        let time = duration.share(position)
        let title = state.chapters.index(at: time).flatMap { state.chapters[$0].title }.map(PrintableText.of)
        self.init(position: position, text: [time.clock, title].compactMap { $0 }.joined(separator: "  "))
    }
}
