public import MediaCore

/// What an interface shows of a player: one value, read whole.
public struct PlayerState: Sendable {
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
    /// Name of the file, or the address.
    public var title = ""
    /// Film moment perceived now, or where a jump under way leads.
    public var position: MediaTime = .zero
    /// The player's timeline minus the film's own: films that follow one another without a seam, and loops, are on one
    /// timeline, which is what a timebase, pictures and events speak of. Zero for a film that was opened or sought in.
    public internal(set) var lineOffset: MediaTime = .zero
    /// Nil for live streams.
    public var duration: MediaTime?
    public var speed: Double = 1
    public var volume: Double = 100
    public var isMuted = false
    public var audioDelay: Duration = .zero
    public var hasVideo = false
    /// What the picture track holds, so that a screen can get ready; nil without one.
    public var pictureFormat: VideoFormat?
    public var hasAudio = false
    /// Where the sound goes: `"default"`, `"Kitchen"`.
    public var audioRoute: String?
    /// How far a change of outputs is, for people: "waiting for Kitchen's clock, about 1.2 s"; nil while none is under way.
    public var routeChange: String?
    /// Sound against picture as the outputs report it (positive: sound late); nil while unknown.
    public var offset: Duration?
    public var droppedFrames = 0
    public var underruns = 0
    /// Why playback waits, for people: "waiting for sound", "waiting for Kitchen's clock, about 1.2 s".
    public var reason: String?
    public var failure: PlayerFailure?

    public init() {}
}

/// Why a film cannot be played, with the program's exit status for it.
public struct PlayerFailure: Error, Sendable, CustomStringConvertible {
    /// 1 failed while running, 66 cannot open the input, 69 an output is unavailable, 77 not permitted.
    public var exitStatus: Int32
    /// One sentence for a person: what is wrong and what to do.
    public var message: String
    public var description: String { message }

    public init(exitStatus: Int32, message: String) {
        self.exitStatus = exitStatus
        self.message = message
    }
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
    /// A film of `setNext` is perceived from this moment of the timeline on, without a seam behind the one before; `state`
    /// speaks of it.
    case began(QueueItem, at: MediaTime)
    /// The film is perceived from its start once more, from this moment of the timeline on.
    case looped(at: MediaTime)
    /// A film of `setNext` cannot be played; the one behind it is next.
    case nextFailed(QueueItem, PlayerFailure)
    /// The film that is to loop for ever cannot be read any more; it is opened again as soon as it can be.
    case lost(PlayerFailure)
}
