internal import CSDL
internal import CX11
internal import MediaCore

/// The display mode while the window fills the display. SDL sets it, and restores it when the window leaves full screen
/// or closes.
extension Screen {
    /// Sets the requested mode and applies it.
    ///
    /// - Parameter filmRate: The frame rate of the video in Hz, for `.film`.
    func setMode(_ mode: DisplayMode, filmRate: Double?) {
        checkThread()
        (self.mode, self.filmRate) = (mode, filmRate)
        applyMode()
    }

    /// Applies the requested mode if the window fills the display. Reports a failure once.
    func applyMode() {
        guard let window, isFullScreen else { return }
        let index = SDL_GetWindowDisplayIndex(window)
        guard mode != .current || hasOwnMode else { return }
        switch modeChoice(of: index).answer(to: mode, filmRate: filmRate) {
        case .asItIs: leaveOwnMode(window)
        case .none(let sentence):
            leaveOwnMode(window)
            if sentence != modeTrouble { onEvent?(.notice(sentence)) }
            modeTrouble = sentence
            return
        case .mode(let wanted):
            guard !changeMode(wanted, on: index, window) else { break }
            let sentence =
                "the display does not accept the mode \(wanted.size.width)x\(wanted.size.height)@\(wanted.rate): \(sdlError())"
            if sentence != modeTrouble { onEvent?(.notice(sentence)) }
            modeTrouble = sentence
            return
        }
        modeTrouble = nil
    }

    /// The current mode of the display; nil without a window.
    var modeNow: DisplayModeChoice.Mode? {
        guard let window else { return nil }
        var mode = SDL_DisplayMode()
        guard SDL_GetCurrentDisplayMode(SDL_GetWindowDisplayIndex(window), &mode) == 0 else { return nil }
        return DisplayModeChoice.Mode(mode)
    }

    private func modeChoice(of index: Int32) -> DisplayModeChoice {
        var desktop = SDL_DisplayMode()
        SDL_GetDesktopDisplayMode(index, &desktop)
        let modes = (0..<max(0, SDL_GetNumDisplayModes(index))).compactMap { number in
            var mode = SDL_DisplayMode()
            return SDL_GetDisplayMode(index, number, &mode) == 0 ? DisplayModeChoice.Mode(mode) : nil
        }
        return DisplayModeChoice(
            modes: modes, desktop: DisplayModeChoice.Mode(desktop), preferred: preferredMode(of: index))
    }

    private func preferredMode(of index: Int32) -> DisplayModeChoice.Mode? {
        var place = SDL_Rect()
        guard let window, let display = csdl_x11_display(window), SDL_GetDisplayBounds(index, &place) == 0 else {
            return nil
        }
        var (width, height, rate): (Int32, Int32, Int32) = (0, 0, 0)
        guard cx11_preferred_mode(display, place.x, place.y, &width, &height, &rate) != 0 else { return nil }
        return DisplayModeChoice.Mode(size: PixelSize(width: Int(width), height: Int(height)), rate: Int(rate))
    }

    private func changeMode(_ wanted: DisplayModeChoice.Mode, on index: Int32, _ window: OpaquePointer) -> Bool {
        if hasOwnMode, modeNow == wanted { return true }
        for number in 0..<max(0, SDL_GetNumDisplayModes(index)) {
            var mode = SDL_DisplayMode()
            guard SDL_GetDisplayMode(index, number, &mode) == 0, DisplayModeChoice.Mode(mode) == wanted else {
                continue
            }
            guard SDL_SetWindowDisplayMode(window, &mode) == 0,
                SDL_SetWindowFullscreen(window, SDL_WINDOW_FULLSCREEN.rawValue) == 0
            else { return false }
            hasOwnMode = true
            geometryChanged()
            if modeNow == wanted { return true }
            leaveOwnMode(window)
            return false
        }
        return false
    }

    /// Restores the display's mode; the window keeps filling the display.
    func leaveOwnMode(_ window: OpaquePointer) {
        guard hasOwnMode else { return }
        hasOwnMode = false
        if windowBefore != nil {
            SDL_SetWindowFullscreen(window, 0)
            fillDisplay(window)
        } else {
            SDL_SetWindowFullscreen(window, SDL_WINDOW_FULLSCREEN_DESKTOP.rawValue)
        }
        geometryChanged()
    }
}

extension DisplayModeChoice.Mode {
    fileprivate init(_ mode: SDL_DisplayMode) {
        self.init(size: PixelSize(width: Int(mode.w), height: Int(mode.h)), rate: Int(max(0, mode.refresh_rate)))
    }
}
