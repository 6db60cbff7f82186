internal import LocalOutput
internal import MediaCore
internal import Playback

/// The bar along the lower edge: everything that a film needs, by pointer or finger alone.
extension SessionDirector {
    /// Shows the bar as the film is now, or takes it away.
    func refreshBar() {
        guard let screen = stage.screen else { return }
        guard bar.isShown(at: .now) else { return screen.show(bar: nil) }
        screen.show(
            bar: ScreenBar(
                stage.player.state, hasRooms: desk != nil, hasPrevious: queue.number > 1,
                hasNext: queue.number < queue.count || offered != nil))
    }

    /// What pressing the speed goes through.
    private static let speeds = [0.5, 0.75, 1, 1.25, 1.5, 2]

    func point(at part: ScreenBar.Part, isDragged: Bool) {
        bar.wasUsed(at: .now)
        switch part {
        case .play: perform(.togglePause)
        case .previous: perform(.previous)
        case .next: perform(.next)
        case .place(let share):
            guard let duration = stage.player.state.duration else { return }
            // A pointer that is dragged wants to see pictures, many of them; where it is let go is exact enough by the last.
            stage.player.seek(to: MediaTime(seconds: duration.seconds * share), exact: !isDragged)
        case .button(.sound): perform(.cycleAudioTrack)
        case .button(.subtitles): perform(.cycleSubtitles(1))
        case .button(.rooms): perform(.chooseRoute)
        case .button(.speed):
            let speed = Self.speeds.first { $0 > settings.speed + 0.01 } ?? Self.speeds[0]
            perform(speed == 1 ? .resetSpeed : .setSpeed(speed))
        case .button(.fullScreen): perform(.toggleFullScreen)
        case .nothing: break
        }
    }
}

extension ScreenBar {
    /// What there is to see of a player.
    init(_ state: PlayerState, hasRooms: Bool, hasPrevious: Bool, hasNext: Bool) {
        let duration = state.duration.flatMap { $0 > .zero ? $0.seconds : nil }
        // Thousands are finer than a screen is wide, and keep it from being drawn when nothing would look different.
        func share(_ time: MediaTime) -> Double? {
            duration.map { (min(1, max(0, time.seconds / $0)) * 2000).rounded() / 2000 }
        }
        var buttons: [Button: String] = [.speed: "×\(Decimals.text(state.speed, 2))", .fullScreen: ""]
        if state.speed == 1 { buttons[.speed] = "×1" }
        if hasRooms { buttons[.rooms] = "Rooms" }
        if let track = state.audioTrack, state.audioTrackCount > 1 {
            buttons[.sound] = "Sound \(track.number)/\(state.audioTrackCount)"
        }
        if state.subtitleTrackCount > 0 {
            buttons[.subtitles] = "Subtitles \(state.subtitleTrack?.number ?? 0)/\(state.subtitleTrackCount)"
        }
        let time = [state.position.clock, state.duration?.clock].compactMap { $0 }.joined(separator: " / ")
        self.init(
            isPlaying: state.phase == .playing || state.phase == .buffering, place: share(state.position),
            handed: state.handedUntil.flatMap { share($0 - state.lineOffset) },
            chapters: state.chapters.compactMap { share($0.start) }, time: time, buttons: buttons,
            hasPrevious: hasPrevious, hasNext: hasNext)
    }
}
