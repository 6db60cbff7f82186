internal import CSDL
internal import CX11
internal import MediaCore
internal import SyncRendering

/// What becomes of a window whose display went away, came back, or is another one now.
extension Screen {
    /// Whether the window still lies on the display that it should, and that display is as the window system thinks.
    var stands: Bool {
        guard let window, !isConnectionLost() else { return false }
        // ignored: opening the window again reports a display that is not there.
        guard let chosen = try? ConnectedDisplay.chosen(by: options.display, among: ConnectedDisplay.all) else {
            return false
        }
        let index = SDL_GetWindowDisplayIndex(window)
        // Nobody asked for this one: wherever a person put the window.
        if options.display != nil || isFullScreen, Int(index) != chosen.index { return false }
        return !isOutdated(window)
    }

    /// SDL 2 takes no notice when a display of an X server gets another mode from outside, or is switched off by its owner.
    private func isOutdated(_ window: OpaquePointer) -> Bool {
        guard let found = monitors(window) else { return false }
        var known: Set<PixelRect> = []
        for index in 0..<max(0, SDL_GetNumVideoDisplays()) {
            var place = SDL_Rect()
            if SDL_GetDisplayBounds(index, &place) == 0 { known.insert(PixelRect(place)) }
        }
        return Set(found) != known
    }

    /// Returns where displays show something now; nil where the window system does not say.
    private func monitors(_ window: OpaquePointer) -> [PixelRect]? {
        guard let display = csdl_x11_display(window) else { return nil }
        var monitors = [cx11_rect](repeating: cx11_rect(), count: 16)
        let count = cx11_monitors(display, &monitors, 16)
        guard count >= 0 else { return nil }
        return monitors.prefix(Int(count)).map {
            PixelRect(x: Int($0.x), y: Int($0.y), width: Int($0.width), height: Int($0.height))
        }
    }

    /// True while the window fills a display that no window manager gives it.
    var coversDisplay: Bool { windowBefore != nil }

    /// Fills the display in the mode that it has now: SDL 2 keeps the size that it found at the start.
    func coverDisplayAgain() {
        guard let window, coversDisplay, !hasOwnMode, !isConnectionLost(), let monitors = monitors(window) else {
            return
        }
        let index = Int(SDL_GetWindowDisplayIndex(window))
        guard let place = monitors.indices.contains(index) ? monitors[index] : monitors.first else { return }
        SDL_SetWindowPosition(window, Int32(place.x), Int32(place.y))
        SDL_SetWindowSize(window, Int32(place.width), Int32(place.height))
        geometryChanged()
    }

    /// Whether another window can be made by this process: Xlib ends it when a lost connection is closed.
    var canBeRemade: Bool { connection?.isLost != true || driver != "x11" }

    /// Leaves the window system and enters it anew. False when there is no display; then it can be asked again.
    func remake() -> Bool {
        checkThread()
        guard canBeRemade else { return false }
        closeWindow()
        guard canBeRemade else { return false }
        leave()
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
