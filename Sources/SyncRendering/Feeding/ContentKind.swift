/// What kind of sound a renderer plays; decides where it may go and what it must share a timeline with.
public enum ContentKind: String, Sendable, CaseIterable {
    /// The sound of a film: long, one at a time on each output, may go to speakers.
    case film
    case music
    case spokenAudio
    /// Clicks and chimes of a program: short, any number at once, never on a speaker across the network, where they
    /// would come half a second late and interrupt the neighbours.
    case interfaceSound
    /// Signals that measure outputs: any number at once, each with an output of its own, also across the network.
    case testSignal

    /// A synchronizer has several such renderers only when each has outputs of its own.
    public var isLongForm: Bool { self != .interfaceSound && self != .testSignal }

    /// Whether sound of this kind may take such a route.
    public func mayTake(_ route: AudioRouteKind) -> Bool {
        self != .interfaceSound || !route.isRemote
    }
}
