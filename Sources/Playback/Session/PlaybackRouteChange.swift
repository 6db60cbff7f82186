public import MediaCore
public import SyncRendering

/// A change of the outputs that are heard, as `PlayerEvent.routeChanged`: outputs of the main audio track and of added
/// ones.
public struct PlaybackRouteChange: Sendable, Hashable {
    /// Why the outputs have changed.
    public enum Reason: String, Sendable, CaseIterable {
        /// Outputs were selected: by the user or the caller.
        case chosen = "chosen"
        /// An output has become available, or available again, and is heard.
        case newOutput = "newOutput"
        /// An output was disconnected, switched off, or does not answer any more.
        case outputGone = "outputGone"
        /// Another sender or program uses the output.
        case takenOver = "takenOver"
        /// The output failed, or refuses access.
        case failed = "failed"
        /// The sound server has moved the audio of a card to another sink.
        case moved = "moved"
    }

    /// An output that is heard.
    public struct Output: Sendable, Hashable {
        /// The output's ID in events.
        public var id: OutputID
        /// The output's name for the user.
        public var name: String
        /// The kind of output.
        public var kind: AudioRouteKind
        /// The name of the device that plays, if it is not the output's own, or of the sink of a sound server; nil if
        /// there is none or it is unknown.
        public var device: String?
    }

    /// Why the outputs have changed.
    public var reason: Reason
    /// The outputs that were heard before.
    public var previous: [Output]
    /// The outputs that are heard from now on; empty while all are silent.
    public var current: [Output]
    /// The cause, with a message that includes the remedy; nil for `chosen`, `newOutput` and `moved`.
    public var error: OutputError?
    /// Whether one of the outputs has been open since it was selected. Otherwise the player reports the failure of the
    /// audio.
    package var hasOpened = true

    /// The outputs that are not heard any more.
    public var removed: [Output] { previous.filter { old in !current.contains { $0.id == old.id } } }
    /// The outputs that are heard newly.
    public var added: [Output] { current.filter { new in !previous.contains { $0.id == new.id } } }

    /// Creates a change.
    init(reason: Reason, previous: [Output], current: [Output], error: OutputError? = nil) {
        (self.reason, self.previous, self.current, self.error) = (reason, previous, current, error)
    }
}

extension PlaybackRouteChange.Reason {
    /// The reason for an output that is silent because of an error.
    init(_ error: OutputError) {
        self =
            switch error.code {
            case .busy: .takenOver
            case .lost, .unavailable: .outputGone
            default: .failed
            }
    }
}
