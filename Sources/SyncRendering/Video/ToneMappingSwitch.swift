internal import Synchronization

/// Who brings pictures of HDR films to what a screen can show: their decoder, or the screen itself. A screen sets it and decoders ask
/// before each picture. Any thread.
public final class ToneMappingSwitch: Sendable {
    private let state = Atomic<Bool>(false)

    public init() {}

    /// The screen maps them, so that decoders hand them on as they are coded. False until a screen says so.
    public var isDoneByScreen: Bool {
        get { state.load(ordering: .relaxed) }
        set { state.store(newValue, ordering: .relaxed) }
    }
}
