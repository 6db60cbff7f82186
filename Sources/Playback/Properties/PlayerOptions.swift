public import MediaCore
public import MediaFiles
public import SyncRendering

/// What a player is told before it opens a film. Every value has the meaning of mpv's option of the same name.
public struct PlayerOptions: Sendable {
    /// Whether picture waits for sound at a start, or sound joins later.
    public enum StartPolicy: String, Sendable, CaseIterable { case wait, picture }

    /// How often to play something again after the first time.
    public enum Loop: Sendable, Hashable {
        case times(Int)
        case forever
    }

    /// Where each film begins, and where it stops.
    public var start: FilmPosition?
    public var end: FilmPosition?
    /// Film seconds per second, 0.25…4.
    public var speed: Double = 1
    public var startsPaused = false
    /// How often each film is played again at once.
    public var loopFile: Loop = .times(0)
    public var playsVideo = true
    public var playsAudio = true
    /// Tracks by number (1 is the first of its kind) or sound by language (`"de"`, `"eng"`, first match wins).
    public var audioTrack: Int?
    public var videoTrack: Int?
    public var audioLanguages: [String] = []
    public var subtitles = SubtitleChoice.automatic
    /// Subtitles that stand at the top beside the others: words only, as their author did not make them. Automatic is none.
    public var secondarySubtitles = SubtitleChoice.none
    public var showsSecondarySubtitles = true
    /// Wanted languages of subtitles, most wanted first.
    public var subtitleLanguages: [String] = []
    /// Which files beside a film are taken for its subtitles, and where else they are looked for.
    public var subtitleSearch = SubtitleSearch.exact
    public var subtitleFolders: [String] = []
    /// Files of subtitles that are added to each film.
    public var subtitleFiles: [String] = []
    /// Positive: subtitles later than the film says.
    public var subtitleDelay: Duration = .zero
    public var showsSubtitles = true
    /// Which pictures are shown as two, field by field.
    public var deinterlacing: Deinterlacing = .auto
    /// Whether a graphics processor decodes pictures.
    public var hardwareDecoding: HardwareDecoding = .no
    /// How tones of HDR films are mapped, where their decoder does it; a screen is told by its own options.
    public var drawing = PictureDrawing()
    /// Positive: sound later than picture.
    public var audioDelay: Duration = .zero
    /// What a calibration of the application's own adds to that, unseen: negative where the sound must be sent earlier. Takes the place
    /// of what Talkie has calibrated, where it is not zero.
    public var calibration: Duration = .zero
    /// Whether each output is moved by what `talkie calibrate` has found for it and the screen, as far as it is known: see `Player()`
    /// of the module Talkie.
    public var appliesCalibrations = true
    /// 0…130 on the perceptual curve, 100 is 0 dB (`VolumeCurve`). Nil leaves an output as its owner left it.
    public var volume: Double?
    public var isMuted = false
    /// Whether each piece is made as loud as its tags say.
    public var replayGain = ReplayGainOptions()
    /// Night mode: loud and quiet are brought nearer to each other.
    public var isNight = false
    /// LUFS that films are brought to while they play, by what was heard of them so far; nil leaves them as they are. A film that says by
    /// its tags how loud it is, and is heard so (`replayGain`), is left alone.
    public var loudness: Double?
    /// Decibels by which a film's centre channel is lifted above the others, 0…12.
    public var dialogueLift = 0.0
    public var startPolicy: StartPolicy = .wait
    /// ALSA device name; nil is the system's default.
    public var audioDevice: String?
    /// Which loudspeakers of a sound card are played to.
    public var audioChannels = ChannelChoice.autoSafe
    /// How often the list is played again from its first item.
    public var loopPlaylist: Loop = .times(0)
    /// Whether a recording shows the picture that came along with it.
    public var showsCoverArt = true
    /// Whether a picture beside a recording comes before the one inside it.
    public var prefersExternalCovers = false
    /// Which pictures beside a recording are taken for its cover.
    public var coverSearch = CoverSearch.exact
    /// Pictures that are the covers of each recording, whatever lies beside it.
    public var coverFiles: [String] = []
    /// How long a file that holds one picture is shown; nil until somebody goes on.
    public var imageDisplayDuration: Duration? = .seconds(1)
    /// How films are read: how long a network is waited for, and which servers are believed.
    public var reading = ReadOptions()
    /// How films that lie behind web pages are found.
    public var pages = PageOptions()
    /// How long before its sound is needed the next film is opened: longer than a slow server takes, short enough that nothing
    /// is held open for hours.
    public var readAhead: Duration = .seconds(30)
    /// More is going to follow the first film or song. Songs in a row are then decoded on the way to a speaker, so that they join
    /// to the sample, and a list that is to be played again is no loop of its first film.
    public var expectsMore = false
    /// The output was chosen by a person: without it the film is not played.
    public var isOutputNamed = false

    public init() {}

    /// What is done to every sound.
    var treatment: SoundTreatment {
        var treatment = SoundTreatment.none
        (treatment.isNight, treatment.dialogueLift) = (isNight, Self.held(dialogueLift: dialogueLift))
        treatment.loudness = loudness
        return treatment
    }

    var mayCalibrate: Bool { appliesCalibrations && calibration == .zero }
}
