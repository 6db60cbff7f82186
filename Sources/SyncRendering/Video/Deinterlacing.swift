internal import MediaCore

/// Which pictures are made of two fields that were taken one after the other, and are to be shown so.
public enum Deinterlacing: String, Sendable, CaseIterable {
    /// Those that say so.
    case auto
    /// All, because some films do not say it.
    case yes
    case no
}

/// What a decoder asks before each picture, so that it can be changed in mid-film. Any thread.
public final class DeinterlacingSwitch: Sendable {
    private let state: Lock<Deinterlacing>

    public init(_ mode: Deinterlacing = .auto) { state = Lock(mode) }

    public var mode: Deinterlacing {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
