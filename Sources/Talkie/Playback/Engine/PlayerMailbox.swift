internal import MediaCore

/// Commands on their way to the player's thread.
final class PlayerMailbox: Sendable {
    typealias Command = @Sendable (PlaybackEngine) -> Void
    /// Nil once nobody carries out commands any more.
    private let waiting = Lock<[Command]?>([])
    /// The pipelines to wake when a renderer has room.
    let pipelines = Lock<(audio: TrackPipeline?, video: TrackPipeline?)>((nil, nil))
    /// Ends what the player's thread may be blocked on: the item that began by itself.
    let opening = Lock<OpenCancellation?>(nil)
    /// Raised when a command came in or something the player waits for moved.
    let signal = Signal()

    /// False when the player has been shut down: the command is not carried out.
    @discardableResult
    func post(_ command: @escaping Command) -> Bool {
        let isTaken = waiting.withLock { waiting in
            waiting?.append(command)
            return waiting != nil
        }
        signal.raise()
        return isTaken
    }

    func takeAll() -> [Command] {
        waiting.withLock { waiting in
            guard let all = waiting, !all.isEmpty else { return [] }
            waiting = []
            return all
        }
    }

    /// Commands that wait; whoever comes later is refused.
    func close() -> [Command] {
        waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting ?? []
        }
    }

    /// Whatever comes next, the film that plays is given up. Any thread.
    func cancelOpening() { opening.withLock { $0 }?.cancel() }
}
