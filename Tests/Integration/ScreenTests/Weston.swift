import Foundation
import MediaCore
import Testing

/// Weston with its shell for kiosks: in a window of an X server, where its picture can be looked at, or without any display and seat.
final class Weston {
    static let isWanted =
        VirtualDisplay.find("weston") != nil || ProcessInfo.processInfo.environment["CI"] == "true"

    private let process = Process()
    private let folder: URL
    private static let name = "wayland-7"

    /// - Parameter display: of the size `640x400`; nil is a computer without keyboard, pointer and glass.
    init(on display: VirtualDisplay?) throws {
        let path = try #require(VirtualDisplay.find("weston"), "weston is not installed; see Tools/packages.txt")
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("weston-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        chmod(folder.path, 0o700)
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = [
            "--backend=\(display == nil ? "headless" : "x11")-backend.so", "--shell=kiosk-shell.so", "--use-pixman",
            "--width=640", "--height=400", "--no-config", "--idle-time=0", "--socket=\(Self.name)",
        ]
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path]
        if let display { process.environment?["DISPLAY"] = display.name }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        let socket = folder.appendingPathComponent(Self.name).path
        try eventually("weston listens") { FileManager.default.fileExists(atPath: socket) }
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }

    var environment: [String: String] { ["WAYLAND_DISPLAY": Self.name, "XDG_RUNTIME_DIR": folder.path] }
}
