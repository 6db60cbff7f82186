public import SyncRendering

/// How a player shares this computer's outputs with other programs and senders: a value that a player owns.
///
///     player.session = PlaybackSession(contentKind: .music)
///
/// It decides what interruptions (`PlaybackInterruption`) and the loss of all outputs (`PlaybackRouteChange`) do to
/// playback. The audio of a player is mixed with that of other programs by the sound server in any case: streams state
/// no role (`media.role`), because desktops restore a volume for each role.
public struct PlaybackSession: Sendable, Hashable {
    /// What an interruption does to playback.
    public enum Mixing: String, Sendable, CaseIterable {
        /// Playback pauses. It resumes when the interruption ends, if that permits it.
        case pauses = "pauses"
        /// Playback continues 20 dB below its volume.
        case ducks = "ducks"
        /// Playback continues unchanged.
        case mixes = "mixes"
    }

    /// What the loss of all outputs does to playback.
    public enum LostRoutePolicy: String, Sendable, CaseIterable {
        /// Playback continues; audio resumes in sync when an output returns.
        case wait = "wait"
        /// A `RouteController` selects this computer (`RouteController.handle(_:)`).
        case local = "local"
        /// Playback pauses.
        case pause = "pause"
    }

    /// The kind of content.
    public var contentKind: ContentKind
    /// What an interruption does; nil: what is usual for the kind. Films and spoken audio pause, since what is missed
    /// would have to be sought; music ducks; other kinds mix. Outputs that were taken over, and sleep, never duck.
    public var mixing: Mixing?
    /// What the loss of all outputs does.
    public var lostRoutePolicy: LostRoutePolicy

    /// Creates a session.
    public init(
        contentKind: ContentKind = .film, mixing: Mixing? = nil, lostRoutePolicy: LostRoutePolicy = .wait
    ) {
        (self.contentKind, self.mixing, self.lostRoutePolicy) = (contentKind, mixing, lostRoutePolicy)
    }

    /// Returns what an interruption of this cause does.
    func response(to cause: PlaybackInterruption.Cause) -> Mixing {
        let mixing = mixing ?? contentKind.usualMixing
        return switch cause {
        case .otherAudio: mixing
        // A lower volume has no effect on outputs that are silent.
        case .takenOver, .sleep: mixing == .pauses ? .pauses : .mixes
        }
    }
}

extension ContentKind {
    fileprivate var usualMixing: PlaybackSession.Mixing {
        switch self {
        case .film, .spokenAudio: .pauses
        case .music: .ducks
        case .interfaceSound, .testSignal: .mixes
        }
    }
}
