internal import CSDL
internal import CX11
internal import MediaCore

/// Makes a window fill its display, in the requested mode. SDL sets the mode, and restores it when the window leaves
/// full screen or closes.
struct FullScreen {
    /// What the owner of the window has to do.
    struct Outcome {
        /// Whether the window's geometry has changed.
        var hasChanged = false
        /// The reason why the display is not in the requested mode, once.
        var notice: String?
    }

    private var mode: DisplayMode
    /// The frame rate of the video in Hz; nil without video.
    private var filmRate: Double?
    /// Whether the display is in a mode set for this window.
    private var hasOwnMode = false
    /// The exact mode of the desktop, which SDL does not restore if it differs in the fraction of its rate only.
    private var restored: (mode: UInt, place: SDL_Rect)?
    /// The reported reason why the display is not in the requested mode; nil if it is.
    private var trouble: String?
    /// The window's bounds before it covered the display without a window manager; nil otherwise.
    private var before: SDL_Rect?

    init(_ mode: DisplayMode) { self.mode = mode }

    /// Whether the window covers the display without a window manager.
    var coversDisplay: Bool { before != nil }
    /// Whether it does so in the desktop's mode.
    var coversDesktop: Bool { before != nil && !hasOwnMode }

    func isOn(_ window: OpaquePointer) -> Bool {
        before != nil || SDL_GetWindowFlags(window) & SDL_WINDOW_FULLSCREEN.rawValue != 0
    }

    /// Enters or leaves full screen.
    ///
    /// - Parameter isManaged: Whether there is a window manager, which SDL relies on.
    mutating func set(_ wanted: Bool, _ window: OpaquePointer, isManaged: Bool) -> Outcome {
        if !wanted { _ = leaveMode(window) }
        let isShown = SDL_GetWindowFlags(window) & SDL_WINDOW_SHOWN.rawValue != 0
        var outcome = Outcome()
        if isManaged {
            SDL_SetWindowFullscreen(window, wanted ? SDL_WINDOW_FULLSCREEN_DESKTOP.rawValue : 0)
            // A hidden window takes no mode; it is applied when the window is shown.
            if wanted, isShown { outcome = applyMode(to: window) }
        } else if wanted {
            var bounds = SDL_Rect()
            SDL_GetWindowPosition(window, &bounds.x, &bounds.y)
            SDL_GetWindowSize(window, &bounds.w, &bounds.h)
            before = bounds
            // SDL takes the size of a window enlarged just before for the size in the new mode.
            if isShown || mode == .current {
                outcome = applyMode(to: window)
                if !hasOwnMode { Self.fillDisplay(window) }
            }
        } else if let bounds = before.take() {
            SDL_SetWindowPosition(window, bounds.x, bounds.y)
            SDL_SetWindowSize(window, bounds.w, bounds.h)
        }
        outcome.hasChanged = true
        return outcome
    }

    /// Sets the requested mode, to be applied by `applyMode`.
    ///
    /// - Parameter filmRate: The frame rate of the video in Hz, for `.film`.
    mutating func request(_ mode: DisplayMode, filmRate: Double?) { (self.mode, self.filmRate) = (mode, filmRate) }

    /// Applies the requested mode to a window that has just been shown.
    mutating func shown(_ window: OpaquePointer) -> Outcome {
        let outcome = applyMode(to: window)
        if mode != .current, coversDesktop { Self.fillDisplay(window) }
        return outcome
    }

    /// Restores what SDL does not, before the window is destroyed.
    mutating func close(_ window: OpaquePointer) { _ = leaveMode(window) }

    /// Forgets a window that was destroyed.
    mutating func closed() { (before, hasOwnMode, restored) = (nil, false, nil) }

    /// Applies the requested mode if the window fills the display.
    mutating func applyMode(to window: OpaquePointer) -> Outcome {
        guard isOn(window), mode != .current || hasOwnMode else { return Outcome() }
        let index = SDL_GetWindowDisplayIndex(window)
        switch modeChoice(of: index, window).answer(to: mode, filmRate: filmRate) {
        case .asItIs:
            trouble = nil
            return Outcome(hasChanged: leaveMode(window))
        case .none(let sentence): return Outcome(hasChanged: leaveMode(window), notice: once(sentence))
        case .mode(let wanted):
            if hasOwnMode, Self.currentMode(of: window) == wanted {
                trouble = nil
                return Outcome()
            }
            let hasChanged = changeMode(wanted, on: index, window)
            if hasOwnMode, hasChanged {
                trouble = nil
                return Outcome(hasChanged: true)
            }
            let name = "\(wanted.size.width)x\(wanted.size.height)@\(DisplayModeChoice.plain(wanted.rate))"
            return Outcome(
                hasChanged: hasChanged, notice: once("the display does not accept the mode \(name): \(sdlError())"))
        }
    }

    private mutating func once(_ sentence: String) -> String? {
        defer { trouble = sentence }
        return sentence == trouble ? nil : sentence
    }

    /// Returns the current mode of the window's display; nil if it is unknown.
    static func currentMode(of window: OpaquePointer) -> DisplayModeChoice.Mode? {
        if let exact = exactModes(of: SDL_GetWindowDisplayIndex(window), window).first(where: { $0.is_current != 0 }) {
            return DisplayModeChoice.Mode(exact)
        }
        var mode = SDL_DisplayMode()
        guard SDL_GetCurrentDisplayMode(SDL_GetWindowDisplayIndex(window), &mode) == 0 else { return nil }
        return DisplayModeChoice.Mode(mode)
    }

    private func modeChoice(of index: Int32, _ window: OpaquePointer) -> DisplayModeChoice {
        var desktop = SDL_DisplayMode()
        SDL_GetDesktopDisplayMode(index, &desktop)
        let exact = Self.exactModes(of: index, window)
        guard !exact.isEmpty else {
            return DisplayModeChoice(
                modes: Self.modes(of: index).map { DisplayModeChoice.Mode($0) },
                desktop: DisplayModeChoice.Mode(desktop))
        }
        let own = exact.first { $0.id == restored?.mode } ?? exact.first { hasOwnMode ? false : $0.is_current != 0 }
        return DisplayModeChoice(
            modes: exact.map { DisplayModeChoice.Mode($0) },
            desktop: own.map { DisplayModeChoice.Mode($0) } ?? DisplayModeChoice.Mode(desktop),
            preferred: exact.first { $0.is_preferred != 0 }.map { DisplayModeChoice.Mode($0) })
    }

    /// Returns the modes of a display of an X server; empty on other window systems.
    private static func exactModes(of index: Int32, _ window: OpaquePointer) -> [cx11_mode] {
        var bounds = SDL_Rect()
        guard let display = csdl_x11_display(window), SDL_GetDisplayBounds(index, &bounds) == 0 else { return [] }
        var modes = [cx11_mode](repeating: cx11_mode(), count: 256)
        let count = cx11_modes(display, bounds.x, bounds.y, &modes, Int32(modes.count))
        return Array(modes.prefix(max(0, Int(count))))
    }

    private static func modes(of index: Int32) -> [SDL_DisplayMode] {
        (0..<max(0, SDL_GetNumDisplayModes(index))).compactMap { number in
            var mode = SDL_DisplayMode()
            return SDL_GetDisplayMode(index, number, &mode) == 0 ? mode : nil
        }
    }

    /// Changes to a mode; restores the previous one if that fails. Returns whether the geometry has changed.
    private mutating func changeMode(
        _ wanted: DisplayModeChoice.Mode, on index: Int32, _ window: OpaquePointer
    ) -> Bool {
        let sizes = Self.modes(of: index).filter { Int($0.w) == wanted.size.width && Int($0.h) == wanted.size.height }
        let own = Self.currentMode(of: window)?.id
        guard var mode = sizes.first(where: { Double($0.refresh_rate) == wanted.rate.rounded() }) ?? sizes.first,
            SDL_SetWindowDisplayMode(window, &mode) == 0,
            SDL_SetWindowFullscreen(window, SDL_WINDOW_FULLSCREEN.rawValue) == 0
        else { return false }
        var bounds = SDL_Rect()
        SDL_GetDisplayBounds(SDL_GetWindowDisplayIndex(window), &bounds)
        if let display = csdl_x11_display(window) {
            if !hasOwnMode, let own { restored = (own, bounds) }
            if let id = wanted.id { _ = cx11_set_mode(display, bounds.x, bounds.y, id) }
            // Without a window manager SDL changes the mode, and leaves the window where it was.
            if before != nil {
                cx11_place(display, csdl_x11_window(window), bounds.x, bounds.y, bounds.w, bounds.h)
                SDL_PumpEvents()
            }
        }
        hasOwnMode = true
        if Self.currentMode(of: window) != wanted { _ = leaveMode(window) }
        return true
    }

    /// Restores the display's mode; the window keeps filling the display. Returns false if it has no mode of its own.
    private mutating func leaveMode(_ window: OpaquePointer) -> Bool {
        guard hasOwnMode else { return false }
        hasOwnMode = false
        defer {
            if let restored, let display = csdl_x11_display(window) {
                _ = cx11_set_mode(display, restored.place.x, restored.place.y, restored.mode)
            }
            restored = nil
        }
        SDL_SetWindowFullscreen(window, before != nil ? 0 : SDL_WINDOW_FULLSCREEN_DESKTOP.rawValue)
        if before != nil { Self.fillDisplay(window) }
        return true
    }

    /// Moves and resizes the window to cover its display.
    private static func fillDisplay(_ window: OpaquePointer) {
        var bounds = SDL_Rect()
        guard SDL_GetDisplayBounds(SDL_GetWindowDisplayIndex(window), &bounds) == 0 else { return }
        SDL_SetWindowPosition(window, bounds.x, bounds.y)
        SDL_SetWindowSize(window, bounds.w, bounds.h)
    }
}

extension DisplayModeChoice.Mode {
    fileprivate init(_ mode: SDL_DisplayMode) {
        self.init(size: PixelSize(width: Int(mode.w), height: Int(mode.h)), rate: Double(max(0, mode.refresh_rate)))
    }

    fileprivate init(_ mode: cx11_mode) {
        self.init(size: PixelSize(width: Int(mode.width), height: Int(mode.height)), rate: mode.rate, id: mode.id)
    }
}
