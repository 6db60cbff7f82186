internal import CSDL
internal import Glibc

/// The reason why the window system of the environment cannot be used: Xlib and libwayland do not report it.
struct DisplayRefusal {
    /// The display and what is wrong with it.
    var reason: String
    /// What the user can do.
    var remedy: String

    private static let anotherDisplay = "set DISPLAY or WAYLAND_DISPLAY"

    /// Returns the reason by examining the environment and the servers' sockets.
    ///
    /// - Parameters:
    ///   - drivers: The SDL drivers that were tried, separated by commas.
    ///   - isDark: The window system works, but no display is on.
    ///   - variable: Returns an environment variable.
    static func explain(
        _ drivers: String, isDark: Bool = false,
        _ variable: (String) -> String? = { name in getenv(name).map { String(cString: $0) } }
    ) -> DisplayRefusal {
        if isDark { return DisplayRefusal(reason: "none is connected and on", remedy: "connect one and turn it on") }
        let all = drivers.split(separator: ",").map { driver -> DisplayRefusal in
            switch driver {
            case "x11": ofX11(variable("DISPLAY") ?? "")
            case "wayland": ofWayland(variable("WAYLAND_DISPLAY") ?? "wayland-0", variable("XDG_RUNTIME_DIR"))
            default: DisplayRefusal(reason: "\(driver): \(sdlError())", remedy: anotherDisplay)
            }
        }
        guard let first = all.first else {
            return DisplayRefusal(
                reason: "neither DISPLAY nor WAYLAND_DISPLAY is set", remedy: anotherDisplay)
        }
        return DisplayRefusal(reason: all.map(\.reason).joined(separator: ", and "), remedy: first.remedy)
    }

    /// Parses `[host]:number[.screen]` (X(7), "Display names"). Without a host, the server listens on a Unix socket.
    private static func ofX11(_ display: String) -> DisplayRefusal {
        let name = "DISPLAY is '\(display)'"
        guard let colon = display.lastIndex(of: ":"),
            let number = display[display.index(after: colon)...].split(separator: ".").first.flatMap({ Int($0) })
        else {
            return DisplayRefusal(reason: "\(name), which is not a display", remedy: "write it like :0")
        }
        let host = display[..<colon]
        guard host.isEmpty || host == "unix" else {
            return DisplayRefusal(
                reason: "\(name), and the X server there does not answer or denies access to this program",
                remedy: "check the name and xauth(1)")
        }
        let path = "/tmp/.X11-unix/X\(number)"
        // A server listens on an abstract socket, on one in the file system, or both.
        guard isAnswered("\0" + path) || isAnswered(path) else {
            return DisplayRefusal(reason: "\(name), and no X server runs there", remedy: anotherDisplay)
        }
        return DisplayRefusal(
            reason: "\(name), and the X server there denies access to this program",
            remedy: "run it as the user who is logged in there, or set XAUTHORITY")
    }

    private static func ofWayland(_ display: String, _ folder: String?) -> DisplayRefusal {
        let name = "WAYLAND_DISPLAY is '\(display)'"
        guard display.hasPrefix("/") || folder != nil else {
            return DisplayRefusal(reason: "\(name), but XDG_RUNTIME_DIR is not set", remedy: "set XDG_RUNTIME_DIR")
        }
        let path = display.hasPrefix("/") ? display : (folder ?? "") + "/" + display
        guard isAnswered(path) else {
            return DisplayRefusal(reason: "\(name), and no compositor runs there", remedy: anotherDisplay)
        }
        if WindowSystem.cannotBear("wayland") {
            return DisplayRefusal(
                reason:
                    "\(name), and the compositor there has no keyboard or pointer, without which SDL before 2.30 exits",
                remedy: "connect one")
        }
        return DisplayRefusal(
            reason: "\(name), and the compositor there refuses the connection", remedy: anotherDisplay)
    }

    /// Returns whether a process listens on a Unix socket. A path starting with a zero byte is abstract.
    private static func isAnswered(_ path: String) -> Bool {
        let bytes = Array(path.utf8)
        var address = sockaddr_un()
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let length = MemoryLayout<sa_family_t>.size + bytes.count + (bytes.first == 0 ? 0 : 1)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(length)) }
        }
        // EAGAIN: the backlog is full, so a server exists.
        return code == 0 || errno == EAGAIN
    }
}
