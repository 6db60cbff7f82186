import Foundation
import Testing

@testable import ProgramTestSupport

/// An X server whose displays have modes: Xorg with the dummy driver.
final class SwitchingDisplay {
    /// Xorg needs root.
    static let isWanted =
        FileManager.default.isExecutableFile(atPath: program) && VirtualDisplay.find("xrandr") != nil && geteuid() == 0
        || ProcessInfo.processInfo.environment["CI"] == "true"
    private static let program = "/usr/lib/xorg/Xorg"

    let name: String
    private let server = Process()
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("xorg-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let configuration = folder.appendingPathComponent("xorg.conf")
        try Data(Self.configuration.utf8).write(to: configuration)
        let numbers = Pipe()
        server.executableURL = URL(fileURLWithPath: Self.program)
        // A separate seat needs no console, which a build machine lacks.
        server.arguments = [
            "-displayfd", "1", "-seat", "talkie", "-config", configuration.path, "-logfile",
            folder.appendingPathComponent("log").path, "-noreset", "-nolisten", "tcp", "-novtswitch",
        ]
        server.standardOutput = numbers
        server.standardError = FileHandle.nullDevice
        try server.run()
        var line = ""
        while !line.hasSuffix("\n") {
            let piece = numbers.fileHandleForReading.availableData
            try #require(!piece.isEmpty, "Xorg ended before it had a display; see Tools/packages.txt")
            line += String(decoding: piece, as: UTF8.self)
        }
        name = ":" + line.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    deinit {
        kill(server.processIdentifier, SIGKILL)
        server.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }

    /// The current mode, such as `800x600@60.32`; empty while the display is off.
    var mode: String {
        get throws {
            let rows = try randr().split(separator: "\n").filter { $0.hasPrefix("   ") }
            guard let row = rows.first(where: { $0.contains("*") }) else { return "" }
            let words = row.split(separator: " ")
            let rate = words.first { $0.contains("*") }?.prefix { $0 != "*" }
            return "\(words[0])@\(rate ?? "")"
        }
    }

    @discardableResult func randr(_ arguments: String...) throws -> String { try randr(arguments) }

    @discardableResult func randr(_ arguments: [String]) throws -> String { try run("xrandr", arguments) }

    /// Connects a second display of 640x480 at the right of the first one.
    func plug() throws {
        try randr("--addmode", "DUMMY1", "640x480")
        try randr("--output", "DUMMY1", "--mode", "640x480", "--right-of", "DUMMY0")
        // This driver detects a connected display only when it is queried.
        try randr()
    }

    /// Returns the contents of all displays, through an X request; without the pointer. The size may change meanwhile.
    func picture(attempts: Int = 5) throws -> DisplayPicture {
        let screen = try randr().split(separator: "\n").first ?? ""
        let size = try #require(screen.firstMatch(of: /current ([0-9]+) x ([0-9]+)/)?.output)
        let (width, height) = (try #require(Int(size.1)), try #require(Int(size.2)))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(VirtualDisplay.find("ffmpeg")))
        process.arguments = [
            "-v", "error", "-f", "x11grab", "-draw_mouse", "0", "-video_size", "\(width)x\(height)", "-i", name,
            "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "bgra", "-",
        ]
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardOutput = output
        try process.run()
        let bytes = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        if bytes.count != width * height * 4, attempts > 1 { return try picture(attempts: attempts - 1) }
        try #require(bytes.count == width * height * 4)
        return DisplayPicture(width: width, height: height, rowBytes: width * 4, bytes: bytes)
    }

    /// The geometry of windows by title, such as `640x480+800+0`.
    var windows: [String: String] {
        get throws {
            // It fails if a window vanishes while it reads the tree.
            let rows = try run("xwininfo", ["-root", "-tree"], attempts: 5).split(separator: "\n")
            return rows.reduce(into: [:]) { windows, row in
                // `0x200008 "Talkie": ("program" "class")  800x600+0+0  +0+0`
                let parts = row.split(separator: "\"", omittingEmptySubsequences: false)
                let words = parts.last?.split(separator: " ") ?? []
                if parts.count >= 3, words.count == 3 { windows[String(parts[1])] = String(words[1]) }
            }
        }
    }

    private func run(_ command: String, _ arguments: [String], attempts: Int = 1) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(VirtualDisplay.find(command)))
        process.arguments = arguments
        process.environment = ["DISPLAY": name, "PATH": "/usr/bin:/bin"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        if process.terminationStatus != 0, attempts > 1 { return try run(command, arguments, attempts: attempts - 1) }
        #expect(process.terminationStatus == 0, "\(command) \(arguments)")
        return text
    }

    /// 800x600 is the preferred mode; 640x480 has several refresh rates.
    private static let configuration = """
        Section "ServerFlags"
          Option "AutoAddDevices" "false"
          Option "AutoAddGPU" "false"
        EndSection
        Section "Device"
          Identifier "card"
          Driver "dummy"
          VideoRam 32000
        EndSection
        Section "Monitor"
          Identifier "glass"
          HorizSync 5.0-1000.0
          VertRefresh 5.0-200.0
          Modeline "800x600" 40.00 800 840 968 1056 600 601 605 628
          Modeline "800x600_50" 33.16 800 840 968 1056 600 601 605 628
          Modeline "800x600_60" 39.789 800 840 968 1056 600 601 605 628
          Modeline "800x600_5994" 39.750 800 840 968 1056 600 601 605 628
        EndSection
        Section "Screen"
          Identifier "screen"
          Device "card"
          Monitor "glass"
          DefaultDepth 24
          SubSection "Display"
            Depth 24
            Modes "800x600" "800x600_50" "800x600_60" "800x600_5994"
            Virtual 800 600
          EndSubSection
        EndSection
        """
}
