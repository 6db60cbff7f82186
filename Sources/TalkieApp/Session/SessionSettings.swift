internal import MediaCore
internal import Playback
internal import SyncRendering

/// What a person has set so far. The player knows it a moment later; two quick presses of a key must add up.
struct SessionSettings {
    var isMuted: Bool
    var isNight: Bool
    /// Decibels.
    var dialogueLift: Double
    var speed: Double
    var audioDelay: Duration
    var subtitleDelay: Duration
    var showsSubtitles: Bool
    var showsSecondarySubtitles: Bool
    var loop: PlayerOptions.Loop
    var deinterlacing: Deinterlacing
    var view = PictureView()
    /// What is repeated, when there are both.
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
        // Ten steps up and ten down lead back to exactly one.
        if abs(speed - 1) < 0.001 { speed = 1 }
    }

    /// 3 dB is heard as a step; 9 dB is where the rest of a film gets lost.
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

    /// From those that say so to all, to none.
    mutating func cycleDeinterlacing() {
        switch deinterlacing {
        case .auto: deinterlacing = .yes
        case .yes: deinterlacing = .no
        case .no: deinterlacing = .auto
        }
    }

    mutating func toggleLoop() { loop = loop == .forever ? .times(0) : .forever }
}
