public import MediaCore
public import SyncRendering

/// What an interface shows of a player: one value, read whole.
public struct PlayerState: Sendable, Equatable {
    public enum Phase: String, Sendable {
        /// No film yet.
        case idle
        /// Reading the head of the film.
        case opening
        /// Collecting what a start or a jump needs.
        case buffering
        case playing
        case paused
        /// The film played to its end.
        case ended
        /// The film cannot be played; see `failure`.
        case failed
    }

    public var phase: Phase = .idle
    /// The item that is perceived, or about to be, and those to come.
    public var items: [QueueItem] = []
    /// The item that is perceived.
    public var current: QueueItem?
    /// What people are shown: the item's title, the film's own, or the name of the file.
    public var title = ""
    /// Who plays or sings, and the record that it is from, where a recording says so.
    public internal(set) var artist: String?
    public internal(set) var album: String?
    /// Film moment perceived now, or where a jump under way leads.
    public var position: MediaTime = .zero
    /// The player's timeline minus the film's own: films that follow one another without a seam, and loops, are on one
    /// timeline, which is what a timebase, pictures and events speak of. Zero for a film that was opened or sought in.
    public internal(set) var lineOffset: MediaTime = .zero
    /// Where the film stands while something else plays in the middle of it.
    package var heldPosition: MediaTime?
    /// Nil for live streams.
    public var duration: MediaTime?
    /// Of the film that is perceived, in order.
    public var chapters: [Chapter] = []
    public var speed: Double = 1
    /// The master volume, 0…130: that of the loudest output.
    public var volume: Double = 100
    public var isMuted = false
    public var audioDelay: Duration = .zero
    /// It has moving pictures.
    public var hasVideo = false
    /// One picture is shown for the item's whole duration, as of a picture file.
    package internal(set) var isStill = false
    /// What is shown, so that a screen can get ready: pictures, or the one that came along with a recording; nil shows nothing.
    public var pictureFormat: VideoFormat?
    public var hasAudio = false
    /// The sound track that plays, and all that the film has.
    public var audioTrack: Track?
    public var audioTracks: [Track] = []
    /// The subtitles that are shown, and all that the film has or that lie beside it.
    public var subtitleTrack: Track?
    public var subtitleTracks: [Track] = []
    /// False where they are hidden for now.
    public var showsSubtitles = true
    /// Positive: subtitles later than the film says.
    public var subtitleDelay: Duration = .zero
    /// Where the sound goes: `"default"`, `"Kitchen"`.
    public var audioRoute: String?
    /// How far a change of outputs is, for people: "waiting for Kitchen's clock, about 1.2 s"; nil while none is under way.
    public var routeChange: String?
    /// Sound against picture as the outputs report it (positive: sound late); nil while unknown.
    public var offset: Duration?
    /// Position on the player's timeline up to which every selected track has been read that is not at its end; nil while
    /// one of them has nothing.
    public var loadedUntil: MediaTime?
    /// How far the output holds it; of several the one that holds least.
    public var handedUntil: MediaTime?
    /// How often the engine's thread has turned: whoever watches over it sees it move, four times a second while a film plays.
    package internal(set) var turns = 0
    /// The track has been read to its end, or waits for the next film: nothing more of it is due.
    package internal(set) var soundIsRead = true
    /// Position on the player's timeline up to which sound has been read; nil before the first.
    package internal(set) var soundReadUntil: MediaTime?
    package internal(set) var picturesAreRead = true
    public var droppedFrames = 0
    public var underruns = 0
    /// Outputs that have fallen silent while a film plays, and those that refuse the volume; empty while all is well.
    public internal(set) var outputProblems: [OutputProblem] = []
    /// Why playback waits, for people: "waiting for sound", "waiting for Kitchen's clock, about 1.2 s", "Waiting for the network: 34 %".
    public var reason: String?
    /// While film time is held because the source delivers too slowly: the share of the reserve that has been read, 0…1. Nil otherwise.
    public internal(set) var bufferingProgress: Double?
    public var failure: TalkieError?
    /// What could not be read or decoded of `current`: a film that breaks off still ends in the phase `ended`. Nil while nothing is
    /// missing, and again when another item begins.
    public internal(set) var mediaFailure: MediaFailure?

    public init() {}
}

/// A part of an item that could not be played, and why.
public struct MediaFailure: Sendable, Equatable {
    /// The cause, with a sentence that says what to do.
    public var error: TalkieError
    /// The film time at which the item breaks off, or from which something is missing.
    public var position: MediaTime

    public init(error: TalkieError, position: MediaTime) { (self.error, self.position) = (error, position) }
}

/// What a player tells its owner, on its own thread; the handler must return at once.
public enum PlayerNews: Sendable {
    /// The phase changed.
    case phase(PlayerState.Phase)
    /// Something a person should read once: "sound continues on the local card".
    case message(String)
    /// Somebody winds to this film position, or near it; `sought` tells where the jump ended.
    case seeking(MediaTime)
    /// A jump ended at this film position.
    case sought(MediaTime)
    /// An item is perceived from this moment of the timeline on; `state` speaks of it. It joins the one before without a seam,
    /// or was begun by itself: the first, after a jump, or when it could not be there in time.
    case began(QueueItem, at: MediaTime, isJoined: Bool)
    /// The item is perceived from its start once more, from this moment of the timeline on.
    case looped(at: MediaTime)
    /// An item cannot be played and is passed over.
    case failed(QueueItem, TalkieError)
    /// A part of an item cannot be played: reading failed in its middle, its data end early, or sound could not be decoded. Reported
    /// once for each playing, when playback is there. The item goes on with what there is of it, and the list after it.
    case incomplete(QueueItem, MediaFailure)
    /// An output has fallen silent, or refuses the volume; see `PlayerState.outputProblems`. The film goes on.
    case outputProblem(OutputProblem)
    /// What was wrong with an output is over, or the output does not play any more.
    case outputRecovered(OutputProblem)
    /// Nothing can be read any more of a film or a list that is to loop for ever; it is opened again as soon as it can be.
    case lost(TalkieError)
}
