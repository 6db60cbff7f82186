internal import CSDL
internal import MediaCore

/// Operations on the open window. Owner thread only.
extension Screen {
    var isOpen: Bool { window != nil }

    /// The layout of the window; nil without one.
    var geometry: ScreenGeometry? {
        guard window != nil, let presenter else { return nil }
        return ScreenGeometry(arrangement, on: presenter.area)
    }

    /// The upright visible area of the window, in pixels; nil without a window.
    var area: PixelSize? { geometry?.canvas }

    /// Converts a size from canvas to glass orientation.
    func turned(_ size: PixelSize) -> PixelSize {
        arrangement.isSideways ? PixelSize(width: size.height, height: size.width) : size
    }

    /// The display with most of the window; nil without a window.
    var display: ConnectedDisplay? {
        guard let window else { return nil }
        let index = Int(SDL_GetWindowDisplayIndex(window))
        return ConnectedDisplay.all.first { $0.index == index }
    }

    /// Converts a position in window-system units to pixels relative to the title-safe area.
    func pixel(x: Int, y: Int) -> (x: Int, y: Int) {
        guard let window, let geometry else { return (x, y) }
        var (width, height): (Int32, Int32) = (0, 0)
        SDL_GetWindowSize(window, &width, &height)
        let glass = geometry.glass
        let place = geometry.onCanvas(
            x: x * glass.width / max(1, Int(width)), y: y * glass.height / max(1, Int(height)))
        return (place.x - geometry.words.x, place.y - geometry.words.y)
    }

    var isFullScreen: Bool {
        guard let window else { return options.isFullScreen }
        return windowBefore != nil || SDL_GetWindowFlags(window) & SDL_WINDOW_FULLSCREEN.rawValue != 0
    }

    /// Enters or leaves full screen.
    func setFullScreen(_ wanted: Bool) {
        checkThread()
        guard let window else { return setInitialFullScreen(wanted) }
        guard wanted != isFullScreen else { return }
        if !wanted { leaveOwnMode(window) }
        if connection?.hasWindowManager == false {
            coverDisplay(wanted, window)
        } else {
            SDL_SetWindowFullscreen(window, wanted ? SDL_WINDOW_FULLSCREEN_DESKTOP.rawValue : 0)
            // A hidden window takes no mode; it is applied when the window is shown.
            if wanted, isShown { applyMode() }
        }
        geometryChanged()
    }

    private var isShown: Bool { window.map { SDL_GetWindowFlags($0) & SDL_WINDOW_SHOWN.rawValue != 0 } ?? false }

    /// Makes the window cover the display without a window manager, which SDL relies on for full screen.
    private func coverDisplay(_ wanted: Bool, _ window: OpaquePointer) {
        if wanted {
            var before = SDL_Rect()
            SDL_GetWindowPosition(window, &before.x, &before.y)
            SDL_GetWindowSize(window, &before.w, &before.h)
            windowBefore = before
            // SDL takes the size of a window enlarged just before for the size in the new mode.
            guard isShown || mode == .current else { return }
            applyMode()
            if !hasOwnMode { fillDisplay(window) }
        } else {
            guard let before = windowBefore else { return }
            windowBefore = nil
            SDL_SetWindowPosition(window, before.x, before.y)
            SDL_SetWindowSize(window, before.w, before.h)
        }
    }

    /// Moves and resizes the window to cover its display.
    func fillDisplay(_ window: OpaquePointer) {
        var place = SDL_Rect()
        guard SDL_GetDisplayBounds(SDL_GetWindowDisplayIndex(window), &place) == 0 else { return }
        SDL_SetWindowPosition(window, place.x, place.y)
        SDL_SetWindowSize(window, place.w, place.h)
    }

    func setTitle(_ title: String) {
        checkThread()
        setInitialTitle(title)
        if let window { SDL_SetWindowTitle(window, title) }
    }

    /// Resizes the window for video of another size, unless the user has chosen the window size.
    func fit(to pictureSize: PixelSize) {
        checkThread()
        guard let window, !isSizeChosen, !isFullScreen else { return }
        let display = Int(SDL_GetWindowDisplayIndex(window))
        var room = ConnectedDisplay.all.first { $0.index == display }?.usableSize ?? pictureSize
        if let frame { room = PixelSize(width: room.width - frame.wide, height: room.height - frame.high) }
        let size = Self.initialSize(of: turned(pictureSize), wish: nil, within: room)
        var (width, height): (Int32, Int32) = (0, 0)
        SDL_GetWindowSize(window, &width, &height)
        guard Int(width) != size.width || Int(height) != size.height else { return }
        SDL_SetWindowSize(window, Int32(size.width), Int32(size.height))
        keepOnDisplay(window, display, size)
        geometryChanged()
    }

    /// Moves a window that has become larger as far as is needed for it to be on its display, with its frame.
    private func keepOnDisplay(_ window: OpaquePointer, _ display: Int, _ size: PixelSize) {
        var (bounds, x, y) = (SDL_Rect(), Int32(0), Int32(0))
        guard SDL_GetDisplayUsableBounds(Int32(display), &bounds) == 0 else { return }
        SDL_GetWindowPosition(window, &x, &y)
        let (left, top) = (bounds.x + (frame?.left ?? 0), bounds.y + (frame?.top ?? 0))
        let room = PixelSize(width: Int(bounds.w) - (frame?.wide ?? 0), height: Int(bounds.h) - (frame?.high ?? 0))
        let place = (
            x: max(left, min(x, left + Int32(room.width - size.width))),
            y: max(top, min(y, top + Int32(room.height - size.height)))
        )
        if place != (x, y) { SDL_SetWindowPosition(window, place.x, place.y) }
    }

    /// The window manager's frame, in window-system units; nil without a frame, or while unknown.
    private var frame: (left: Int32, top: Int32, wide: Int, high: Int)? {
        var (top, left, bottom, right): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
        guard let window, SDL_GetWindowBordersSize(window, &top, &left, &bottom, &right) == 0 else { return nil }
        let (wide, high) = (Int(left) + Int(right), Int(top) + Int(bottom))
        return wide + high > 0 ? (left, top, wide, high) : nil
    }

    /// Shrinks the window if it exceeds the display including its frame, whose size is known once the window is shown.
    private func fitFrame() {
        guard let window, !isFrameFitted, !isFullScreen, let frame else { return }
        isFrameFitted = true
        var (bounds, width, height) = (SDL_Rect(), Int32(0), Int32(0))
        SDL_GetWindowSize(window, &width, &height)
        guard !isSizeChosen, SDL_GetDisplayUsableBounds(SDL_GetWindowDisplayIndex(window), &bounds) == 0 else { return }
        let room = PixelSize(width: Int(bounds.w) - frame.wide, height: Int(bounds.h) - frame.high)
        guard room.width > 0, room.height > 0, Int(width) > room.width || Int(height) > room.height else { return }
        let size = PicturePlacement.fitted(PixelSize(width: Int(width), height: Int(height)), into: room)
        SDL_SetWindowSize(window, Int32(size.width), Int32(size.height))
        SDL_SetWindowPosition(
            window, bounds.x + frame.left + Int32((room.width - size.width) / 2),
            bounds.y + frame.top + Int32((room.height - size.height) / 2))
        geometryChanged()
    }

    /// Schedules a complete redraw after a change of the window's size, display or memory.
    func geometryChanged() {
        presenter?.invalidate()
        if arrangement != ScreenArrangement() { stack() }
        needsPaint = true
    }

    /// Handles a window event. Returns the input to report; nil if there is none.
    func handle(_ event: SDL_WindowEvent) -> ScreenInput? {
        fitFrame()
        switch SDL_WindowEventID(UInt32(event.event)) {
        case SDL_WINDOWEVENT_CLOSE: return .close
        case SDL_WINDOWEVENT_EXPOSED:
            needsPaint = true
            return nil
        case SDL_WINDOWEVENT_RESIZED:
            // SDL sends this for external changes only, so the user has resized the window.
            if !isFullScreen { isSizeChosen = true }
            return nil
        case SDL_WINDOWEVENT_SIZE_CHANGED:
            geometryChanged()
            return area.map { .resized($0) }
        case SDL_WINDOWEVENT_DISPLAY_CHANGED:
            geometryChanged()
            return nil
        case SDL_WINDOWEVENT_HIDDEN, SDL_WINDOWEVENT_MINIMIZED: return setVisible(false)
        case SDL_WINDOWEVENT_SHOWN, SDL_WINDOWEVENT_RESTORED, SDL_WINDOWEVENT_MAXIMIZED: return setVisible(true)
        default: return nil
        }
    }

    private func setVisible(_ nowVisible: Bool) -> ScreenInput? {
        if nowVisible { needsPaint = true }
        guard isVisible != nowVisible else { return nil }
        isVisible = nowVisible
        return .visible(nowVisible)
    }
}
