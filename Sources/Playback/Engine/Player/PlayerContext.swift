internal import MediaCore
internal import SyncRendering

/// What the parts of an engine have in common. Confined to the player's thread.
struct PlayerContext {
    let components: Player.Components
    /// The options at the start; what the user changes later is owned by the part that applies it.
    let options: PlayerOptions
    let list: SharedPlaybackList
    let synchronizer: RenderSynchronizer
    let events: EventLog
    let mailbox: PlayerMailbox
    let progress: ProgressGate
    let status: PlayerStatus
    /// Starts the thread of a pipeline; tests drive it instead.
    let start: (TrackPipeline, String) -> Void

    var clock: any HostClock { components.clock }
    /// The playhead on the timeline.
    var playhead: MediaTime { synchronizer.currentTime() }

    /// Returns a pipeline without a thread that wakes the player after each command and at its end.
    func pipeline(_ stage: sending any TrackStage) -> TrackPipeline {
        TrackPipeline(stage: stage, onEvent: { [mailbox] in mailbox.signal.raise() })
    }

    /// Handles commands of outputs on any thread; nil if they are ignored.
    var commandHandler: (@Sendable (OutputCommand, OutputID) -> Void)? {
        guard options.obeysOutputs else { return nil }
        return { [mailbox] command, output in mailbox.request { command.perform(on: $0, from: output) } }
    }

    /// Returns a function that handles events of a renderer on its feeder thread.
    ///
    /// - Parameter fail: Called on the player's thread with a failure.
    func handler(
        fail: @escaping @Sendable (PlaybackEngine, TalkieError, OutputError?) -> Void
    ) -> @Sendable (AudioRenderer.Event) -> Void {
        { [mailbox, progress] event in
            switch event {
            case .progress: progress.report()
            case .readyForMoreMediaData: break
            case .cannotDecode(let error): mailbox.post { fail($0, TalkieError(.failed, error.message), nil) }
            case .outputFailed(let error):
                let code: TalkieError.Code = error.code == .notPermitted ? .notPermitted : .unavailable
                mailbox.post { fail($0, TalkieError(code, error.message), error) }
            }
        }
    }
}

/// A position on the timeline to which single tracks are sent, with the number of the seek that led to it.
struct TrackTarget {
    let time: MediaTime
    let serial: Int
    /// Whether only a single track is sent there, while the others play on.
    var isAlone = false

    var aim: SeekAim { isAlone ? .exactAlone : .exact }
}
