internal import CSDL
internal import MediaCore

/// Hides the pointer over a full-screen window after 1 s without motion.
struct CursorHiding {
    /// When to hide the pointer; nil if it is hidden or stays visible.
    private(set) var hideAt: HostInstant?
    private var isHidden = false
    private let isNeverShown: Bool

    /// - Parameter isNeverShown: Whether the window hides the pointer permanently.
    init(isNeverShown: Bool = false) { self.isNeverShown = isNeverShown }

    /// Shows the pointer again. Called when it has moved, and when the window enters or leaves full screen.
    mutating func pointerMoved(isFullScreen: Bool) {
        if isNeverShown { return }
        if isHidden {
            SDL_ShowCursor(SDL_ENABLE)
            isHidden = false
        }
        hideAt = isFullScreen ? .now.advanced(by: .seconds(1)) : nil
    }

    /// Hides the pointer until `pointerMoved`.
    mutating func hide() {
        SDL_ShowCursor(SDL_DISABLE)
        isHidden = true
        hideAt = nil
    }
}
