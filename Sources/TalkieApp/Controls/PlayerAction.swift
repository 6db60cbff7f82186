import MediaCore
import Playback

/// An action that the user can request during playback, by key, pointer or command.
enum PlayerAction: Sendable, Hashable {
    case togglePause
    case setPaused(Bool)
    /// Seeks by media time from the current position; exact to the frame, otherwise to a nearby sync frame.
    case seek(by: MediaTime, exact: Bool)
    case seekChapters(Int)
    case stepForward
    case stepBackward
    case multiplySpeed(Double)
    case resetSpeed
    /// In units of the volume scale 0…130.
    case addVolume(Double)
    case toggleMute
    case toggleNightMode
    /// The next level; after the last one: off.
    case cycleDialogueLift
    /// Positive: audio later than video.
    case addAudioDelay(Duration)
    case cycleAudioTrack
    /// The next (1) or previous (-1) track.
    case cycleSubtitles(Int)
    case toggleSubtitles
    /// The next (1) or previous (-1) track of the secondary subtitles.
    case cycleSecondarySubtitles(Int)
    case toggleSecondarySubtitles
    /// Positive: subtitles later.
    case addSubtitleDelay(Duration)
    case cycleDeinterlacing
    /// The aspect ratio, zoom or position of the video in the window.
    case changeView(PictureViewChange)
    /// Opens or closes the list of outputs.
    case chooseRoute
    case toggleFullScreen
    case leaveFullScreen
    case screenshot(ScreenshotKind)
    case next
    case previous
    case toggleLoop
    /// Sets the start, sets the end, or clears the A-B loop.
    case markSection
    case showProgress
    /// Opens or closes the statistics page.
    case showStatistics
    /// Opens or closes the key help page.
    case showKeys
    case quit
    /// Quits and saves the position for the next playback.
    case quitKeepingPlace
    // Actions that only `input.conf` can request.
    case seekTo(FilmPosition, exact: Bool)
    case setSpeed(Double)
    /// The volume, 0…130.
    case setVolume(Double)
    case setMuted(Bool)
    case enterFullScreen
    case showText(String)

    /// Whether a held key repeats the action: true for steps, false for toggles.
    var repeats: Bool {
        switch self {
        case .seek, .stepForward, .stepBackward, .multiplySpeed, .addVolume, .addAudioDelay, .addSubtitleDelay: true
        case .changeView(let change): change != .nextAspect && change != .reset
        default: false
        }
    }
}

/// The contents of a screenshot, as in mpv's command `screenshot`.
enum ScreenshotKind: String, Sendable, Hashable {
    /// The video frame in its own size, with subtitles.
    case subtitles = "subtitles"
    /// The video frame alone.
    case video = "video"
    /// The video as scaled in the window, with subtitles, without messages.
    case window = "window"
}
