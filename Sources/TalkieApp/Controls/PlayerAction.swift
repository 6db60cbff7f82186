package import MediaCore
package import Playback

/// What a person can ask of a film that plays, whatever they asked it with.
package enum PlayerAction: Sendable, Hashable {
    case togglePause
    case setPaused(Bool)
    /// By film time, from where the film is; exact to the picture, otherwise to a sync picture near there.
    case seek(by: MediaTime, exact: Bool)
    case seekChapters(Int)
    case stepForward
    case stepBackward
    case multiplySpeed(Double)
    case resetSpeed
    /// Steps of the 0…130 scale.
    case addVolume(Double)
    case toggleMute
    case toggleNightMode
    /// One step more, and none after the last.
    case cycleDialogueLift
    /// Positive: sound later than picture.
    case addAudioDelay(Duration)
    case cycleAudioTrack
    /// The next (1) or the one before (-1).
    case cycleSubtitles(Int)
    case toggleSubtitles
    /// Those at the top: the next (1) or the one before (-1).
    case cycleSecondarySubtitles(Int)
    case toggleSecondarySubtitles
    /// Positive: subtitles later than the film says.
    case addSubtitleDelay(Duration)
    case cycleDeinterlacing
    /// Shape, size and place of the picture in the window.
    case changeView(PictureViewChange)
    /// Opens and closes the list of places that sound can go to.
    case chooseRoute
    case toggleFullScreen
    case leaveFullScreen
    case screenshot(ScreenshotKind)
    case next
    case previous
    case toggleLoop
    /// The beginning, the end, or neither of a part that is repeated.
    case markSection
    case showProgress
    /// Opens and closes the page of statistics.
    case showStatistics
    /// Opens and closes the page of keys.
    case showKeys
    case quit
    /// The film goes on from here the next time.
    case quitKeepingPlace
    // What a person's own `input.conf` can ask for beside these.
    case seekTo(FilmPosition, exact: Bool)
    case setSpeed(Double)
    /// On the 0…100 scale.
    case setVolume(Double)
    case setMuted(Bool)
    case enterFullScreen
    case showText(String)

    /// Whether holding a key down repeats it: winding does, switches do not.
    package var repeats: Bool {
        switch self {
        case .seek, .stepForward, .stepBackward, .multiplySpeed, .addVolume, .addAudioDelay, .addSubtitleDelay: true
        case .changeView(let change): change != .nextAspect && change != .reset
        default: false
        }
    }
}

/// What a screenshot shows, as mpv's command `screenshot` has it.
package enum ScreenshotKind: String, Sendable, Hashable {
    /// The film's picture, in its own size, with the words that lie over it.
    case subtitles
    /// The film's picture alone.
    case video
    /// What the window shows of it, with words, and without messages.
    case window
}
