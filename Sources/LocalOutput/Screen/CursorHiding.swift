internal import CSDL
internal import MediaCore

/// Hides the pointer over a film that fills the display, once it has rested for a second.
struct CursorHiding {
    /// When to hide it; nil when it is hidden or shall stay.
    private(set) var hideAt: HostInstant?
    private var isHidden = false
    private let isNeverShown: Bool

    /// - Parameter isNeverShown: it is hidden for good when the window opens.
    init(isNeverShown: Bool = false) { self.isNeverShown = isNeverShown }

    /// The pointer moved, or the window began or ceased to fill the display.
    mutating func pointerMoved(isFullScreen: Bool) {
        if isNeverShown { return }
        if isHidden {
            SDL_ShowCursor(SDL_ENABLE)
            isHidden = false
        }
        hideAt = isFullScreen ? .now.advanced(by: .seconds(1)) : nil
    }

    mutating func hide() {
        SDL_ShowCursor(SDL_DISABLE)
        isHidden = true
        hideAt = nil
    }
}
