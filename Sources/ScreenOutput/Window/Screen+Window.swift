internal import CSDL
internal import MediaCore

/// Operations on the open window. Owner thread only.
extension Screen {
    var isOpen: Bool { window != nil }

    /// SDL's number of the window; nil without one.
    var windowNumber: UInt32? { window.map { SDL_GetWindowID($0) } }

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

    /// The current mode of the display; nil without a window.
    var modeNow: DisplayModeChoice.Mode? { window.flatMap { FullScreen.currentMode(of: $0) } }

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
        return (place.x - geometry.titleSafe.x, place.y - geometry.titleSafe.y)
    }

    var isFullScreen: Bool {
        guard let window else { return options.isFullScreen }
        return fullScreen.isOn(window)
    }

    /// Enters or leaves full screen.
    func setFullScreen(_ wanted: Bool) {
        checkThread()
        guard let window else { return options.isFullScreen = wanted }
        guard wanted != isFullScreen else { return }
        handle(fullScreen.set(wanted, window, isManaged: connection?.hasWindowManager != false))
    }

    /// Sets the requested display mode and applies it if the window fills the display.
    ///
    /// - Parameter filmRate: The frame rate of the video in Hz, for `.film`.
    func setMode(_ mode: DisplayMode, filmRate: Double?) {
        checkThread()
        fullScreen.request(mode, filmRate: filmRate)
        if let window { handle(fullScreen.applyMode(to: window)) }
    }

    /// Redraws and reports what a change of full screen or mode requires.
    func handle(_ outcome: FullScreen.Outcome) {
        if outcome.hasChanged { geometryChanged() }
        if let notice = outcome.notice { onEvent?(.notice(notice)) }
    }

    func setTitle(_ title: String) {
        checkThread()
        options.title = title
        if let window { SDL_SetWindowTitle(window, title) }
    }

    /// Brings the window to the front.
    func raise() {
        checkThread()
        guard let window else { return }
        // It restores the size of a maximized window, too.
        if SDL_GetWindowFlags(window) & SDL_WINDOW_MINIMIZED.rawValue != 0 { SDL_RestoreWindow(window) }
        SDL_RaiseWindow(window)
    }

    /// Keeps the window above others, or not, also a window that is opened later.
    func setOnTop(_ isOnTop: Bool) {
        checkThread()
        self.isOnTop = isOnTop
        if let window { SDL_SetWindowAlwaysOnTop(window, isOnTop ? SDL_TRUE : SDL_FALSE) }
    }

    /// Resizes the window as if the user had, unless it fills its display.
    func resize(to size: PixelSize) {
        checkThread()
        guard let window, !isFullScreen else { return }
        sizing.resizedByUser()
        let size = turned(size)
        SDL_SetWindowSize(
            window, Int32(clamping: min(16384, max(1, size.width))), Int32(clamping: min(16384, max(1, size.height))))
        geometryChanged()
    }

    /// Resizes the window for video of another size, unless the user has chosen the window size.
    func fit(to pictureSize: PixelSize) {
        checkThread()
        if let window, !isFullScreen, sizing.fit(window, to: turned(pictureSize)) { geometryChanged() }
    }

    /// Schedules a complete redraw after a change of the window's size, display or memory.
    func geometryChanged() {
        presenter?.invalidate()
        if arrangement != ScreenArrangement() { stack() }
        needsPaint = true
    }

    /// Handles a window event. Returns the input to report; nil if there is none.
    func handle(_ event: SDL_WindowEvent) -> ScreenInput? {
        if let window, !isFullScreen, sizing.fitFrame(window) { geometryChanged() }
        switch SDL_WindowEventID(UInt32(event.event)) {
        case SDL_WINDOWEVENT_CLOSE: return .close
        case SDL_WINDOWEVENT_EXPOSED:
            needsPaint = true
            return nil
        case SDL_WINDOWEVENT_RESIZED:
            // SDL sends this for external changes only, so the user has resized the window.
            if !isFullScreen { sizing.resizedByUser() }
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
