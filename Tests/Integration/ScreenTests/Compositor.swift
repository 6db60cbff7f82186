import Foundation
import MediaCore
import Testing

@testable import ProgramTestSupport

/// A headless Wayland compositor with software rendering: sway, shared by all tests.
final class Compositor: @unchecked Sendable {
    static let isWanted =
        ["sway", "swaymsg", "grim", "setpriv"].allSatisfy { VirtualDisplay.find($0) != nil }
        || ProcessInfo.processInfo.environment["CI"] == "true"

    let folder: URL
    let name = "wayland-1"
    private let process = Process()
    private let control: String
    /// The shared instance is never deinitialized, so it is killed when the test process exits.
    private static let running = Lock<[pid_t]>([])
    private static let endsAll: Void = { atexit { Compositor.running.withLock { $0 }.forEach { kill($0, SIGKILL) } } }()

    init() throws {
        let missing = ["sway", "swaymsg", "grim", "setpriv"].filter { VirtualDisplay.find($0) == nil }
        try #require(missing.isEmpty, "\(missing) not installed; see Tools/packages.txt")
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("sway-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let configuration = folder.appendingPathComponent("config")
        try Data(
            """
            xwayland disable
            output HEADLESS-1 resolution 640x400
            output * bg #203040 solid_color
            default_border none
            seat * hide_cursor 1

            """.utf8
        ).write(to: configuration)
        // sway refuses to run as root, and XDG_RUNTIME_DIR must be owned by its user.
        let isRoot = geteuid() == 0
        chmod(folder.path, 0o700)
        let owner = isRoot ? 65534 : geteuid()
        if isRoot { for path in [folder.path, configuration.path] { chown(path, 65534, 65534) } }
        control = folder.appendingPathComponent("control").path
        let command = ["/usr/bin/sway", "-c", configuration.path]
        process.executableURL = URL(fileURLWithPath: isRoot ? "/usr/bin/setpriv" : command[0])
        process.arguments =
            isRoot
            ? ["--reuid=\(owner)", "--regid=65534", "--clear-groups"] + command : Array(command.dropFirst())
        process.environment = [
            "PATH": "/usr/bin:/bin", "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "SWAYSOCK": control,
            "WLR_BACKENDS": "headless", "WLR_RENDERER": "pixman", "WLR_LIBINPUT_NO_DEVICES": "1",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        _ = Self.endsAll
        Self.running.withLock { [process] in $0.append(process.processIdentifier) }
        try eventually("the compositor answers") {
            FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path) && (try? outputs()) != nil
        }
    }

    deinit { stop() }

    func stop() {
        guard process.isRunning else { return }
        Self.running.withLock { [process] in $0.removeAll { $0 == process.processIdentifier } }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }

    var environment: [String: String] { ["WAYLAND_DISPLAY": name, "XDG_RUNTIME_DIR": folder.path] }

    func tell(_ words: String) throws {
        let answer = String(decoding: try run("swaymsg", words.split(separator: " ").map(String.init)), as: UTF8.self)
        try #require(!answer.contains("\"success\": false"), "swaymsg \(words): \(answer)")
    }

    private func outputs() throws -> Data { try run("swaymsg", ["-t", "get_outputs"]) }

    /// Returns the contents of an output, captured by grim.
    func picture(_ output: String = "HEADLESS-1") throws -> DisplayPicture {
        // PPM: "P6", width, height, 255, each followed by one white space; then red, green, blue.
        let bytes = [UInt8](try run("grim", ["-t", "ppm", "-o", output, "-"]))
        var numbers: [Int] = []
        var at = 2
        while numbers.count < 3, at < bytes.count {
            at += 1
            let digits = bytes[at...].prefix { $0 >= 48 && $0 <= 57 }
            numbers.append(try #require(Int(String(decoding: digits, as: UTF8.self))))
            at = digits.endIndex
        }
        try #require(numbers.count == 3 && numbers[2] == 255)
        let pixels = bytes[(at + 1)...]
        try #require(pixels.count >= numbers[0] * numbers[1] * 3)
        var words = [UInt8](repeating: 0, count: numbers[0] * numbers[1] * 4)
        for index in 0..<numbers[0] * numbers[1] {
            let from = pixels.startIndex + index * 3
            (words[index * 4], words[index * 4 + 1], words[index * 4 + 2]) =
                (pixels[from + 2], pixels[from + 1], pixels[from])
        }
        return DisplayPicture(width: numbers[0], height: numbers[1], rowBytes: numbers[0] * 4, bytes: words)
    }

    private func run(_ command: String, _ arguments: [String]) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(VirtualDisplay.find(command)))
        process.arguments = arguments
        process.environment = environment.merging(["PATH": "/usr/bin:/bin", "SWAYSOCK": control]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(command) \(arguments)")
        return data
    }
}
