import Foundation
import MediaCore
import Testing

@testable import ProgramTestSupport

/// A Wayland compositor that shows one program full-screen, in a window of an X server whose contents can be read.
final class KioskCompositor {
    enum Kind: String, CaseIterable {
        case cage
        case weston
        /// On a computer without keyboard, pointer and display.
        case bareWeston

        fileprivate var program: String { self == .cage ? "cage" : "weston" }
        fileprivate var socket: String { self == .cage ? "wayland-0" : "wayland-7" }
        fileprivate var arguments: [String] {
            // cage needs a client to run; this one shows nothing and exits with cage. Other clients may connect.
            if self == .cage { return ["--", "/usr/bin/setpriv", "--pdeathsig", "KILL", "/bin/sleep", "100"] }
            return [
                "--backend=\(self == .bareWeston ? "headless" : "x11")-backend.so", "--shell=kiosk-shell.so",
                "--use-pixman",
                "--width=1024", "--height=768", "--no-config", "--idle-time=0", "--socket=\(socket)",
            ]
        }
    }

    /// Size of the window that wlroots creates on an X server.
    static let size = "1024x768"
    static let isWanted =
        ["cage", "Xwayland", "weston", "setpriv", "Xvfb"].allSatisfy { VirtualDisplay.find($0) != nil }
        || ProcessInfo.processInfo.environment["CI"] == "true"

    private let process = Process()
    private let folder: URL
    let environment: [String: String]

    /// - Parameter display: of `size`.
    init(_ kind: Kind, on display: VirtualDisplay?) throws {
        let path = try #require(
            VirtualDisplay.find(kind.program), "\(kind.program) is not installed; see Tools/packages.txt")
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("compositor-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        chmod(folder.path, 0o700)
        environment = ["WAYLAND_DISPLAY": kind.socket, "XDG_RUNTIME_DIR": folder.path]
        // XDG_RUNTIME_DIR must be owned by the compositor's user; cage does not run as root.
        let isRoot = geteuid() == 0
        if isRoot { chown(folder.path, 65534, 65534) }
        process.executableURL = URL(fileURLWithPath: isRoot ? "/usr/bin/setpriv" : path)
        process.arguments =
            (isRoot ? ["--reuid=65534", "--regid=65534", "--clear-groups", path] : []) + kind.arguments
        process.environment = [
            "PATH": "/usr/bin:/bin", "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "WLR_BACKENDS": "x11",
            "WLR_RENDERER": "pixman",
        ]
        if let display { process.environment?["DISPLAY"] = display.name }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        let socket = folder.appendingPathComponent(kind.socket).path
        try eventually("\(kind.program) listens") { FileManager.default.fileExists(atPath: socket) }
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}
