public import MediaCore
public import SyncRendering

/// The state of a player for an interface, as one consistent value.
public struct PlayerState: Sendable, Equatable {
    /// The phase of playback.
    public enum Phase: String, Sendable {
        /// No item was opened.
        case idle = "idle"
        /// Opening the item.
        case opening = "opening"
        /// Collecting the media required for a start or a seek.
        case buffering = "buffering"
        /// Playing.
        case playing = "playing"
        /// Paused.
        case paused = "paused"
        /// The playlist has ended.
        case ended = "ended"
        /// The item cannot be played; see `failure`.
        case failed = "failed"
    }

    /// The phase of playback.
    public var phase: Phase = .idle
    /// Whether playback is paused, or will be once it can start.
    public internal(set) var isPaused = false
    /// The current or awaited item and the upcoming ones.
    public var items: [QueueItem] = []
    /// The last 10,000 items that have passed, oldest first.
    public internal(set) var history: [QueueItem] = []
    /// The position of the current item among all items including those that have passed, 1 for the first.
    public internal(set) var itemNumber = 0
    /// The item that follows the current one; nil at the end of the playlist.
    public internal(set) var next: QueueItem?
    /// The number of all items, including those that have passed.
    public internal(set) var itemCount = 0
    /// The repetitions of each item.
    public internal(set) var loopItem = PlayerOptions.Loop.times(0)
    /// The repetitions of the playlist.
    public internal(set) var loopList = PlayerOptions.Loop.times(0)
    /// Whether the playlist is played in a random order.
    public internal(set) var isShuffled = false
    /// The current item.
    public var current: QueueItem?
    /// The displayed title: the item's, that of the media, or the file name.
    public var title = ""
    /// The artist stated by the media.
    public internal(set) var artist: String?
    /// The album stated by the media.
    public internal(set) var album: String?
    /// The genre stated by the media.
    public internal(set) var genre: String?
    /// The number of the recording on its album, stated by the media.
    public internal(set) var trackNumber: Int?
    /// The cover of the item, or a frame of it, for displays; nil if there is none, and until it is loaded. See
    /// `PlayerOptions.loadsArtwork`.
    public internal(set) var artwork: NowPlaying.Artwork? {
        didSet { if artwork != oldValue { artworkNumber &+= 1 } }
    }
    /// Changes with `artwork`, which is too large for a comparison at each change of the state.
    private(set) var artworkNumber = 0
    /// The current media time, or the target of a seek in progress.
    public var position: MediaTime = .zero
    /// The player's timeline minus media time. Gapless items and loops share one timeline, which timebase, video frames
    /// and events refer to. Zero after an item was opened or a seek.
    public internal(set) var timelineOffset: MediaTime = .zero
    /// The media time at which playback resumes after an interstitial; nil outside interstitials.
    var heldPosition: MediaTime?
    /// The duration; nil for live streams.
    public var duration: MediaTime?
    /// The chapters of the current item in order.
    public var chapters: [Chapter] = []
    /// Media seconds per second.
    public var speed: Double = 1
    /// The master volume, 0…130: that of the loudest output.
    public var volume: Double = 100
    /// Whether the volume is known: speakers report their owner's when a session begins.
    package internal(set) var isVolumeKnown = true
    /// Whether audio is muted.
    public var isMuted = false
    /// Whether night mode reduces the dynamic range.
    public internal(set) var isNight = false
    /// The amplification of the centre channel in decibels.
    public internal(set) var dialogueLift = 0.0
    /// The delay of audio relative to video; positive: audio is later.
    public var audioDelay: Duration = .zero
    /// Whether the item has moving video.
    public var hasVideo = false
    /// Whether a single image is shown for the item's whole duration, as for an image file.
    package internal(set) var isStill = false
    /// The format of the displayed video or cover art, so that a screen can prepare; nil if there is none.
    public var displayedVideoFormat: VideoFormat?
    /// The displayed video track or cover art.
    public internal(set) var videoTrack: Track?
    /// All video tracks of the item, including cover art.
    public internal(set) var videoTracks: [Track] = []
    /// Which video frames are deinterlaced.
    public internal(set) var deinterlacing = Deinterlacing.auto
    /// Whether the item has audio.
    public var hasAudio = false
    /// The playing audio track.
    public var audioTrack: Track?
    /// All audio tracks of the item.
    public var audioTracks: [Track] = []
    /// The playing tracks of additional audio tracks (`Player.addAudio`), without those that the item lacks.
    public internal(set) var addedTracks: [AddedAudioID: Track] = [:]
    /// The displayed subtitle track.
    public var subtitleTrack: Track?
    /// All subtitle tracks of the item, including external files.
    public var subtitleTracks: [Track] = []
    /// Whether subtitles are visible.
    public var showsSubtitles = true
    /// The displayed secondary subtitle track.
    public internal(set) var secondarySubtitleTrack: Track?
    /// Whether secondary subtitles are visible.
    public internal(set) var showsSecondarySubtitles = true
    /// The placement and size of subtitles.
    public internal(set) var subtitleStyle = SubtitleStyle()
    /// The delay of subtitles; positive is later.
    public var subtitleDelay: Duration = .zero
    /// The name of the audio output: `"default"`, `"Kitchen"`.
    public var audioRoute: String?
    /// The state of a change of outputs for the user: "waiting for Kitchen's clock, about 1.2 s"; nil if there is none.
    public var routeChange: String?
    /// The offset of audio from video as reported by the outputs (positive: audio late); nil if unknown.
    public var offset: Duration?
    /// Position on the player's timeline up to which all selected tracks have been read, without those at their end.
    /// Nil until each of them has delivered media.
    public var loadedUntil: MediaTime?
    /// How much of the item was read ahead from a server, beyond `loadedUntil`; nil for other items.
    public internal(set) var readAhead: ReadAheadProgress?
    /// Position on the player's timeline up to which the item is in memory: `loadedUntil` and what was read ahead,
    /// whose duration is an estimate. Nil like `loadedUntil`.
    package var cachedUntil: MediaTime? {
        loadedUntil.map { loaded in
            let end = MediaTime(boundedSeconds: (readAhead?.duration ?? .zero).inSeconds).map { loaded + $0 } ?? loaded
            return max(loaded, min(end, duration.map { $0 + timelineOffset } ?? end))
        }
    }
    /// Position on the player's timeline up to which the output has accepted audio; the minimum of several outputs.
    package var handedUntil: MediaTime?
    /// The number of iterations of the engine's thread, for a watchdog; see `Player.probe`.
    package internal(set) var turns = 0
    /// Whether the audio track was read to its end or waits for the next item.
    package internal(set) var audioIsRead = true
    /// Position on the player's timeline up to which audio has been read; nil before the first packet.
    package internal(set) var audioReadUntil: MediaTime?
    /// Position on the player's timeline where the item's audio ends; nil until it was read to its end.
    package internal(set) var audioEnd: MediaTime?
    /// The parts of the item whose audio could not be decoded since the last seek, on the player's timeline.
    package internal(set) var audioLosses: [MediaTimeRange] = []
    /// Whether the video track was read to its end or waits for the next item.
    package internal(set) var videoIsRead = true
    /// The number of video frames dropped.
    public var droppedFrames = 0
    /// The number of audio underruns.
    public var underruns = 0
    /// Outputs that are silent during playback or reject the volume; empty if there are none.
    public internal(set) var outputProblems: [OutputProblem] = []
    /// How playback shares the outputs with other programs and senders.
    public internal(set) var session = PlaybackSession(mixing: .mixes)
    /// The cause of the interruption in progress, the latest of several; nil if there is none.
    public internal(set) var interruption: PlaybackInterruption.Cause?
    /// The reason for a wait, for the user: "waiting for sound", "waiting for Kitchen's clock, about 1.2 s", "Waiting
    /// for the network: 34 %".
    public var reason: String?
    /// The progress while playback is held for a slow source: the read fraction of the required reserve, 0…1. Nil
    /// otherwise.
    public internal(set) var bufferingProgress: Double?
    /// The reason for the phase `failed`.
    public var failure: TalkieError?
    /// The part of `current` that could not be read or decoded; nil if there is none. Truncated media still ends in the
    /// phase `ended`. Reset when another item begins.
    public internal(set) var mediaFailure: MediaFailure?

    /// Creates the state of an idle player.
    public init() {}

    /// The current item for outputs that display it; nil if there is none. During an interstitial its duration is
    /// unknown.
    public var nowPlaying: NowPlaying? {
        guard current != nil else { return nil }
        return NowPlaying(
            title: title, artist: artist, album: album, genre: genre, trackNumber: trackNumber, artwork: artwork,
            duration: heldPosition == nil ? duration : nil, start: timelineOffset)
    }

    /// Whether an item is open.
    package var isUnderWay: Bool { [.playing, .paused, .buffering].contains(phase) }
}

/// A part of an item that could not be played.
public struct MediaFailure: Sendable, Equatable {
    /// The cause, with a message that includes the remedy.
    public var error: TalkieError
    /// The media time at which the item ends early or the loss starts.
    public var position: MediaTime

    /// Creates a failure.
    public init(error: TalkieError, position: MediaTime) { (self.error, self.position) = (error, position) }
}

/// An event of a player. Delivered on the player's thread; the handler must not block.
public enum PlayerEvent: Sendable {
    /// The phase changed.
    case phase(PlayerState.Phase)
    /// A message for the user, shown once: "sound continues on the local card".
    case message(String)
    /// A seek to this media time, or near it, has started; `sought` reports the result.
    case seeking(MediaTime)
    /// A seek has ended at this media time.
    case sought(MediaTime)
    /// An item plays from this time of the timeline on; `state` refers to it. It follows the preceding one gaplessly,
    /// or was started separately: the first item, after a seek, or if it was not ready in time.
    case began(QueueItem, at: MediaTime, isJoined: Bool)
    /// An item has played to its end, and no repetition of it follows; `state` still refers to it.
    case ended(QueueItem)
    /// The item repeats from this time of the timeline on.
    case looped(at: MediaTime)
    /// An item cannot be played and is skipped.
    case failed(QueueItem, TalkieError)
    /// A part of an item cannot be played: a read failed, its data ends early, or audio could not be decoded. Reported
    /// once per playback, when the position is reached. The rest of the item and the playlist continue.
    case incomplete(QueueItem, MediaFailure)
    /// An output is silent or rejects the volume; see `PlayerState.outputProblems`. Playback continues.
    case outputProblem(OutputProblem)
    /// The problem of an output is resolved, or the output no longer plays.
    case outputRecovered(OutputProblem)
    /// The outputs that are heard have changed.
    case routeChanged(PlaybackRouteChange)
    /// Something other than the user has interrupted playback, or does not any more. The player has responded as its
    /// session requires.
    case interruption(PlaybackInterruption)
    /// The media of an item or a playlist that repeats forever is unreadable; it is reopened as soon as possible.
    case lost(TalkieError)
}
