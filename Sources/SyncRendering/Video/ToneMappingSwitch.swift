internal import Synchronization

/// Whether decoders or the screen perform the tone mapping of HDR video. Set by a screen and queried by decoders before
/// each frame. Any thread.
public final class ToneMappingSwitch: Sendable {
    private let state = Atomic<Bool>(false)

    /// Creates a switch for tone mapping by decoders.
    public init() {}

    /// Whether the screen maps tones, so that decoders output frames unmapped. Initially false.
    package var isDoneByScreen: Bool {
        get { state.load(ordering: .relaxed) }
        set { state.store(newValue, ordering: .relaxed) }
    }
}
