internal import CSDL
internal import MediaCore

/// Sizes a window after its video, within its display, unless the user or an option has chosen the size.
struct WindowSizing {
    private var isChosen = false
    /// Whether the window was fitted into its display including its frame.
    private var isFrameFitted = false

    /// Returns the requested size, or that of the video scaled down to fit `room`. Both sides are 1…16384.
    static func initialSize(of videoSize: PixelSize, request: PixelSize?, within room: PixelSize) -> PixelSize {
        let size = request ?? videoSize
        let fits = size.width <= room.width && size.height <= room.height
        let chosen = fits || request != nil ? size : VideoPlacement.fitted(size, into: room)
        return PixelSize(width: min(16384, max(1, chosen.width)), height: min(16384, max(1, chosen.height)))
    }

    /// Starts with a new window.
    mutating func opened(hasChosenSize: Bool) { isChosen = hasChosenSize }

    /// Keeps the size that the user has chosen.
    mutating func resizedByUser() { isChosen = true }

    /// Resizes the window for video of another size. Returns false if it keeps its size.
    func fit(_ window: OpaquePointer, to videoSize: PixelSize) -> Bool {
        guard !isChosen else { return false }
        let display = Int(SDL_GetWindowDisplayIndex(window))
        let frame = Self.frame(of: window)
        var room = ConnectedDisplay.all.first { $0.index == display }?.usableSize ?? videoSize
        if let frame { room = PixelSize(width: room.width - frame.wide, height: room.height - frame.high) }
        let size = Self.initialSize(of: videoSize, request: nil, within: room)
        guard size != Self.size(of: window) else { return false }
        SDL_SetWindowSize(window, Int32(size.width), Int32(size.height))
        // A larger window is moved as far as is needed for it to be on its display, with its frame.
        var (bounds, x, y) = (SDL_Rect(), Int32(0), Int32(0))
        guard SDL_GetDisplayUsableBounds(Int32(display), &bounds) == 0 else { return true }
        SDL_GetWindowPosition(window, &x, &y)
        let (left, top) = (bounds.x + (frame?.left ?? 0), bounds.y + (frame?.top ?? 0))
        let (wide, high) = (bounds.w - Int32(frame?.wide ?? 0), bounds.h - Int32(frame?.high ?? 0))
        let origin = (
            x: max(left, min(x, left + wide - Int32(size.width))),
            y: max(top, min(y, top + high - Int32(size.height)))
        )
        if origin != (x, y) { SDL_SetWindowPosition(window, origin.x, origin.y) }
        return true
    }

    /// Shrinks the window if it exceeds the display including its frame, whose size is known once the window is shown.
    /// Returns false if it keeps its size.
    mutating func fitFrame(_ window: OpaquePointer) -> Bool {
        guard !isFrameFitted, let frame = Self.frame(of: window) else { return false }
        isFrameFitted = true
        var bounds = SDL_Rect()
        guard !isChosen, SDL_GetDisplayUsableBounds(SDL_GetWindowDisplayIndex(window), &bounds) == 0 else {
            return false
        }
        let now = Self.size(of: window)
        let room = PixelSize(width: Int(bounds.w) - frame.wide, height: Int(bounds.h) - frame.high)
        guard room.width > 0, room.height > 0, now.width > room.width || now.height > room.height else { return false }
        let size = VideoPlacement.fitted(now, into: room)
        SDL_SetWindowSize(window, Int32(size.width), Int32(size.height))
        SDL_SetWindowPosition(
            window, bounds.x + frame.left + Int32((room.width - size.width) / 2),
            bounds.y + frame.top + Int32((room.height - size.height) / 2))
        return true
    }

    private static func size(of window: OpaquePointer) -> PixelSize {
        var (width, height): (Int32, Int32) = (0, 0)
        SDL_GetWindowSize(window, &width, &height)
        return PixelSize(width: Int(width), height: Int(height))
    }

    /// Returns the window manager's frame, in window-system units; nil without a frame, or while unknown.
    private static func frame(of window: OpaquePointer) -> (left: Int32, top: Int32, wide: Int, high: Int)? {
        var (top, left, bottom, right): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
        guard SDL_GetWindowBordersSize(window, &top, &left, &bottom, &right) == 0 else { return nil }
        let (wide, high) = (Int(left) + Int(right), Int(top) + Int(bottom))
        return wide + high > 0 ? (left, top, wide, high) : nil
    }
}
