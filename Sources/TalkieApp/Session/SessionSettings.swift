internal import MediaCore
internal import Playback
internal import SyncRendering

/// The settings changed by the user. Kept here because the player applies them later, and two quick key presses must
/// add up.
struct SessionSettings {
    var isMuted: Bool
    var isNight: Bool
    /// In decibels.
    var dialogueLift: Double
    var speed: Double
    var audioDelay: Duration
    var subtitleDelay: Duration
    var showsSubtitles: Bool
    var showsSecondarySubtitles: Bool
    var loop: PlayerOptions.Loop
    var deinterlacing: Deinterlacing
    var view = PictureView()
    /// The start and the end of the A-B loop.
    var sectionStart: FilmPosition?
    var sectionEnd: FilmPosition?

    init(_ options: PlayerOptions) {
        isMuted = options.isMuted
        isNight = options.isNight
        dialogueLift = options.dialogueLift
        speed = options.speed
        audioDelay = options.audioDelay
        subtitleDelay = options.subtitleDelay
        showsSubtitles = options.showsSubtitles
        showsSecondarySubtitles = options.showsSecondarySubtitles
        loop = options.loopFile
        deinterlacing = options.deinterlacing
    }

    mutating func multiplySpeed(by factor: Double) {
        let range = PlayerOptions.speedRange
        speed = max(range.lowerBound, min(range.upperBound, speed * factor))
        // Ten steps up and ten down restore exactly 1.
        if abs(speed - 1) < 0.001 { speed = 1 }
    }

    /// Steps of 3 dB, which are audible, up to 9 dB, above which other audio is masked.
    mutating func cycleDialogueLift() {
        dialogueLift = dialogueLift >= 9 ? 0 : (dialogueLift / 3).rounded(.down) * 3 + 3
    }

    mutating func addAudioDelay(_ step: Duration) {
        let limit = PlayerOptions.longestAudioDelay
        audioDelay = max(.zero - limit, min(limit, audioDelay + step))
    }

    mutating func addSubtitleDelay(_ step: Duration) {
        let limit = PlayerOptions.longestAudioDelay
        subtitleDelay = max(.zero - limit, min(limit, subtitleDelay + step))
    }

    /// Cycles from `auto` to `yes` to `no`.
    mutating func cycleDeinterlacing() {
        switch deinterlacing {
        case .auto: deinterlacing = .yes
        case .yes: deinterlacing = .no
        case .no: deinterlacing = .auto
        }
    }

    mutating func toggleLoop() { loop = loop == .forever ? .times(0) : .forever }
}
