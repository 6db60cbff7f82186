internal import CSDL
internal import CWayland
internal import Glibc

/// The selection of the window system.
enum WindowSystem {
    /// SDL driver names in the order to try; empty without a usable window system.
    ///
    /// SDL's own selection falls back to drivers without output ("offscreen"), so that nothing would be visible.
    static var reachable: String {
        if let chosen = getenv("SDL_VIDEODRIVER"), chosen[0] != 0 { return String(cString: chosen) }
        var drivers: [String] = []
        if isSet("DISPLAY") { drivers.append("x11") }
        if isSet("WAYLAND_DISPLAY") || isSet("WAYLAND_SOCKET") { drivers.append("wayland") }
        // A console without a window system.
        if drivers.isEmpty, access("/dev/dri/card0", R_OK | W_OK) == 0 { drivers.append("KMSDRM") }
        return drivers.joined(separator: ",")
    }

    /// Returns whether SDL would exit at this compositor because it has no seat, as weston without keyboard and
    /// pointer.
    static func cannotBear(_ driver: Substring) -> Bool {
        driver == "wayland" && !bearsMissingSeat && cwayland_has_seat() == 0
    }

    /// Whether SDL tolerates a missing seat, as since 2.30 (its issue 8898).
    private static let bearsMissingSeat: Bool = {
        var version = SDL_version()
        SDL_GetVersion(&version)
        return (version.major, version.minor) >= (2, 30)
    }()

    /// Starts SDL with the usable drivers. Returns false if none works; `SDL_GetError` has the reason.
    static func start(_ reachable: String) -> Bool {
        let drivers = reachable.split(separator: ",").filter { !cannotBear($0) }.joined(separator: ",")
        // An empty list would let SDL try all drivers.
        if drivers.isEmpty { return false }
        // Xlib converts window titles to the locale's encoding and drops the rest: without a locale, all but Latin-1.
        // Only LC_CTYPE is set; numbers and messages are unaffected.
        if setlocale(LC_CTYPE, "C.UTF-8") == nil { setlocale(LC_CTYPE, "") }
        sdlHint(SDL_HINT_VIDEODRIVER, drivers)
        return SDL_InitSubSystem(UInt32(SDL_INIT_VIDEO)) == 0
    }

    /// Shows a window. Works around a bug of SDL 2.26 with Wayland compositors that leave decorations to clients. With
    /// libdecor, SDL hides the window to decorate it and does not show it again.
    static func show(_ window: OpaquePointer) {
        SDL_ShowWindow(window)
        guard csdl_wayland_is_placeless(window) != 0 else { return }
        SDL_HideWindow(window)
        SDL_ShowWindow(window)
    }

    private static func isSet(_ name: String) -> Bool {
        guard let value = getenv(name) else { return false }
        return value[0] != 0
    }
}
