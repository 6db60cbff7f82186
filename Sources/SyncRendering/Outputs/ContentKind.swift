/// The kind of audio that a renderer plays; determines its permitted routes and the timeline it shares.
public enum ContentKind: String, Sendable, CaseIterable {
    /// The audio of a film: long, one at a time per output, permitted on speakers.
    case film = "film"
    /// Music: treated like `film`.
    case music = "music"
    /// Spoken audio: treated like `film`.
    case spokenAudio = "spokenAudio"
    /// Interface sounds: short, any number at once. Never sent to a network speaker, where they would play half a
    /// second late and disturb others.
    case interfaceSound = "interfaceSound"
    /// Measurement signals: any number at once, each with a separate output, also across the network.
    case testSignal = "testSignal"

    /// Whether a synchronizer permits several such renderers only with separate outputs.
    package var isLongForm: Bool { self != .interfaceSound && self != .testSignal }

    /// Returns true if audio of this kind may use the route.
    package func mayTake(_ route: AudioRouteKind) -> Bool {
        self != .interfaceSound || !route.isRemote
    }
}
