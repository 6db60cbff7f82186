public import MediaCore
public import MediaFiles
public import SyncRendering

/// The options of a player, set before it opens media. Each has the meaning of mpv's option of the same name.
public struct PlayerOptions: Sendable {
    /// Whether video waits for audio at a start, or audio joins later.
    public enum StartPolicy: String, Sendable, CaseIterable {
        /// Video waits until the audio outputs can start.
        case wait = "wait"
        /// Video starts at once; audio joins later at its position.
        case video = "picture"
    }

    /// The number of repetitions after the first playback.
    public enum Loop: Sendable, Hashable {
        /// A number of repetitions; 0 plays once.
        case times(Int)
        /// Unlimited repetitions.
        case forever
    }

    /// The order in which a playlist is played.
    public enum PlaylistOrder: Sendable, Hashable {
        /// The order of the items.
        case listed
        /// A random order, which differs in each pass and is determined by the seed.
        case shuffled(seed: UInt64)
    }

    /// When an unplayable item is tried again in a later pass of the playlist.
    public enum Retry: Sendable, Hashable {
        /// Once it has played before. If no item is playable, the first one that has played is tried after pauses of
        /// 0.1 to 0.7 s.
        case afterPlaying
        /// Always; a pass that follows passes without a playable item is preceded by a pause of 0.1 to 0.7 s. A
        /// playlist that has never played is not repeated.
        case eachPass
    }

    /// The position at which each item starts.
    public var start: FilmPosition?
    /// The position at which each item ends.
    public var end: FilmPosition?
    /// Media seconds per second, 0.25…4.
    public var speed: Double = 1
    /// Whether the first item starts paused.
    public var startsPaused = false
    /// The number of repetitions of each item.
    public var loopFile: Loop = .times(0)
    /// Whether video is played.
    public var playsVideo = true
    /// Whether audio is played.
    public var playsAudio = true
    /// The audio track by number, 1 for the first; takes precedence over `audioLanguages`.
    public var audioTrack: Int?
    /// The video track by number, 1 for the first.
    public var videoTrack: Int?
    /// The languages of the audio track in order of preference (`"de"`, `"eng"`).
    public var audioLanguages: [String] = []
    /// The purpose of the audio track, such as audio description; an item without it plays its main one. The languages
    /// take precedence.
    public var audioPurpose = Track.Purpose.main
    /// The languages of the user's session in order of preference: select audio and subtitles after `audioLanguages`
    /// and `subtitleLanguages`.
    public var userLanguages: [String] = []
    /// The subtitles to show.
    public var subtitles = SubtitleChoice.automatic
    /// The secondary subtitles, shown at the top as plain text without their author's layout. Automatic is none.
    public var secondarySubtitles = SubtitleChoice.none
    /// Whether secondary subtitles are visible.
    public var showsSecondarySubtitles = true
    /// The languages of subtitles in order of preference.
    public var subtitleLanguages: [String] = []
    /// Which files in the media's folder are used as subtitles.
    public var subtitleSearch = SubtitleSearch.exact
    /// Further folders in which subtitles are searched.
    public var subtitleFolders: [String] = []
    /// Subtitle files that are added to each item.
    public var subtitleFiles: [String] = []
    /// The delay of subtitles; positive is later.
    public var subtitleDelay: Duration = .zero
    /// Whether subtitles are visible.
    public var showsSubtitles = true
    /// Which video frames are deinterlaced.
    public var deinterlacing: Deinterlacing = .auto
    /// Whether a graphics processor decodes video.
    public var hardwareDecoding: HardwareDecoding = .no
    /// The tone mapping of HDR video by the decoder; a screen has its own options.
    public var drawing = VideoRenderingOptions()
    /// The delay of audio; positive is later than video.
    public var audioDelay: Duration = .zero
    /// An application's own calibration, added to `audioDelay` invisibly; negative sends audio earlier. If it is not
    /// zero, it replaces Talkie's calibration.
    public var calibration: Duration = .zero
    /// Whether each output is shifted by the result of `talkie calibrate` for it and the screen, if any: see `Player()`
    /// of the module Talkie.
    public var appliesCalibrations = true
    /// The volume, 0…130 on the perceptual curve, 100 is 0 dB (`VolumeCurve`). Nil keeps the output's own volume.
    public var volume: Double?
    /// Whether audio is muted.
    public var isMuted = false
    /// The loudness normalization by tags.
    public var replayGain = ReplayGainOptions()
    /// Night mode: reduces the dynamic range.
    public var isNight = false
    /// The target loudness in LUFS, approached during playback by measurement; nil: no normalization. Items that are
    /// normalized by their tags (`replayGain`) are not affected.
    public var loudness: Double?
    /// The amplification of the centre channel in decibels, 0…12.
    public var dialogueLift = 0.0
    /// Whether a start waits for audio.
    public var startPolicy: StartPolicy = .wait
    /// The ALSA device name; nil: the system's default.
    public var audioDevice: String?
    /// The channels of a sound card to use.
    public var audioChannels = ChannelChoice.autoSafe
    /// The number of repetitions of the playlist.
    public var loopPlaylist: Loop = .times(0)
    /// Whether embedded cover art is shown.
    public var showsCoverArt = true
    /// Whether cover art in the folder takes precedence over embedded cover art.
    public var prefersExternalCovers = false
    /// Which images in the folder are used as cover art.
    public var coverSearch = CoverSearch.exact
    /// Images used as cover art of every item, regardless of its folder.
    public var coverFiles: [String] = []
    /// How long an image file is shown; nil: until the user continues.
    public var imageDisplayDuration: Duration? = .seconds(1)
    /// How media is read: timeouts of networks, and trusted servers.
    public var reading = ReadOptions()
    /// How media of web pages is found.
    public var pages = PageOptions()
    /// How long before its audio is required the next item is opened: longer than a slow server takes, and short enough
    /// that no connection stays open for hours.
    public var readAhead: Duration = .seconds(30)
    /// Whether further items follow the first. Consecutive songs are then decoded for a speaker, so that they join
    /// sample-accurately. A playlist that repeats is then not a loop of its first item.
    package var expectsMore = false
    /// Whether the phase is `failed` after an item that was to start cannot be played, until `Player.skipFailed`.
    package var stopsAtFailures = false
    /// Whether audio that outputs receive undecoded is also decoded here, so that damage is reported.
    package var checksPackets = false
    /// Whether the user selected the output; nothing is played if that is unavailable.
    package var isOutputNamed = false
    /// Whether each item's artwork is loaded, also if no output outside this computer displays it.
    public var loadsArtwork = false
    /// The session at the start; `Player.session` changes it. By default interruptions do not affect playback;
    /// `PlaybackSession()` is that of a film.
    public var session = PlaybackSession(mixing: .mixes)
    /// Whether commands of outputs are performed, such as a button on a speaker.
    public var obeysOutputs = true

    /// Creates the default options.
    public init() {}

    /// The audio processing of every item.
    var processing: AudioProcessing {
        var processing = AudioProcessing.none
        (processing.isNight, processing.dialogueLift) = (isNight, Self.held(dialogueLift: dialogueLift))
        processing.loudness = loudness
        return processing
    }

    var mayCalibrate: Bool { appliesCalibrations && calibration == .zero }
}
