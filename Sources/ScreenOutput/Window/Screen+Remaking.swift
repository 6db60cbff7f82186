internal import CSDL
internal import CX11
internal import MediaCore
internal import SyncRendering

/// Recreation of the window after its display was removed, reconnected or changed.
extension Screen {
    /// Whether the window is on its display, and SDL's geometry of that display is current.
    var stands: Bool {
        guard let window, !isConnectionLost() else { return false }
        if options.isPlacedByUser { return isShown(window) && !(isDisplaced && mayReturn(window)) }
        // ignored: opening the window again reports a display that is not there.
        guard let chosen = try? ConnectedDisplay.chosen(by: options.display, among: ConnectedDisplay.all) else {
            return false
        }
        let index = SDL_GetWindowDisplayIndex(window)
        // Without a request, the window may be on any display that the user moved it to.
        if options.display != nil || isFullScreen, Int(index) != chosen.index { return false }
        return !isOutdated(window)
    }

    /// Returns whether an active display shows the window.
    private func isShown(_ window: OpaquePointer) -> Bool {
        guard let monitors = monitors(window) else { return SDL_GetNumVideoDisplays() > 0 }
        // A window manager or compositor moves windows to a remaining display.
        guard connection?.hasWindowManager == false else { return !monitors.isEmpty }
        var rect = SDL_Rect()
        SDL_GetWindowPosition(window, &rect.x, &rect.y)
        SDL_GetWindowSize(window, &rect.w, &rect.h)
        let middle = PixelRect(x: Int(rect.x + rect.w / 2), y: Int(rect.y + rect.h / 2), width: 1, height: 1)
        return monitors.contains { !$0.intersection(middle).isEmpty }
    }

    /// Returns whether the requested display may be there, so that the window can return to it.
    private func mayReturn(_ window: OpaquePointer) -> Bool {
        if isOutdated(window) { return true }
        // ignored: a display that is missing is no error here.
        return (try? ConnectedDisplay.chosen(by: options.display, among: ConnectedDisplay.all)) != nil
    }

    /// Returns true if SDL's display geometry is outdated: SDL 2 ignores mode changes and power-off of X displays by
    /// other programs.
    private func isOutdated(_ window: OpaquePointer) -> Bool {
        guard let found = monitors(window) else { return false }
        var known: Set<PixelRect> = []
        for index in 0..<max(0, SDL_GetNumVideoDisplays()) {
            var bounds = SDL_Rect()
            if SDL_GetDisplayBounds(index, &bounds) == 0 { known.insert(PixelRect(bounds)) }
        }
        return Set(found) != known
    }

    /// Returns the areas of the active displays; nil if the window system does not report them.
    private func monitors(_ window: OpaquePointer) -> [PixelRect]? {
        guard let display = csdl_x11_display(window) else { return nil }
        var monitors = [cx11_rect](repeating: cx11_rect(), count: 16)
        let count = cx11_monitors(display, &monitors, 16)
        guard count >= 0 else { return nil }
        return monitors.prefix(Int(count)).map {
            PixelRect(x: Int($0.x), y: Int($0.y), width: Int($0.width), height: Int($0.height))
        }
    }

    /// Resizes the window to the current display mode, since SDL 2 keeps the size found at the start.
    func coverDisplayAgain() {
        guard let window, fullScreen.coversDesktop, !isConnectionLost(), let monitors = monitors(window) else { return }
        let index = Int(SDL_GetWindowDisplayIndex(window))
        guard let bounds = monitors.indices.contains(index) ? monitors[index] : monitors.first else { return }
        SDL_SetWindowPosition(window, Int32(bounds.x), Int32(bounds.y))
        SDL_SetWindowSize(window, Int32(bounds.width), Int32(bounds.height))
        geometryChanged()
    }

    /// Whether this process can create another window: Xlib exits the process when a lost connection is closed.
    var canBeRemade: Bool { connection?.isLost != true || driver != "x11" }

    /// Leaves and re-enters the window system and reopens the window. Returns false without a display; `failure` has
    /// the reason, and a retry is possible.
    func remake() -> Bool {
        checkThread()
        guard canBeRemade else { return false }
        closeWindow()
        guard canBeRemade else { return false }
        close()
        do throws(OutputError) {
            try reach()
            failure = nil
            if let openedFor { try open(for: openedFor) }
            return true
        } catch {
            failure = error
            return false
        }
    }
}

extension PixelRect {
    fileprivate init(_ rect: SDL_Rect) {
        self.init(x: Int(rect.x), y: Int(rect.y), width: Int(rect.w), height: Int(rect.h))
    }
}
