internal import CSDL
internal import CWayland
internal import Glibc

/// Which window systems are worth asking for a window.
enum WindowSystem {
    /// SDL's names of drivers in the order to try them; empty when there is nowhere to show anything.
    ///
    /// Left to itself SDL ends with drivers that show nothing ("offscreen"), and a film would play to nobody.
    static var reachable: String {
        if let chosen = getenv("SDL_VIDEODRIVER"), chosen[0] != 0 { return String(cString: chosen) }
        var drivers: [String] = []
        if isSet("DISPLAY") { drivers.append("x11") }
        if isSet("WAYLAND_DISPLAY") || isSet("WAYLAND_SOCKET") { drivers.append("wayland") }
        // A console without a window system.
        if drivers.isEmpty, access("/dev/dri/card0", R_OK | W_OK) == 0 { drivers.append("KMSDRM") }
        return drivers.joined(separator: ",")
    }

    /// Whether SDL would end the program at a compositor that has no seat, as weston has none on a computer without keyboard and pointer.
    static func cannotBear(_ driver: Substring) -> Bool {
        driver == "wayland" && !bearsMissingSeat && cwayland_has_seat() == 0
    }

    /// SDL does since 2.30 (its issue 8898).
    private static let bearsMissingSeat: Bool = {
        var version = SDL_version()
        SDL_GetVersion(&version)
        return (version.major, version.minor) >= (2, 30)
    }()

    /// False when none of them answers; `SDL_GetError` says why.
    static func start(_ reachable: String) -> Bool {
        let drivers = reachable.split(separator: ",").filter { !cannotBear($0) }.joined(separator: ",")
        // With none SDL would try all that it knows.
        if drivers.isEmpty { return false }
        // Xlib puts a window's title into the process's encoding first, and what that cannot hold is left out: without
        // a locale, all but Latin-1. Only what characters are is taken on; numbers and words stay as they were.
        if setlocale(LC_CTYPE, "C.UTF-8") == nil { setlocale(LC_CTYPE, "") }
        sdlHint(SDL_HINT_VIDEODRIVER, drivers)
        return SDL_InitSubSystem(UInt32(SDL_INIT_VIDEO)) == 0
    }

    /// Brings a window to the screen. Where a Wayland compositor leaves frames to its clients and libdecor is there, SDL 2.26 takes the window
    /// back while it shows it, to frame it, and forgets to show it again.
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
